import Ledger

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The end of the log that is written to. One thread at a time uses it: `FileLog` has it under a lock.
final class LogWriter {
    enum State: Hashable {
        /// What is behind the head is known, and zero.
        case settled
        /// An append, or a redaction, threw: what is behind the head is not known.
        case inDoubt
    }

    let disk: any Disk
    let folder: String
    let identity: Digest
    let hash: HashFunction
    let configuration: FileLogConfiguration
    let catalog: SegmentCatalog
    private let headFile: HeadFile
    /// Closing it gives the log free for another writer.
    private let lockFile: OwnedFile

    var state = State.settled
    var segment: SegmentFile
    private(set) var head: LogHead?
    /// Where the last block's record ends and the next one's begins.
    private(set) var end: Int
    /// Where the segment's last record begins; `nil` where it has none.
    private var lastOffset: Int?
    /// Up to here the segment's bytes are written and synced: blocks, then zeros.
    private(set) var writtenEnd: Int
    /// A new segment whose making failed: it may stand there or not.
    private var stray: BlockNumber?
    /// The head file may not name the last block.
    private var mustStoreAgain = false
    /// The bytes of a record for which there was no room. Nobody leads again before there is.
    private var missedBytes: Int?
    /// What one write consists of.
    private let parts = UnsafeMutableBufferPointer<iovec>.allocate(capacity: 4)
    private let headerBytes = UnsafeMutableRawBufferPointer.allocate(
        byteCount: RecordHeader.byteCount, alignment: LogFormat.alignment)

    init(
        _ disk: any Disk, _ folder: String, _ identity: Digest, _ hash: @escaping HashFunction,
        _ configuration: FileLogConfiguration, _ catalog: SegmentCatalog, _ scan: LogScan, _ headFile: HeadFile,
        _ lockFile: OwnedFile
    ) {
        self.disk = disk
        self.folder = folder
        self.identity = identity
        self.hash = hash
        self.configuration = configuration
        self.catalog = catalog
        self.headFile = headFile
        self.lockFile = lockFile
        segment = scan.index.segment
        head = scan.head
        end = scan.index.end
        lastOffset = scan.index.last.map { scan.index.offset(of: $0.number) }
        writtenEnd = scan.byteCount
    }

    deinit {
        headerBytes.deallocate()
        parts.deallocate()
        // Readers may keep the segment file open longer.
        disk.unlock(segment.file)
    }

    // MARK: - Appending

    func append(_ block: SealedBlock) throws(LogError) {
        let number = block.number
        guard state == .settled else {
            throw LogError(
                .notAppended,
                "block \(number) was not appended: an append before it failed, and the log was not settled")
        }
        assert(Digest(of: block.body, hash) == block.hash, "a block's hash is its body's")
        state = .inDoubt
        try checkContinues(block)
        let byteCount = RecordHeader.recordBytes(block.byteCount)
        guard byteCount <= FileLogLimits.recordBytesMax else {
            throw LogError(.notAppended, "block \(number) has \(block.byteCount) bytes; a record cannot hold it")
        }
        if needsSegment(byteCount) {
            let aheadEnd = LogWriter.firstAheadEnd(configuration)
            try beginSegment(for: byteCount, zerosTo: aheadEnd, atLeastTo: SegmentHeader.byteCount)
        }
        try write(block, byteCount)
        state = .settled
    }

    /// Whether a record of so many bytes begins the next segment.
    private func needsSegment(_ byteCount: Int) -> Bool {
        end + byteCount > configuration.segmentBytes && end > SegmentHeader.byteCount
    }

    /// The fence: a block is appended only after the one that it continues.
    private func checkContinues(_ block: SealedBlock) throws(LogError) {
        let last = head?.number ?? 0
        guard block.number > last else {
            throw LogError(.superseded, "block \(block.number) is taken: the log ends with block \(last)")
        }
        guard block.number == last + 1 else {
            throw LogError(.notAppended, "block \(block.number) does not follow block \(last), the last of the log")
        }
        guard block.previous == head?.hash ?? .zero else {
            throw LogError(.superseded, "block \(block.number) continues another block \(last) than the log's")
        }
    }

    private func write(_ block: SealedBlock, _ byteCount: Int) throws(LogError) {
        let start = end
        let recordEnd = start + byteCount
        RecordHeader.write(block, to: headerBytes, segmentChecksum: segment.header.checksum, offset: start)
        guard
            let header = RecordHeader(
                UnsafeRawBufferPointer(headerBytes), segmentChecksum: segment.header.checksum, offset: start)
        else { preconditionFailure("a header that was just written is whole") }
        var newEnd = writtenEnd
        if recordEnd >= writtenEnd {
            newEnd = recordEnd > writtenEnd ? aheadEnd(recordEnd, byteCount) : writtenEnd
            // A file that was cut would only be extended by this, and look as long as it should be.
            try checkInPlace(block.number, writtenEnd)
        }
        do {
            let written = try writeRecord(block, byteCount, at: start)
            guard written == byteCount else {
                // What a disk that becomes full does first.
                missedBytes = byteCount
                try invalidate(block.number, start, byteCount, "only \(written) of \(byteCount) bytes were written")
            }
            if newEnd > recordEnd, newEnd > writtenEnd {
                // For later records' sake only: this one is there.
                newEnd = try disk.writeZerosThatFit(segment.file, from: recordEnd, to: newEnd)
            }
            try disk.sync(segment.file)
        } catch let error as DiskError {
            if error.isWantOfRoom { missedBytes = byteCount }
            try invalidate(block.number, start, byteCount, "\(error)")
        } catch let error as LogError {
            throw error
        } catch {
            preconditionFailure("a disk throws only its errors")
        }
        try checkInPlace(block.number, newEnd)
        writtenEnd = newEnd
        end = recordEnd
        lastOffset = start
        head = block.head
        catalog.append(header)
        // Where this fails the block is durable all the same, and settling says so.
        mustStoreAgain = true
        try headFile.store(block.head)
        mustStoreAgain = false
    }

