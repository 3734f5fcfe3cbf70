import Ledger

/// What a log's folder was found to hold when it was opened: where its segments begin, and where its chain ends.
///
/// Only the last segment's headers and its last block are read; the blocks before are checked when they are read.
struct LogScan {
    /// The first blocks of the segments, ascending.
    var firsts: [BlockNumber]
    /// The last block that was archived; `nil` where the log begins with block 1.
    var base: LogHead?
    /// The last segment's records.
    var index: SegmentIndex
    /// The segment before the last, where the last has no records.
    var before: SegmentIndex?
    /// The last block; `nil` in a log without one.
    var head: LogHead?
    /// The last segment file's size.
    var byteCount: Int
    /// What was found behind the last block and is no whole block.
    var tail: Tail

    enum Tail: Hashable {
        case zeros
        case torn
    }
}

extension LogScan {
    /// The first blocks of the segments in `folder`, ascending. Those that were archived and not removed yet are not
    /// among them.
    /// - Parameter base: the last block that was archived.
    /// - Throws: ``LogError`` `corrupt` where the segment with the first block after that is missing.
    static func firsts(_ disk: any Disk, _ folder: String, behind base: LogHead?) throws(LogError) -> [BlockNumber] {
        let begin = (base?.number ?? 0) + 1
        let firsts = try listed(disk, folder).filter { $0 >= begin }
        guard let first = firsts.first else { throw LogError(.corrupt, "the log \(folder) has no segment file") }
        guard first == begin else {
            throw LogError(
                .corrupt,
                "segment file \(folder)/\(SegmentFile.name(begin)), which begins with block \(begin), is missing")
        }
        return firsts
    }

    /// The first blocks of the segments in `folder`, ascending, whichever are there.
    static func listed(_ disk: any Disk, _ folder: String) throws(LogError) -> [BlockNumber] {
        do { return try disk.list(folder).compactMap(SegmentFile.first).sorted() } catch {
            throw LogError(.unknown, "listing the log \(folder): \(error)")
        }
    }

    /// Finds the head of the chain.
    /// - Parameters:
    ///   - base: the last block that was archived.
    ///   - last: the last segment of `firsts`, opened.
    ///   - acknowledged: what the head file says was acknowledged; a torn record of it, or before it, is damage.
    ///   - note: a redaction that was begun.
    init(
        _ folder: String, _ firsts: [BlockNumber], behind base: LogHead?, _ last: SegmentFile,
        acknowledged: LogHead?, note: RedactionNote?, _ hash: HashFunction
    ) throws(LogError) {
        self.firsts = firsts
        self.base = base
        if let base, last.header.first == base.number + 1, last.header.previous != base.hash {
            throw last.corrupt(
                last.header.first, "it does not continue the block that \(LogBase.path(folder)) names")
        }
        byteCount = try last.byteCount()
        index = SegmentIndex(last)
        var beforeLast: RecordHeader?
        var newest: RecordHeader?
        var acknowledgedHash: Digest?
        try index.walk(byteCount: byteCount) { header in
            beforeLast = newest
            newest = header
            if header.number == acknowledged?.number { acknowledgedHash = header.hash }
        }
        if let header = index.last, try !LogScan.isWhole(index, header, byteCount, note, hash) {
            index.removeLast(beforeLast)
        }
        tail = try LogScan.tail(index, byteCount, acknowledged)
        if let header = index.last {
            head = header.head
        } else if firsts.count > 1 {
            let before = try LogScan.before(folder, firsts, last)
            self.before = before
            head = before.last?.head
        } else {
            head = base
        }
        guard let acknowledged else { return }
        let number = head?.number ?? 0
        if number < acknowledged.number {
            throw LogError(
                .corrupt,
                "the log went back in time: block \(acknowledged.number) was acknowledged, as the head file "
                    + "beside it says, but \(folder) ends with block \(number) in segment file \(last.path)")
        }
        if acknowledged.number == last.header.first - 1 { acknowledgedHash = last.header.previous }
        if let acknowledgedHash, acknowledgedHash != acknowledged.hash {
            throw last.corrupt(
                acknowledged.number, "it is not the block that was acknowledged, as the head file beside the log says")
        }
    }

    /// The last record must be whole: its body may be torn while its header is not.
    private static func isWhole(
        _ index: SegmentIndex, _ header: RecordHeader, _ byteCount: Int, _ note: RedactionNote?, _ hash: HashFunction
    ) throws(LogError) -> Bool {
        var window = ReadWindow(index.segment, stepBytes: 0, end: byteCount)
        do {
            switch try index.segment.record(at: index.offset(of: header.number), &window, hash) {
            case .whole: return true
            case .noHeader, .bodyDamaged: return false
            case .redactableDamaged:
                // A redaction of it was interrupted, and will be finished.
                return note?.number == header.number && note?.recordChecksum == header.checksum
            }
        } catch {
            throw index.segment.unread(header.number, error)
        }
    }

    /// Tells what is behind the last whole record: nothing, a torn record, which was not acknowledged, or damage.
    private static func tail(
        _ index: SegmentIndex, _ byteCount: Int, _ acknowledged: LogHead?
    ) throws(LogError) -> Tail {
        let segment = index.segment
        let rest: [UInt8]
        do {
            rest = try segment.disk.readAll(segment.file, at: index.end, byteCount: max(0, byteCount - index.end))
        } catch {
            throw segment.unread(index.next, error)
        }
        if rest.allSatisfy({ $0 == 0 }) { return .zeros }
        // A record is written only after the one before it is durable, so one behind this one says that this one was
        // whole: whatever its number and its format are. The torn record's own header is where this one begins.
        let behind = rest.withUnsafeBytes { rest in
            stride(
                from: LogFormat.alignment, to: rest.count - RecordHeader.byteCount + 1, by: LogFormat.alignment
            ).lazy.compactMap {
                RecordHeader(
                    rest.bytes(at: $0, count: RecordHeader.byteCount), segmentChecksum: segment.header.checksum,
                    offset: index.end + $0)
            }.first
        }
        if let behind {
            throw segment.corrupt(index.next, "it is damaged; the record of block \(behind.number) stands behind it")
        }
        if let acknowledged, acknowledged.number >= index.next {
            throw segment.corrupt(
                index.next, "it is damaged; that it was acknowledged is what the head file beside the log says")
        }
        return .torn
    }

    /// The segment before the last one, whose end must be what the last one continues.
    private static func before(
        _ folder: String, _ firsts: [BlockNumber], _ last: SegmentFile
    ) throws(LogError) -> SegmentIndex {
        let first = firsts[firsts.count - 2]
        let path = folder + "/" + SegmentFile.name(first)
        let segment = try SegmentFile.open(last.disk, path, first: first, last.header.identity, .reading)
        var index = SegmentIndex(segment)
        try index.walk(to: last.header.first, byteCount: try segment.byteCount())
        guard index.next == last.header.first else { throw segment.corrupt(index.next, "it is damaged or missing") }
        guard index.headHash == last.header.previous else {
            throw segment.corrupt(index.next - 1, "segment file \(last.path) does not continue it")
        }
        return index
    }
}
