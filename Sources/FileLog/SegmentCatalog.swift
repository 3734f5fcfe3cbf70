import Ledger
import Synchronization

/// Which blocks are durable, and where they stand: what the writer tells the readers.
final class SegmentCatalog: Sendable {
    /// Where a block's record begins, and how far its segment can be read.
    struct Place {
        var segment: SegmentFile
        var offset: Int
        /// Behind the segment's last durable record.
        var end: Int
        /// The segment's last durable block.
        var last: BlockNumber
    }

    private struct State {
        var head: LogHead?
        /// The first blocks of the segments, ascending.
        var firsts: [BlockNumber]
        /// The segment that is written to.
        var current: SegmentIndex
        /// Those of other segments, the one that was used last at the end.
        var others: [SegmentIndex]
    }

    let folder: String
    private let disk: any Disk
    private let identity: Digest
    private let state: Mutex<State>

    init(_ folder: String, _ disk: any Disk, _ identity: Digest, _ scan: LogScan) {
        self.folder = folder
        self.disk = disk
        self.identity = identity
        state = Mutex(
            State(
                head: scan.head, firsts: scan.firsts, current: scan.index,
                others: scan.before.map { [$0] } ?? []))
    }

    var head: LogHead? { state.withLock { $0.head } }

    /// Hides the blocks after `head`: of a log that another process writes to, those are not known to be durable.
    func limit(to head: LogHead?) { state.withLock { $0.head = head } }

    /// To be called when the block is durable.
    func append(_ header: RecordHeader) {
        state.withLock { state in
            state.current.append(header)
            state.head = header.head
        }
    }

    /// `segment`, which has no record yet, is written to from now on.
    func begin(_ segment: SegmentFile) {
        state.withLock { state in
            SegmentCatalog.keep(state.current, in: &state.others)
            state.firsts.append(segment.header.first)
            state.current = SegmentIndex(segment)
        }
    }

    /// `nil` for a block that is not there or not durable yet.
    func place(of number: BlockNumber) throws(LogError) -> Place? {
        enum Found {
            case none
            case place(Place)
            case unread(first: BlockNumber, end: BlockNumber, LogHead)
        }
        let found: Found = state.withLock { state in
            guard number > 0, let head = state.head, number <= head.number else { return .none }
            if number >= state.current.segment.header.first { return .place(state.current.place(of: number, head)) }
            let after = state.firsts.firstIndex { $0 > number } ?? state.firsts.count
            let first = state.firsts[after - 1]
            if let index = state.others.firstIndex(where: { $0.segment.header.first == first }) {
                let other = state.others.remove(at: index)
                state.others.append(other)
                return .place(other.place(of: number, head))
            }
            return .unread(first: first, end: state.firsts[after], head)
        }
        switch found {
        case .none: return nil
        case .place(let place): return place
        case .unread(let first, let end, let head):
            let index = try readIndex(first, end)
            state.withLock { SegmentCatalog.keep(index, in: &$0.others) }
            return index.place(of: number, head)
        }
    }

    /// Reads where the blocks from `first` up to the one before `end` stand.
    private func readIndex(_ first: BlockNumber, _ end: BlockNumber) throws(LogError) -> SegmentIndex {
        let path = folder + "/" + SegmentFile.name(first)
        let segment = try SegmentFile.open(disk, path, first: first, identity, .reading)
        var index = SegmentIndex(segment)
        try index.walk(to: end, byteCount: try segment.byteCount())
        guard index.next == end else { throw segment.corrupt(index.next, "its header is damaged or missing") }
        return index
    }

    private static func keep(_ index: SegmentIndex, in others: inout [SegmentIndex]) {
        others.removeAll { $0.segment.header.first == index.segment.header.first }
        others.append(index)
        if others.count > FileLogLimits.indexesMax { others.removeFirst() }
    }
}

extension SegmentIndex {
    fileprivate func place(of number: BlockNumber, _ head: LogHead) -> SegmentCatalog.Place {
        SegmentCatalog.Place(
            segment: segment, offset: offset(of: number), end: end, last: min(next - 1, head.number))
    }
}
