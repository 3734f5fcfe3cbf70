import Ledger

/// An archive, as it is found: which blocks its segment files have.
struct ArchivedLog {
    let folder: LedgerFolder
    private let identity: Digest
    /// The block before its first one; `nil` where it begins with block 1.
    let base: LogHead?
    /// Its last block.
    let head: LogHead
    /// The first blocks of its segments, ascending; none is behind ``head``.
    let firsts: [BlockNumber]

    /// Its first block.
    var first: BlockNumber { (base?.number ?? 0) + 1 }

    /// - Throws: ``LogError`` where there is none, or what is there is no whole archive of this ledger.
    init(_ disk: any Disk, _ folder: LedgerFolder, _ identity: Digest) throws(LogError) {
        (self.folder, self.identity) = (folder, identity)
        do {
            guard try disk.statusIfThere(at: folder.path) != nil else {
                throw LogError(.unknown, "there is no archive at \(folder.path)")
            }
        } catch let error as LogError {
            throw error
        } catch {
            throw LogError(.unknown, "looking for the archive \(folder.path): \(error)")
        }
        guard let head = try HeadFile.content(disk, folder.headFile, identity).acknowledged else {
            throw LogError(.corrupt, "the archive \(folder.path) has no head file that names its last block")
        }
        let base = try LogBase.read(disk, folder.log, identity)
        // What an interrupted run left behind the head is not the archive's yet.
        firsts = try LogScan.listed(disk, folder.log).filter { $0 > base?.number ?? 0 && $0 <= head.number }
        (self.base, self.head) = (base, head)
        guard firsts.first == first else {
            throw LogError(
                .corrupt, "segment file \(folder.log)/\(SegmentFile.name(first)) of the archive is missing")
        }
    }

    func has(_ number: BlockNumber) -> Bool { first <= number && number <= head.number }

    /// The hash of the last block of a segment, as what comes after it says.
    /// - Parameter end: the block after that.
    func hash(before end: BlockNumber, _ disk: any Disk) throws(LogError) -> Digest {
        if end > head.number { return head.hash }
        let path = folder.log + "/" + SegmentFile.name(end)
        return try SegmentFile.open(disk, path, first: end, identity, .reading).header.previous
    }

    /// Whether the archive has this block, as the last one of a segment: segments are moved whole.
    func endsSegment(with block: LogHead, _ disk: any Disk) -> Bool {
        if block.number == head.number { return block == head }
        guard has(block.number), firsts.contains(block.number + 1) else { return false }
        return (try? hash(before: block.number + 1, disk)) == block.hash
    }

    /// The segment that has a block of the archive.
    /// - Returns: its first block, and the one with which the next segment begins, here or elsewhere.
    func segment(of number: BlockNumber) -> (first: BlockNumber, end: BlockNumber) {
        let after = firsts.firstIndex { $0 > number } ?? firsts.count
        return (firsts[after - 1], after < firsts.count ? firsts[after] : head.number + 1)
    }
}

extension [ArchivedLog] {
    /// Whether they can be parts of one chain that ends before a log: those that border on each other, and the last one
    /// on the log, have the same block there.
    /// - Throws: ``LogError`` `corrupt`, which names two that have not.
    func checkChain(before base: LogHead, of folder: String) throws(LogError) {
        for archive in self {
            for next in self where next.base?.number == archive.head.number && next.base != archive.head {
                throw LogError(
                    .corrupt, "the archive \(next.folder.path) does not continue the archive \(archive.folder.path)")
            }
            if archive.head.number == base.number, archive.head != base {
                throw LogError(.corrupt, "the log \(folder) does not continue the archive \(archive.folder.path)")
            }
        }
    }

    /// Those of which the blocks are of the chain that goes on behind `base`: each has the block that comes before the
    /// next one's first, or the log's. Another ledger's have not, however long they are.
    func linked(to base: LogHead, _ disk: any Disk) -> [ArchivedLog] {
        var linked: [ArchivedLog] = []
        var end: LogHead? = base
        while let block = end, let archive = first(where: { $0.endsSegment(with: block, disk) }) {
            linked.append(archive)
            end = archive.base
        }
        return linked.reversed()
    }

    /// From which block on all blocks up to the base of a log are in them.
    func firstBlock(before base: LogHead) -> (first: BlockNumber, base: LogHead?) {
        var begin = (first: base.number + 1, base: LogHead?.some(base))
        while let archive = first(where: { $0.first < begin.first && $0.head.number >= begin.first - 1 }) {
            begin = (archive.first, archive.base)
        }
        return begin
    }
}