    /// How far the segment reaches after a record that goes beyond what was written ahead.
    private func aheadEnd(_ recordEnd: Int, _ byteCount: Int) -> Int {
        let page = FileLogLimits.pageBytes
        let isSmall = byteCount <= configuration.writeAheadRecordBytesMax
        let wanted = recordEnd + (isSmall ? configuration.writeAheadBytes : 0)
        return max(recordEnd, min((wanted + page - 1) / page * page, configuration.segmentBytes))
    }

    /// Writes the record in one call, and gives how many bytes of it were written.
    private func writeRecord(_ block: SealedBlock, _ byteCount: Int, at offset: Int) throws(DiskError) -> Int {
        let padding = byteCount - RecordHeader.byteCount - block.byteCount
        return try block.body.withUnsafeBufferPointer { (body) throws(DiskError) in
            try block.redactable.withUnsafeBufferPointer { (redactable) throws(DiskError) in
                parts[0] = part(UnsafeRawBufferPointer(headerBytes))
                parts[1] = part(UnsafeRawBufferPointer(body))
                parts[2] = part(UnsafeRawBufferPointer(redactable))
                parts[3] = part(UnsafeRawBufferPointer(rebasing: Zeros.bytes[..<padding]))
                return try disk.write(segment.file, UnsafeBufferPointer(parts), at: offset)
            }
        }
    }

    private func part(_ bytes: UnsafeRawBufferPointer) -> iovec {
        iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
    }

    /// After a write or a sync that failed: overwrites what may have been written with zeros, and says what that came
    /// to. All of it, not only the header: a page whose sync failed is written again only when it is changed again.
    private func invalidate(
        _ number: BlockNumber, _ start: Int, _ byteCount: Int, _ reason: String
    ) throws(LogError) -> Never {
        let path = segment.path
        do {
            let size = try disk.status(segment.file).byteCount
            try disk.writeZeros(segment.file, from: start, to: min(start + byteCount, size))
            try disk.sync(segment.file)
        } catch {
            throw LogError(
                .unknown,
                "appending block \(number) to segment file \(path): \(reason); it could not be taken back: \(error)"
            )
        }
        throw LogError(.notAppended, "appending block \(number) to segment file \(path): \(reason)")
    }

    /// What was synced is worth nothing in a file that nobody will find again.
    private func checkInPlace(_ number: BlockNumber, _ byteCount: Int) throws(LogError) {
        guard let fault = placeFault(byteCount) else { return }
        throw LogError(.unknown, "block \(number), segment file \(segment.path): \(fault)")
    }

    /// Why the segment file is not the one at its path, with at least `byteCount` bytes; `nil` where it is.
    private func placeFault(_ byteCount: Int) -> String? {
        do {
            let open = try disk.status(segment.file)
            if open.links == 0 { return "it was removed while it was written to" }
            if open.byteCount < byteCount { return "it was cut to \(open.byteCount) bytes while it was written to" }
            let isInPlace = try disk.status(at: segment.path).isSameFile(as: open)
            return isInPlace ? nil : "another file was put in its place while it was written to"
        } catch  where error == .missing {
            return "it was moved away while it was written to"
        } catch {
            return "\(error)"
        }
    }

    // MARK: - Segments

    /// Makes the segment that begins with the block after the head: whole and durable under another name first.
    /// - Parameters:
    ///   - byteCount: the record that makes it necessary.
    ///   - aheadEnd: up to where it is written with zeros if there is room.
    ///   - least: up to where it must be.
    private func beginSegment(
        for byteCount: Int, zerosTo aheadEnd: Int, atLeastTo least: Int
    ) throws(LogError) {
        let first = (head?.number ?? 0) + 1
        // The last moment at which a loss of the segment before is noticed.
        try checkInPlace(first, writtenEnd)
        let path = folder + "/" + SegmentFile.name(first)
        do {
            guard try disk.statusIfThere(at: path) == nil else {
                throw LogError(.superseded, "segment file \(path) is there already; a ledger has one writer")
            }
            stray = first
            let (new, newEnd) = try LogWriter.makeSegment(
                disk, path, first: first, identity, previous: head?.hash ?? .zero, zerosTo: aheadEnd)
            guard newEnd >= least else { throw DiskError.full }
            guard try disk.lock(new.file) else {
                throw LogError(.superseded, "segment file \(path) is open for writing in another process")
            }
            try disk.rename(path + SegmentFile.temporarySuffix, to: path)
            try disk.syncDirectory(folder)
            stray = nil
            segment = new
            end = SegmentHeader.byteCount
            lastOffset = nil
            writtenEnd = newEnd
            catalog.begin(new)
        } catch let error as LogError {
            throw error
        } catch {
            if (error as? DiskError)?.isWantOfRoom == true { missedBytes = byteCount }
            throw LogError(.notAppended, "beginning segment file \(path): \(error)")
        }
    }

