import Ledger

/// A segment file that is being inspected: a record's header, a record, and what stands where there is none.
final class SegmentInspection {
    /// With the header that the file should have.
    let file: SegmentFile
    let first: BlockNumber
    /// The last block that belongs into it; `nil` in the log's last segment.
    let last: BlockNumber?
    let byteCount: Int
    /// Where the next record begins.
    var offset = SegmentHeader.byteCount
    /// The segment header's checksum, with which its records' checksums begin. Where that header is damaged, these are
    /// what it may have been, until a record's header is whole with one of them.
    private var headerChecksums: [UInt32]
    private var window: ReadWindow

    init(_ file: SegmentFile, _ first: BlockNumber, last: BlockNumber?, byteCount: Int, headerChecksums: [UInt32]) {
        self.file = file
        self.first = first
        self.last = last
        self.byteCount = byteCount
        self.headerChecksums = headerChecksums
        window = ReadWindow(file, stepBytes: FileLogLimits.readBytes, end: byteCount)
    }

    /// The largest number that a block at `offset` can have: none before it has less than a record's header.
    func lastBlock(at offset: Int) -> BlockNumber {
        let places = (offset - SegmentHeader.byteCount) / RecordHeader.byteCount
        return min(last ?? .max, first + BlockNumber(places))
    }

    /// `nil` where no whole header stands at `offset`.
    func recordHeader(at offset: Int) throws(DiskError) -> RecordHeader? {
        let candidates = headerChecksums
        let found = try window.bytes(at: offset, count: RecordHeader.byteCount) { bytes -> (RecordHeader, UInt32)? in
            for checksum in candidates {
                if let header = RecordHeader(bytes, segmentChecksum: checksum, offset: offset) {
                    return (header, checksum)
                }
            }
            return nil
        }
        guard let (header, checksum) = found ?? nil else { return nil }
        if candidates.count > 1 { headerChecksums = [checksum] }
        return header
    }

    /// What the record is that begins at `offset` with `header`; `nil` where it reaches beyond the file's end.
    func record(
        _ header: RecordHeader, _ hash: HashFunction
    ) throws(DiskError) -> (SegmentFile.Record, isPaddingZero: Bool)? {
        let (offset, checksum) = (offset, headerChecksums[0])
        let end = RecordHeader.byteCount + header.bodyBytes + header.redactableBytes
        return try window.bytes(at: offset, count: header.recordBytes) { bytes in
            let record = SegmentFile.Record(bytes, segmentChecksum: checksum, offset: offset, hash)
            return (record, bytes.bytes(at: end, count: header.recordBytes - end).isZero)
        }
    }

    /// Forgets what was read, so that the file is asked again.
    func forget() { window.forget() }

    /// What stands where no record continues the ones before.
    struct Rest {
        var isZero = true
        /// The first whole header, of whatever number and format.
        var header: (offset: Int, header: RecordHeader)?
        /// Why some of it could not be read.
        var error: DiskError?
    }

    /// Looks at what stands from `offset` on, up to the first whole header behind that place, or the file's end.
    func rest() -> Rest {
        var rest = Rest()
        var place = offset
        while place < byteCount {
            let end = min((place / FileLogLimits.pageBytes + 1) * FileLogLimits.pageBytes, byteCount)
            do {
                let begins = try window.bytes(at: place, count: end - place) { bytes in
                    bytes.isZero ? nil : SegmentInspection.headersMayBegin(in: bytes)
                }
                guard let begins else { return rest }
                if let begins {
                    rest.isZero = false
                    for begin in begins where place + begin > offset {
                        guard let header = try recordHeader(at: place + begin) else { continue }
                        rest.header = (place + begin, header)
                        return rest
                    }
                }
            } catch {
                rest.error = rest.error ?? error
            }
            place = end
        }
        return rest
    }

    private static func headersMayBegin(in bytes: UnsafeRawBufferPointer) -> [Int] {
        stride(from: 0, to: bytes.count - 3, by: LogFormat.alignment).filter {
            bytes.number(at: $0) == RecordHeader.magic
        }
    }
}
