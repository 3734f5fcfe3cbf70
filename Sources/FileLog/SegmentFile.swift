import Ledger

/// An open segment file, closed when nobody uses it any more.
final class SegmentFile: Sendable {
    let disk: any Disk
    let file: DiskFile
    let path: String
    let header: SegmentHeader

    init(_ disk: any Disk, _ file: DiskFile, _ path: String, _ header: SegmentHeader) {
        self.disk = disk
        self.file = file
        self.path = path
        self.header = header
    }

    deinit { disk.close(file) }

    static let nameBytes = 20
    static let temporarySuffix = ".new"

    /// The name of the segment that begins with block `first`.
    static func name(_ first: BlockNumber) -> String {
        let digits = String(first)
        return String(repeating: "0", count: max(0, nameBytes - digits.count)) + digits
    }

    /// The first block of the segment that is called `name`; `nil` for any other file.
    static func first(_ name: String) -> BlockNumber? {
        guard name.utf8.count == nameBytes, name.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
        return BlockNumber(name).flatMap { $0 > 0 ? $0 : nil }
    }

    static func open(
        _ disk: any Disk, _ path: String, first: BlockNumber, _ identity: Digest, _ access: DiskAccess
    ) throws(LogError) -> SegmentFile {
        let file: DiskFile
        do { file = try disk.open(path, access) } catch  where error == .missing {
            throw LogError(.corrupt, "segment file \(path), which begins with block \(first), is missing")
        } catch {
            throw LogError(.unknown, "opening segment file \(path): \(error)")
        }
        do {
            try checkKind(disk, file, path)
            return SegmentFile(disk, file, path, try header(disk, file, path, first, identity))
        } catch {
            disk.close(file)
            throw error
        }
    }

    private static func checkKind(_ disk: any Disk, _ file: DiskFile, _ path: String) throws(LogError) {
        let kind: FileStatus.Kind
        do { kind = try disk.status(file).kind } catch {
            throw LogError(.unknown, "looking at segment file \(path): \(error)")
        }
        guard kind == .file else { throw LogError(.corrupt, "segment file \(path) is \(kind.words), not a file") }
    }

    private static func header(
        _ disk: any Disk, _ file: DiskFile, _ path: String, _ first: BlockNumber, _ identity: Digest
    ) throws(LogError) -> SegmentHeader {
        let bytes: [UInt8]
        do { bytes = try disk.readAll(file, at: 0, byteCount: SegmentHeader.byteCount) } catch {
            throw LogError(.unknown, "reading segment file \(path): \(error)")
        }
        let header = try header(bytes, path, first)
        try check(header, path, first, identity)
        return header
    }

    /// - Parameter bytes: those at the beginning of the file at `path`.
    static func header(_ bytes: [UInt8], _ path: String, _ first: BlockNumber) throws(LogError) -> SegmentHeader {
        do { return try SegmentHeader(bytes) } catch {
            switch error {
            case .damaged:
                throw LogError(
                    .corrupt, "segment file \(path), which begins with block \(first): its header is damaged")
            case .version(let version):
                throw LogError(
                    .corrupt,
                    "segment file \(path), which begins with block \(first), \(LogFormat.unknownFormat(version))")
            }
        }
    }

    /// - Throws: ``LogError`` where a whole header is not the one that belongs into the file at `path`.
    static func check(
        _ header: SegmentHeader, _ path: String, _ first: BlockNumber, _ identity: Digest
    ) throws(LogError) {
        guard header.identity == identity else {
            throw LogError(
                .corrupt, "segment file \(path) belongs to another ledger: its bundle id or environment differs")
        }
        guard header.first == first else {
            throw LogError(
                .corrupt, "segment file \(path) begins with block \(header.first), not with the \(first) of its name")
        }
    }

    /// True where `bytes` are those of `header`.
    static func isHeader(_ bytes: [UInt8], _ header: SegmentHeader) -> Bool {
        do { return try SegmentHeader(bytes) == header } catch { return false }
    }

    func byteCount() throws(LogError) -> Int {
        let byteCount: Int
        do { byteCount = try disk.status(file).byteCount } catch {
            throw LogError(.unknown, "asking for the size of segment file \(path): \(error)")
        }
        guard byteCount <= FileLogLimits.segmentBytesMax else {
            throw LogError(
                .corrupt,
                "segment file \(path) has \(byteCount) bytes; none has more than \(FileLogLimits.segmentBytesMax)")
        }
        return byteCount
    }

    /// The header of block `number`'s record, which begins at `offset`; `nil` where no whole header stands there.
    func recordHeader(
        _ number: BlockNumber, at offset: Int, _ window: inout ReadWindow
    ) throws(LogError) -> RecordHeader? {
        let record: RecordHeader?
        do {
            record =
                try window.bytes(at: offset, count: RecordHeader.byteCount) {
                    RecordHeader($0, segmentChecksum: header.checksum, offset: offset)
                } ?? nil
        } catch {
            throw unread(number, error)
        }
        if let record, record.format != LogFormat.version {
            throw corrupt(number, "its record \(LogFormat.unknownFormat(record.format))")
        }
        return record
    }

    func corrupt(_ number: BlockNumber, _ words: String) -> LogError {
        LogError(.corrupt, "block \(number) in segment file \(path): \(words)")
    }

    func unread(_ number: BlockNumber, _ error: DiskError) -> LogError {
        LogError(.unknown, "reading block \(number) from segment file \(path): \(error)")
    }
}

/// Reads a file forward, some kilobytes at a time.
struct ReadWindow {
    private let segment: SegmentFile
    private let stepBytes: Int
    /// Where the file's readable part ends.
    private let end: Int
    private var buffer: [UInt8] = []
    private var start = 0