    /// Up to where a new segment is written.
    static func firstAheadEnd(_ configuration: FileLogConfiguration) -> Int {
        let page = FileLogLimits.pageBytes
        let wanted = (SegmentHeader.byteCount + configuration.writeAheadBytes + page - 1) / page * page
        return max(SegmentHeader.byteCount, min(wanted, configuration.segmentBytes))
    }

    /// Writes a segment without records under its temporary name, and syncs it. Gives up to where it is written:
    /// not up to `aheadEnd` where there is no room for all of the zeros.
    static func makeSegment(
        _ disk: any Disk, _ path: String, first: BlockNumber, _ identity: Digest, previous: Digest,
        zerosTo aheadEnd: Int
    ) throws(DiskError) -> (SegmentFile, end: Int) {
        let temporary = path + SegmentFile.temporarySuffix
        try disk.removeIfThere(temporary)
        let (header, bytes) = SegmentHeader.make(first: first, identity: identity, previous: previous)
        let segment = SegmentFile(disk, try disk.open(temporary, .creating), path, header)
        try disk.writeAll(segment.file, bytes, at: 0)
        let end = try disk.writeZerosThatFit(segment.file, from: SegmentHeader.byteCount, to: aheadEnd)
        try disk.sync(segment.file)
        return (segment, end)
    }

    // MARK: - Settling

    /// Makes the tail behind the last acknowledged block durably zero, unless it is known to be.
    func settle() throws(LogError) {
        guard state == .inDoubt else { return }
        let path = segment.path
        let next = (head?.number ?? 0) + 1
        try checkStands(next)
        do {
            if let first = stray {
                let strayPath = folder + "/" + SegmentFile.name(first)
                try disk.removeIfThere(strayPath + SegmentFile.temporarySuffix)
                try disk.removeIfThere(strayPath)
                try disk.syncDirectory(folder)
                stray = nil
            }
            let size = try disk.status(segment.file).byteCount
            try disk.writeZeros(segment.file, from: end, to: size)
            try disk.sync(segment.file)
            writtenEnd = size
        } catch {
            throw LogError(.unknown, "settling whether block \(next) is in segment file \(path): \(error)")
        }
        try checkStands(next)
        if mustStoreAgain, let head {
            try headFile.storeAgain(head)
            mustStoreAgain = false
        }
        try finishRedaction()
        try takeRoom()
        state = .settled
    }

    /// After a record for which there was no room: takes room for one like it.
    ///
    /// The leader's block is small. Without this it would find room in what is written ahead each time, and take some
    /// of it, and the next record would fail as the one before.
    private func takeRoom() throws(LogError) {
        guard let missedBytes else { return }
        let bytes = FileLogLimits.leaderRecordBytes + missedBytes
        if needsSegment(bytes) {
            let roomEnd = SegmentHeader.byteCount + bytes
            try beginSegment(for: missedBytes, zerosTo: roomEnd, atLeastTo: roomEnd)
        } else if end + bytes > writtenEnd {
            do {
                try disk.writeZeros(segment.file, from: writtenEnd, to: end + bytes)
                try disk.sync(segment.file)
            } catch {
                throw LogError(
                    error.isWantOfRoom ? .notAppended : .unknown,
                    "taking room for \(missedBytes) bytes, which a block needed, in segment file \(segment.path): "
                        + "\(error)")
            }
            writtenEnd = end + bytes
        }
        self.missedBytes = nil
    }

    /// A log whose files are not there any more, or lost what was acknowledged, cannot be led.
    private func checkStands(_ next: BlockNumber) throws(LogError) {
        if let fault = placeFault(end) {
            throw LogError(
                .unknown,
                "segment file \(segment.path): \(fault); nothing is appended after block \(next - 1) until it is back")
        }
        do {
            let header = try disk.readAll(segment.file, at: 0, byteCount: SegmentHeader.byteCount)
            guard SegmentFile.isHeader(header, segment.header) else {
                throw LogError(.corrupt, "segment file \(segment.path): its header is damaged")
            }
            guard let lastOffset else { return }
            var window = ReadWindow(segment, stepBytes: 0, end: end)
            switch try segment.record(at: lastOffset, &window, hash) {
            case .whole, .redactableDamaged: return
            case .noHeader, .bodyDamaged: throw segment.corrupt(next - 1, "it was acknowledged, and is damaged")
            }
        } catch let error as LogError {
            throw error
        } catch {
            throw LogError(.unknown, "reading block \(next - 1) from segment file \(segment.path): \(error)")
        }
    }
}
