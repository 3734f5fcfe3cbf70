import Ledger

// The bytes of a log's files. Docs: FileLog.md, which is the specification; what differs from it is a defect here.
// Numbers are big-endian.

enum LogFormat {
    /// Every file begins with eight bytes that say what it is, and its format's number: in each later format too, so
    /// that a program can name a format that it does not know. No format has the number 0.
    static let version: UInt32 = 1
    /// Records begin at multiples of this.
    static let alignment = 8

    static func aligned(_ byteCount: Int) -> Int { (byteCount + alignment - 1) / alignment * alignment }

    /// What is said of a file or a record of another format.
    static func unknownFormat(_ version: UInt32) -> String {
        "has format \(version); this program reads format \(LogFormat.version)"
    }
}

/// The beginning of a segment file.
struct SegmentHeader: Hashable {
    static let byteCount = 96
    static let magic: UInt64 = 0x434C_6564_674C_6F67  // "CLedgLog"

    /// The block that the segment begins with.
    var first: BlockNumber
    /// Whose ledger it is.
    var identity: Digest
    /// The hash of the block before `first`; zero bytes before block 1.
    var previous: Digest
    /// Over the header's bytes. It goes into the checksum of each record of the segment: no bytes within a block can
    /// pass for one.
    var checksum: UInt32

    /// A new segment's header, and its bytes.
    static func make(first: BlockNumber, identity: Digest, previous: Digest) -> (SegmentHeader, [UInt8]) {
        var bytes = [UInt8](repeating: 0, count: byteCount)
        let checksum = bytes.withUnsafeMutableBytes { target in
            target.set(magic, at: 0)
            target.set(LogFormat.version, at: 8)
            target.set(first, at: 16)
            target.set(identity, at: 24)
            target.set(previous, at: 56)
            let checksum = SegmentHeader.checksum(UnsafeRawBufferPointer(target))
            target.set(checksum, at: 92)
            return checksum
        }
        return (SegmentHeader(first: first, identity: identity, previous: previous, checksum: checksum), bytes)
    }

    static func checksum(_ header: UnsafeRawBufferPointer) -> UInt32 {
        var checksum = Checksum()
        checksum.add(UnsafeRawBufferPointer(rebasing: header[..<92]))
        return checksum.value
    }

    static func storedChecksum(_ header: UnsafeRawBufferPointer) -> UInt32 { header.number(at: 92) }

    enum Fault: Error {
        case damaged
        case version(UInt32)
    }

    private init(first: BlockNumber, identity: Digest, previous: Digest, checksum: UInt32) {
        self.first = first
        self.identity = identity
        self.previous = previous
        self.checksum = checksum
    }

    init(_ bytes: [UInt8]) throws(Fault) {
        guard bytes.count == SegmentHeader.byteCount else { throw .damaged }
        self = try bytes.withUnsafeBufferPointer { (buffer) throws(Fault) in
            let bytes = UnsafeRawBufferPointer(buffer)
            guard bytes.number(at: 0) == SegmentHeader.magic else { throw .damaged }
            // Before the checksum, which may stand elsewhere in another format.
            let version: UInt32 = bytes.number(at: 8)
            guard version == LogFormat.version else { throw .version(version) }
            let checksum = SegmentHeader.checksum(bytes)
            guard SegmentHeader.storedChecksum(bytes) == checksum, bytes.number(at: 12) == UInt32(0),
                bytes.number(at: 88) == UInt32(0)
            else { throw .damaged }
            return SegmentHeader(
                first: bytes.number(at: 16), identity: bytes.digest(at: 24), previous: bytes.digest(at: 56),
                checksum: checksum)
        }
    }
}

/// The beginning of a record: one block of a segment.
struct RecordHeader {
    static let byteCount = 104
    static let magic: UInt32 = 0x434C_426B  // "CLBk"
    /// Where the redactable part's checksum stands in the header: `redact` overwrites it.
    static let redactableChecksumOffset = 100

    /// The segment's in a segment of format 1. A whole header of another one is damage, or a later program's.
    var format: UInt32
    var number: BlockNumber
    var term: Term
    var bodyBytes: Int
    var redactableBytes: Int
    var previous: Digest
    var hash: Digest
    /// Over the header, its segment's checksum and its place.
    var checksum: UInt32
    /// Over `checksum` and the redactable part.
    var redactableChecksum: UInt32

