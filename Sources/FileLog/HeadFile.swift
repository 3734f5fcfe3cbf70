import Ledger

/// The number and hash of the last acknowledged block, kept outside of the log.
///
/// A log that lost its end (a copy put back, a file system that forgot) looks whole by itself: this file says that it
/// is not. It is stored only after the block is durable, and not synced: after a power cut it may be older than the
/// log, never newer. Two slots are used in turn, so that one is whole if the other is torn; and the file is made under
/// another name first. So no crash leaves one without a whole slot: such a file is damaged, and is refused. Made anew,
/// it would no longer show that the log lost its end. Only where a writer has it open and finds it cut, it writes all
/// of it again: it knows what was acknowledged.
///
/// It is not mapped into memory: a store into a page that another program has cut off would end the process.
///
/// Only the writer's thread uses it.
final class HeadFile {
    static let byteCount = 4096
    static let slotOffsets = [0, 2048]
    static let slotBytes = 100
    static let magic: UInt64 = 0x434C_6564_6748_6561  // "CLedgHea"
    static let temporarySuffix = ".new"

    /// What a head file was found to say.
    enum Content: Hashable {
        case missing
        /// Nothing was acknowledged yet (`nil`), or this block.
        case head(LogHead?)

        /// The last block that the file says was acknowledged.
        var acknowledged: LogHead? {
            switch self {
            case .missing: nil
            case .head(let head): head
            }
        }
    }

    private let disk: any Disk
    private let path: String
    private let file: OwnedFile
    private let identity: Digest
    private var nextSlot: Int

    /// Opens the file at `path`, whose content was read: its size and its slots are right.
    init(_ disk: any Disk, _ path: String, _ identity: Digest) throws(DiskError) {
        self.disk = disk
        self.path = path
        self.identity = identity
        file = OwnedFile(disk, try disk.open(path, .writing))
        let page = try disk.readAll(file.file, at: 0, byteCount: HeadFile.byteCount)
        let numbers = HeadFile.slotOffsets.map { offset -> BlockNumber in
            switch Slot(page, at: offset) {
            case .head(let head, _): head.number
            case .torn, .format, .damaged: -1
            }
        }
        nextSlot = numbers[0] > numbers[1] ? 1 : 0
    }

    /// To be called when the block is durable.
    /// - Throws: ``LogError`` `unknown`: the file says what it said before, or this; ``storeAgain(_:)`` is called next.
    func store(_ head: LogHead) throws(LogError) {
        do {
            // A file that was cut would be extended by the store, with a hole before it.
            let byteCount = try disk.status(file.file).byteCount
            guard byteCount >= HeadFile.byteCount else {
                throw LogError(.unknown, "the head file \(path) was cut to \(byteCount) bytes while it was in use")
            }
            try write(head)
        } catch let error as LogError {
            throw error
        } catch {
            throw LogError(.unknown, "storing block \(head.number) into the head file \(path): \(error)")
        }
    }

    /// Makes the file say that `head` was acknowledged last, after a store that failed, or found that it was cut.
    func storeAgain(_ head: LogHead) throws(LogError) {
        do {
            guard try disk.status(file.file).byteCount < HeadFile.byteCount else { return try write(head) }
            // In one write: the file never says that nothing was acknowledged.
            try disk.writeAll(file.file, HeadFile.page(head, identity), at: 0)
            nextSlot = 0
        } catch {
            throw LogError(.unknown, "storing block \(head.number) into the head file \(path) again: \(error)")
        }
    }

    private func write(_ head: LogHead) throws(DiskError) {
        try withUnsafeTemporaryAllocation(byteCount: HeadFile.slotBytes, alignment: 8) { (slot) throws(DiskError) in
            HeadFile.write(head, identity, to: slot)
            try disk.writeAll(file.file, UnsafeRawBufferPointer(slot), at: HeadFile.slotOffsets[nextSlot])
        }
        nextSlot = 1 - nextSlot
    }

    /// Makes a file that says that nothing was acknowledged: whole at its path, or not there at all. Its folder is
    /// synced by the caller.
    static func create(_ disk: any Disk, _ path: String, _ identity: Digest) throws(DiskError) {
        guard try disk.statusIfThere(at: path) == nil else { throw .exists }
        let temporary = path + temporarySuffix
        try disk.removeIfThere(temporary)
        let file = try disk.open(temporary, .creating)
        defer { disk.close(file) }
        // Real bytes: a store into a hole would need room on the disk at that moment.
        try disk.writeAll(file, emptyPage(identity), at: 0)
        try disk.sync(file)
        try disk.rename(temporary, to: path)
    }

    /// A file's content whose other slot was never stored into.
    private static func page(_ head: LogHead, _ identity: Digest) -> [UInt8] {
        var page = emptyPage(identity)
        page.withUnsafeMutableBytes {
            write(head, identity, to: UnsafeMutableRawBufferPointer(rebasing: $0[slotOffsets[1]...]))
        }
        return page
    }