    init(_ segment: SegmentFile, stepBytes: Int, end: Int) {
        self.segment = segment
        self.stepBytes = stepBytes
        self.end = end
    }

    /// Gives `body` the bytes at `offset`; `nil` where the file ends before them.
    mutating func bytes<Result>(
        at offset: Int, count: Int, _ body: (UnsafeRawBufferPointer) -> Result
    ) throws(DiskError) -> Result? {
        guard offset + count <= end else { return nil }
        if offset < start || offset + count > start + buffer.count { try read(from: offset, count: count) }
        guard offset + count <= start + buffer.count else { return nil }
        return buffer.withUnsafeBytes { body($0.bytes(at: offset - start, count: count)) }
    }

    /// Reads a step from `offset` on. Where not all of it can be read, what comes before that is enough if it has
    /// `count` bytes.
    private mutating func read(from offset: Int, count: Int) throws(DiskError) {
        start = offset
        buffer = []
        var bytes = [UInt8](repeating: 0, count: min(max(count, stepBytes), end - offset))
        var done = 0
        do {
            try bytes.withUnsafeMutableBufferPointer { (target) throws(DiskError) in
                while done < target.count {
                    let rest = UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: target[done...]))
                    let read = try segment.disk.read(segment.file, rest, at: offset + done)
                    guard read > 0 else { break }
                    done += read
                }
            }
        } catch  where done >= count {}
        bytes.removeLast(bytes.count - done)
        buffer = bytes
    }

    /// Forgets what was read, so that the file is asked again.
    mutating func forget() { buffer = [] }
}

/// Where the records of a segment stand, from the headers alone.
struct SegmentIndex {
    let segment: SegmentFile
    /// Where each record begins, from the segment's first block on.
    private(set) var offsets: [UInt32] = []
    /// Where the last record ends.
    private(set) var end = SegmentHeader.byteCount
    /// The last record's header; `nil` where the segment has none.
    private(set) var last: RecordHeader?

    init(_ segment: SegmentFile) { self.segment = segment }

    /// The block after the last one of the index.
    var next: BlockNumber { segment.header.first + BlockNumber(offsets.count) }

    func offset(of number: BlockNumber) -> Int { Int(offsets[Int(number - segment.header.first)]) }

    /// The hash that the next block's `previous` must be.
    var headHash: Digest { last?.hash ?? segment.header.previous }

    mutating func append(_ header: RecordHeader) {
        offsets.append(UInt32(end))
        end += header.recordBytes
        last = header
    }

    /// Takes the last record back out, which turned out not to be whole.
    mutating func removeLast(_ before: RecordHeader?) {
        end = Int(offsets.removeLast())
        last = before
    }

    /// Goes from header to header, up to the one before block `stop`, or to where there is no whole header.
    /// - Parameter seen: is given each header, after the one before it.
    mutating func walk(
        to stop: BlockNumber = .max, byteCount: Int, _ seen: (RecordHeader) -> Void = { _ in }
    ) throws(LogError) {
        var window = ReadWindow(segment, stepBytes: FileLogLimits.scanBytes, end: byteCount)
        while next < stop {
            guard let header = try segment.recordHeader(next, at: end, &window) else { return }
            guard header.number == next else {
                throw segment.corrupt(next, "block \(header.number) stands in its place")
            }
            guard header.previous == headHash else {
                throw segment.corrupt(next, "it does not continue the block before it")
            }
            guard end + header.recordBytes <= byteCount else { return }
            append(header)
            seen(header)
        }
    }
}

extension SegmentFile {
    /// What a record was found to be.
    enum Record {
        case whole(SealedBlock, byteCount: Int)
        case noHeader
        case bodyDamaged(RecordHeader)
        case redactableDamaged(RecordHeader, SealedBlock)
    }

    /// Reads and checks a record of the index, which has looked at its format.
    /// - Parameter hash: SHA-256.
    func record(at offset: Int, _ window: inout ReadWindow, _ hash: HashFunction) throws(DiskError) -> Record {
        let segmentChecksum = header.checksum
        let header =
            try window.bytes(at: offset, count: RecordHeader.byteCount) {
                RecordHeader($0, segmentChecksum: segmentChecksum, offset: offset)
            } ?? nil
        guard let header, header.format == LogFormat.version else { return .noHeader }
        return try window.bytes(at: offset, count: header.recordBytes) {
            Record($0, segmentChecksum: segmentChecksum, offset: offset, hash)
        } ?? .bodyDamaged(header)
    }
}

extension SegmentFile.Record {
    /// - Parameter bytes: those at `offset`, as many as a header says that was read there. They may have been read
    ///   again since, so they have the header that counts.
    init(_ bytes: UnsafeRawBufferPointer, segmentChecksum: UInt32, offset: Int, _ hash: HashFunction) {
        guard let header = RecordHeader(bytes, segmentChecksum: segmentChecksum, offset: offset),
            header.format == LogFormat.version
        else {
            self = .noHeader
            return
        }
        guard header.recordBytes <= bytes.count else {
            self = .bodyDamaged(header)
            return
        }
        let body = bytes.bytes(at: RecordHeader.byteCount, count: header.bodyBytes)
        let redactable = bytes.bytes(at: RecordHeader.byteCount + header.bodyBytes, count: header.redactableBytes)
        guard Digest(of: body, hash) == header.hash else {
            self = .bodyDamaged(header)
            return
        }
        let block = SealedBlock(
            number: header.number, term: header.term, previous: header.previous, hash: header.hash,
            body: [UInt8](body), redactable: [UInt8](redactable))
        let isWhole = RecordHeader.redactableChecksum(redactable, header.checksum) == header.redactableChecksum
        self = isWhole ? .whole(block, byteCount: header.recordBytes) : .redactableDamaged(header, block)
    }
}
