import Ledger
import Synchronization

/// Which blocks are durable, and where they stand: what the writer tells the readers.
///
/// Another process may archive segments meanwhile. That it did is noticed where a segment's file is missed, or where a
/// block is to be changed: then the base file beside the segments is read again.
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
        /// The last block that was archived.
        var base: LogHead?
        /// The first blocks of the segments, ascending.
        var firsts: [BlockNumber]
        /// The segment that is written to.
        var current: SegmentIndex
        /// Those of other segments, the one that was used last at the end.
        var others: [SegmentIndex]
        /// What the archives have; `nil` where they were not looked at since something was archived.
        var archives: [ArchivedLog]?
    }

    let folder: String
    let disk: any Disk
    let identity: Digest
    /// Where blocks are read that are not in the folder any more.
    private let archiveFolders: [LedgerFolder]
    private let state: Mutex<State>

    init(_ folder: String, _ disk: any Disk, _ identity: Digest, _ scan: LogScan, archives: [LedgerFolder]) {
        self.folder = folder
        self.disk = disk
        self.identity = identity
        archiveFolders = archives
        state = Mutex(
            State(
                head: scan.head, base: scan.base, firsts: scan.firsts, current: scan.index,
                others: scan.before.map { [$0] } ?? []))
    }

    var head: LogHead? { state.withLock { $0.head } }

    /// The last block that was archived, as far as that is known here.
    var base: LogHead? { state.withLock { $0.base } }

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
    /// - Throws: ``LogError``; `archived` where the block is in an archive that cannot be read here.
    func place(of number: BlockNumber) throws(LogError) -> Place? {
        do throws(LogError) {
            return try placeNow(of: number)
        } catch {
            guard error.kind == .corrupt, try noticeArchiving() else { throw error }
            return try placeNow(of: number)
        }
    }

    private func placeNow(of number: BlockNumber) throws(LogError) -> Place? {
        enum Found {
            case none
            case place(Place)
            case unread(first: BlockNumber, end: BlockNumber, LogHead)
            case archived(base: LogHead)
        }
        let found: Found = state.withLock { state in
            guard number > 0, let head = state.head, number <= head.number else { return .none }
            if number >= state.current.segment.header.first { return .place(state.current.place(of: number, head)) }
            let isIn = { (index: SegmentIndex) in index.segment.header.first <= number && number < index.next }
            if let index = state.others.firstIndex(where: isIn) {
                let other = state.others.remove(at: index)
                state.others.append(other)
                return .place(other.place(of: number, head))
            }
            if let base = state.base, number <= base.number { return .archived(base: base) }
            let after = state.firsts.firstIndex { $0 > number } ?? state.firsts.count
            return .unread(first: state.firsts[after - 1], end: state.firsts[after], head)
        }
        switch found {
        case .none: return nil
        case .place(let place): return place
        case .unread(let first, let end, let head):
            let index = try readIndex(folder, first, end)
            if let base, first == base.number + 1, index.segment.header.previous != base.hash {
                throw index.segment.corrupt(first, "it does not continue the block that the base file names")
            }
            state.withLock { SegmentCatalog.keep(index, in: &$0.others) }
            return index.place(of: number, head)
        case .archived(let base):
            let archive = try archive(of: number, before: base)
            let (first, end) = archive.segment(of: number)
            let index = try readIndex(archive.folder.log, first, end)
            guard try index.headHash == archive.hash(before: end, disk) else {
                throw index.segment.corrupt(end - 1, "what follows in the chain does not continue it")
            }
            state.withLock { SegmentCatalog.keep(index, in: &$0.others) }
            return index.place(of: number, base)
        }
    }

    /// Reads where the blocks from `first` up to the one before `end` stand.
    private func readIndex(
        _ folder: String, _ first: BlockNumber, _ end: BlockNumber
    ) throws(LogError) -> SegmentIndex {
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

    // MARK: - Archives

    /// Looks whether segments were archived since, and forgets the files that had them.
    /// - Returns: whether any were.
    @discardableResult
    func noticeArchiving() throws(LogError) -> Bool {
        guard let base = try LogBase.read(disk, folder, identity) else { return false }
        return try state.withLock { (state) throws(LogError) in
            if state.base == base { return false }
            guard base.number > state.base?.number ?? 0, base.number < state.current.segment.header.first else {
                throw LogError(.corrupt, "the base file \(LogBase.path(folder)) names block \(base.number)")
            }
            state.base = base
            state.firsts.removeAll { $0 <= base.number }
            state.others.removeAll { $0.segment.header.first <= base.number }
            state.archives = nil
            return true
        }
    }

    /// The archive that has a block.
    func archive(of number: BlockNumber, before base: LogHead) throws(LogError) -> ArchivedLog {
        let (archives, faults) = try archives(before: base)
        if let archive = archives.first(where: { $0.has(number) }) { return archive }
        let place = LedgerFolder(LedgerFolder(folder).parent).archivedTo(number, disk)
        let words =
            "block \(number) is not in \(folder) any more: the blocks up to \(base.number) were archived, this one to "
            + "\(place ?? "a folder that is not noted"); name the archives' folders, as the page Archive says"
        throw LogError(.archived, ([words] + faults).joined(separator: "; "))
    }

    /// From which block on all can be read, and the block before that; `nil` before block 1.
    func beginning() -> (first: BlockNumber, base: LogHead?) {
        guard let base else { return (1, nil) }
        do { return try archives(before: base).archives.firstBlock(before: base) } catch {
            // Whoever reads what is in them is told the reason.
            return (base.number + 1, base)
        }
    }

    /// The first blocks of all segments that can be read, here and in archives.
    func allFirsts() throws(LogError) -> Set<BlockNumber> {
        let own = Set(state.withLock { $0.firsts })
        guard let base else { return own }
        return try archives(before: base).archives.reduce(into: own) { $0.formUnion($1.firsts) }
    }

    /// - Returns: the archives that can be read, and of the others in words why they cannot.
    private func archives(before base: LogHead) throws(LogError) -> (archives: [ArchivedLog], faults: [String]) {
        if let archives = state.withLock({ $0.archives }) { return (archives, []) }
        var archives: [ArchivedLog] = []
        var faults: [String] = []
        for folder in archiveFolders {
            do throws(LogError) {
                archives.append(try ArchivedLog(disk, folder, identity))
            } catch {
                faults.append("\(error)")
            }
        }
        archives.sort { $0.first < $1.first }
        try archives.checkChain(before: base, of: folder)
        let linked = archives.linked(to: base, disk)
        for other in archives
        where !linked.contains(where: { $0.first <= other.first && other.head.number <= $0.head.number }) {
            faults.append("the archive \(other.folder.path) is not of the chain that \(folder) continues")
        }
        archives = linked
        // Whatever is wrong with one may have been mended when it is asked for next.
        if faults.isEmpty { state.withLock { [archives] in $0.archives = archives } }
        return (archives, faults)
    }
}

extension SegmentIndex {
    fileprivate func place(of number: BlockNumber, _ head: LogHead) -> SegmentCatalog.Place {
        SegmentCatalog.Place(
            segment: segment, offset: offset(of: number), end: end, last: min(next - 1, head.number))
    }
}