    /// Makes the file say that `head` was acknowledged last, as a file whose other slot was never stored into; an older
    /// one stays until the new one is whole. Its folder is synced by the caller.
    static func replace(_ disk: any Disk, _ path: String, _ head: LogHead, _ identity: Digest) throws(DiskError) {
        let page = page(head, identity)
        let temporary = path + temporarySuffix
        try disk.removeIfThere(temporary)
        let file = OwnedFile(disk, try disk.open(temporary, .creating))
        try disk.writeAll(file.file, page, at: 0)
        try disk.sync(file.file)
        try disk.rename(temporary, to: path)
    }

    /// - Throws: ``LogError`` `corrupt` where something is there that is no whole head file of this ledger, `unknown`
    ///   where it cannot be read now.
    static func content(_ disk: any Disk, _ path: String, _ identity: Digest) throws(LogError) -> Content {
        let bytes: [UInt8]
        do {
            guard let status = try disk.statusIfThere(at: path) else { return .missing }
            guard status.kind == .file else {
                throw LogError(.corrupt, "the head file \(path) is \(status.kind.words), not a file")
            }
            guard status.byteCount == byteCount else { throw damaged(path, "it has \(status.byteCount) bytes") }
            let file = OwnedFile(disk, try disk.open(path, .reading))
            bytes = try disk.readAll(file.file, at: 0, byteCount: byteCount)
        } catch let error as LogError {
            throw error
        } catch {
            throw LogError(.unknown, "reading the head file \(path): \(error)")
        }
        guard bytes.count == byteCount else { throw damaged(path, "it has \(bytes.count) bytes") }
        var newest: LogHead?
        for offset in slotOffsets {
            switch Slot(bytes, at: offset) {
            case .torn: continue
            case .format(let version):
                throw LogError(.corrupt, "the head file \(path) \(LogFormat.unknownFormat(version))")
            case .damaged(let words): throw damaged(path, words)
            case .head(let head, let owner):
                guard owner == identity else {
                    throw LogError(
                        .corrupt,
                        "the head file \(path) belongs to another ledger: its bundle id or environment differs")
                }
                if head.number > newest?.number ?? -1 { newest = head }
            }
        }
        guard let newest else { throw damaged(path, "neither of its two slots is whole") }
        return .head(newest.number == 0 ? nil : newest)
    }

    /// What a slot was found to hold.
    enum Slot {
        /// It does not count: it is torn, or was never stored into.
        case torn
        case format(UInt32)
        /// Its checksum is right, but no writer left it so.
        case damaged(String)
        /// The last acknowledged block, with number 0 where there was none, and whose ledger it is.
        case head(LogHead, identity: Digest)

        init(_ file: [UInt8], at offset: Int) {
            self = file.withUnsafeBytes { Slot($0.bytes(at: offset, count: HeadFile.slotBytes)) }
        }

        private init(_ slot: UnsafeRawBufferPointer) {
            guard HeadFile.isWhole(slot) else {
                self = .torn
                return
            }
            let version: UInt32 = slot.number(at: 8)
            if version != LogFormat.version {
                self = .format(version)
            } else if slot.number(at: 12) != UInt32(0) {
                self = .damaged("bytes 12 to 15 of a slot are not 0")
            } else if (slot.number(at: 16) as BlockNumber) < 0 {
                self = .damaged("a slot names no block")
            } else {
                let head = LogHead(number: slot.number(at: 16), term: slot.number(at: 24), hash: slot.digest(at: 64))
                self = .head(head, identity: slot.digest(at: 32))
            }
        }
    }

    private static func isWhole(_ slot: UnsafeRawBufferPointer) -> Bool {
        slot.number(at: 0) == magic && slot.number(at: 96) == checksum(slot)
    }

    private static func damaged(_ path: String, _ words: String) -> LogError {
        LogError(
            .corrupt,
            "the head file \(path) is damaged: \(words). It says which block was acknowledged last, so that a log "
                + "that lost its end is noticed; who knows that the log is the newest may remove it")
    }

    private static func emptyPage(_ identity: Digest) -> [UInt8] {
        var page = [UInt8](repeating: 0, count: byteCount)
        page.withUnsafeMutableBytes { write(LogHead(number: 0, term: 0, hash: .zero), identity, to: $0) }
        return page
    }

    private static func write(_ head: LogHead, _ identity: Digest, to target: UnsafeMutableRawBufferPointer) {
        withUnsafeTemporaryAllocation(byteCount: slotBytes, alignment: 8) { slot in
            slot.set(magic, at: 0)
            slot.set(LogFormat.version, at: 8)
            slot.set(UInt32(0), at: 12)
            slot.set(head.number, at: 16)
            slot.set(head.term, at: 24)
            slot.set(identity, at: 32)
            slot.set(head.hash, at: 64)
            slot.set(checksum(UnsafeRawBufferPointer(slot)), at: 96)
            target.copyMemory(from: UnsafeRawBufferPointer(slot))
        }
    }

    private static func checksum(_ slot: UnsafeRawBufferPointer) -> UInt32 {
        var checksum = Checksum()
        checksum.add(slot.bytes(at: 0, count: 96))
        return checksum.value
    }
}
