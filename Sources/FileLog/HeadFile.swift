import Ledger

/// The number and hash of the last acknowledged block, kept outside of the log.
///
/// A log that lost its end (a copy put back, a file system that forgot) looks whole by itself: this file says that it
/// is not. It is a page mapped into memory, so that storing costs no call. It is stored only after the block is
/// durable: after a power cut it may be older than the log, never newer. Two slots are used in turn, so that one is
/// whole if the other is torn.
///
/// Only the writer's thread uses it; that, and that no one else has the memory, makes it safe to send.
final class HeadFile: @unchecked Sendable {
    static let byteCount = 4096
    static let slotOffsets = [0, 2048]
    static let slotBytes = 100
    static let magic: UInt64 = 0x434C_6564_6748_6561  // "CLedgHea"

    /// What a head file was found to say.
    enum Content: Hashable {
        case missing
        case unreadable(String)
        /// Nothing was acknowledged yet (`nil`), or this block.
        case head(LogHead?)

        /// The last block that the file says was acknowledged.
        var acknowledged: LogHead? {
            switch self {
            case .missing, .unreadable: nil
            case .head(let head): head
            }
        }
    }

    private let disk: any Disk
    private let memory: UnsafeMutableRawPointer
    private let identity: Digest
    private var nextSlot: Int

    /// Maps the file at `path`, made anew where it was not whole.
    init(_ disk: any Disk, _ path: String, _ identity: Digest, _ content: Content) throws(DiskError) {
        let file = try disk.open(path, .writingOrCreating)
        defer { disk.close(file) }
        switch content {
        case .missing, .unreadable:
            // Real bytes: a store into a hole would need room on the disk at that moment, and end the process
            // without.
            try disk.writeAll(file, HeadFile.emptyPage(identity), at: 0)
            try disk.sync(file)
        case .head: break
        }
        memory = try disk.map(file, byteCount: HeadFile.byteCount)
        self.disk = disk
        self.identity = identity
        let slots = HeadFile.slots(UnsafeRawBufferPointer(start: memory, count: HeadFile.byteCount), identity)
        nextSlot = (slots[0]?.number ?? -1) > (slots[1]?.number ?? -1) ? 1 : 0
    }

    deinit { disk.unmap(memory, byteCount: HeadFile.byteCount) }

    /// To be called when the block is durable.
    func store(_ head: LogHead) {
        let page = UnsafeMutableRawBufferPointer(start: memory, count: HeadFile.byteCount)
        let start = HeadFile.slotOffsets[nextSlot]
        HeadFile.write(head, identity, to: UnsafeMutableRawBufferPointer(rebasing: page[start...]))
        nextSlot = 1 - nextSlot
    }

    static func create(_ disk: any Disk, _ path: String, _ identity: Digest) throws(DiskError) {
        let file = try disk.open(path, .creating)
        defer { disk.close(file) }
        try disk.writeAll(file, emptyPage(identity), at: 0)
        try disk.sync(file)
    }

    static func content(_ disk: any Disk, _ path: String, _ identity: Digest) -> Content {
        do {
            guard let status = try disk.statusIfThere(at: path) else { return .missing }
            guard status.kind == .file else { return .unreadable("it is no file") }
            let file = try disk.open(path, .reading)
            defer { disk.close(file) }
            let bytes = try disk.readAll(file, at: 0, byteCount: byteCount)
            guard bytes.count == byteCount else { return .unreadable("it has \(bytes.count) bytes") }
            let slots = bytes.withUnsafeBytes { HeadFile.slots($0, identity) }.compactMap { $0 }
            guard let newest = slots.max(by: { $0.number < $1.number }) else {
                return .unreadable("neither of its two slots is whole and of this ledger")
            }
            return .head(newest.number == 0 ? nil : newest)
        } catch {
            return .unreadable("\(error)")
        }
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
            var checksum = Checksum()
            checksum.add(UnsafeRawBufferPointer(rebasing: slot[..<96]))
            slot.set(checksum.value, at: 96)
            target.copyMemory(from: UnsafeRawBufferPointer(slot))
        }
    }

    /// The two slots; `nil` for one that is not whole, or another ledger's.
    private static func slots(_ page: UnsafeRawBufferPointer, _ identity: Digest) -> [LogHead?] {
        slotOffsets.map { offset in
            let slot = page.bytes(at: offset, count: slotBytes)
            var checksum = Checksum()
            checksum.add(slot.bytes(at: 0, count: 96))
            guard slot.number(at: 96) == checksum.value, slot.number(at: 0) == magic,
                slot.number(at: 8) == LogFormat.version, slot.digest(at: 32) == identity
            else { return nil }
            return LogHead(number: slot.number(at: 16), term: slot.number(at: 24), hash: slot.digest(at: 64))
        }
    }
}