    var head: LogHead { LogHead(number: number, term: term, hash: hash) }

    /// The record's bytes, up to the next record.
    var recordBytes: Int { RecordHeader.recordBytes(bodyBytes + redactableBytes) }

    static func recordBytes(_ blockBytes: Int) -> Int { LogFormat.aligned(byteCount + blockBytes) }

    /// Writes the header of `block`, whose record stands at `offset` of a segment with `segmentChecksum`.
    static func write(
        _ block: SealedBlock, to target: UnsafeMutableRawBufferPointer, segmentChecksum: UInt32, offset: Int
    ) {
        target.set(magic, at: 0)
        target.set(LogFormat.version, at: 4)
        target.set(block.number, at: 8)
        target.set(block.term, at: 16)
        target.set(UInt32(block.body.count), at: 24)
        target.set(UInt32(block.redactable.count), at: 28)
        target.set(block.previous, at: 32)
        target.set(block.hash, at: 64)
        let checksum = checksum(UnsafeRawBufferPointer(target), segmentChecksum, offset)
        target.set(checksum, at: 96)
        target.set(redactableChecksum(block.redactable, checksum), at: redactableChecksumOffset)
    }

    /// `nil` where no record of the segment stands at `offset`, or its header is damaged.
    init?(_ bytes: UnsafeRawBufferPointer, segmentChecksum: UInt32, offset: Int) {
        guard bytes.count >= RecordHeader.byteCount, bytes.number(at: 0) == RecordHeader.magic else { return nil }
        checksum = bytes.number(at: 96)
        guard checksum == RecordHeader.checksum(bytes, segmentChecksum, offset) else { return nil }
        format = bytes.number(at: 4)
        number = bytes.number(at: 8)
        term = bytes.number(at: 16)
        bodyBytes = Int(bytes.number(at: 24) as UInt32)
        redactableBytes = Int(bytes.number(at: 28) as UInt32)
        previous = bytes.digest(at: 32)
        hash = bytes.digest(at: 64)
        redactableChecksum = bytes.number(at: RecordHeader.redactableChecksumOffset)
    }

    private static func checksum(
        _ header: UnsafeRawBufferPointer, _ segmentChecksum: UInt32, _ offset: Int
    ) -> UInt32 {
        var checksum = Checksum()
        checksum.add(segmentChecksum)
        checksum.add(UInt32(offset))
        checksum.add(UnsafeRawBufferPointer(rebasing: header[..<96]))
        return checksum.value
    }

    static func redactableChecksum(_ redactable: UnsafeRawBufferPointer, _ headerChecksum: UInt32) -> UInt32 {
        var checksum = Checksum()
        checksum.add(headerChecksum)
        checksum.add(redactable)
        return checksum.value
    }

    static func redactableChecksum(_ redactable: [UInt8], _ headerChecksum: UInt32) -> UInt32 {
        redactable.withUnsafeBytes { redactableChecksum($0, headerChecksum) }
    }
}

extension UnsafeMutableRawBufferPointer {
    func set(_ value: some FixedWidthInteger, at offset: Int) {
        Swift.withUnsafeBytes(of: value.bigEndian) { self[offset..<(offset + $0.count)].copyBytes(from: $0) }
    }

    func set(_ digest: Digest, at offset: Int) {
        digest.withUnsafeBytes { self[offset..<(offset + Digest.byteCount)].copyBytes(from: $0) }
    }
}

extension UnsafeRawBufferPointer {
    func number<Value: FixedWidthInteger>(at offset: Int) -> Value {
        Value(bigEndian: loadUnaligned(fromByteOffset: offset, as: Value.self))
    }

    func digest(at offset: Int) -> Digest {
        Digest { $0.copyBytes(from: self[offset..<(offset + Digest.byteCount)]) }
    }

    func bytes(at offset: Int, count: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[offset..<(offset + count)])
    }

    /// True where all bytes are 0; of eight at a time.
    var isZero: Bool {
        var bits: UInt64 = 0
        let wordsEnd = count / 8 * 8
        for offset in stride(from: 0, to: wordsEnd, by: 8) {
            bits |= loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        }
        for offset in wordsEnd..<count { bits |= UInt64(self[offset]) }
        return bits == 0
    }
}

extension Digest {
    /// What stands for the block before the first.
    static let zero = Digest { $0.initializeMemory(as: UInt8.self, repeating: 0) }
}
