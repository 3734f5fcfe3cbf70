package import Ledger

/// Brings a backup of a log up to date: a folder with the same segments, of blocks that were all read and checked, and
/// a head file (docs: Backup.md).
///
/// What holds at every moment, whatever ends a run:
/// 1. The backup is a log whose chain is a beginning of the ledger's, at least as long as after the last run that
///    ended well. Segments are put in place one by one, in the order of their blocks, each whole and durable before
///    it gets its name and before the next one gets its own.
/// 2. Nothing is written where the backup is not one of this ledger, or has blocks that the ledger has not.
/// 3. Only blocks that were found whole are written. Where the ledger has a damaged one, the run ends, and what the
///    backup has of it stays.
///
/// The ledger is only read, beside its writer or without one.
package struct LogBackup {
    /// What a run did.
    package struct Summary: Hashable, Sendable {
        /// The first block of the backup.
        package var first: BlockNumber = 1
        /// The last block of the backup.
        package var head: LogHead
        package var segments = 0
        /// Segments that were new, or in which something differed.
        package var written = 0
        package var writtenBytes = 0
        /// What is not as it should be of the ledger's head file, in words. Where that was torn, the block that was
        /// acknowledged last may not be in the backup of a ledger that is being written.
        package var headFaults: [String] = []
    }

    /// What is being done, for a progress bar.
    package enum Phase: Hashable, Sendable {
        case copying
        case verifying
    }

    let ledger: LedgerFolder
    let backup: LedgerFolder
    let archives: [LedgerFolder]
    let hash: HashFunction
    let disk: any Disk

    /// - Parameter archives: where blocks are that were archived: they come into the backup too. Without them it begins
    ///   where the log does.
    package init(
        of ledger: LedgerFolder, in backup: LedgerFolder, archives: [LedgerFolder] = [], hash: @escaping HashFunction,
        disk: any Disk = SystemDisk()
    ) {
        self.ledger = ledger
        self.backup = backup
        self.archives = archives
        self.hash = hash
        self.disk = disk
    }

    /// - Parameter progress: told up to which block of which it is.
    /// - Throws: ``LogError``, which names what is wrong: with the ledger, the backup, or the disk.
    package func run(
        progress: (Phase, _ done: BlockNumber, _ of: BlockNumber) -> Void
    ) throws(LogError) -> Summary {
        try ledger.check(disk)
        var before = Summary(head: LogHead(number: 0, term: 0, hash: .zero))
        for run in 1... {
            let (summary, isErased) = try runOnce(after: before, isLast: run == FileLogLimits.backupRunsMax, progress)
            if !isErased {
                var whole = summary
                whole.headFaults = headFaults()
                return whole
            }
            before = summary
        }
        preconditionFailure("the last run is the last")
    }

    /// What is not as it should be of the ledger's head file. Beside a writer that says where the ledger ends.
    private func headFaults() -> [String] {
        let findings = HeadFile.Findings(disk, ledger.headFile)
        return findings.faults + findings.tornSlots
    }

    /// Whether the ledger has blocks behind `head` that erase names.
    private func isErasedSince(_ head: LogHead, _ identity: Digest) throws(LogError) -> Bool {
        let log = try FileLog.openForReading(
            folder: ledger.log, headFile: ledger.headFile, identity: identity, hash: hash, disk: disk)
        var next = head.number
        while true {
            let blocks = try log.read(after: next, bytesMax: FileLogLimits.copyBytes)
            guard let last = blocks.last else { return false }
            next = last.number
            for block in blocks {
                // What cannot be opened is the next run's to name, or an audit's.
                if let rows = try? Block(opening: block, checks: .bodyOnly).rows, !rows.erasures.isEmpty { return true }
            }
        }
    }

    /// - Parameters:
    ///   - before: what was written already.
    ///   - isLast: whether the backup is good also where names were erased meanwhile.
    /// - Returns: whether names were erased meanwhile: they are not in the blocks that were copied, and the blocks that
    ///   erase them came behind these. Then nothing is verified yet.
    private func runOnce(
        after before: Summary, isLast: Bool, _ progress: (Phase, _ done: BlockNumber, _ of: BlockNumber) -> Void
    ) throws(LogError) -> (Summary, isErased: Bool) {
        guard let identity = try LogInspection.identity(disk, ledger.log) else {
            throw LogError(.corrupt, "no segment file of \(ledger.log) says whose ledger it is")
        }
        let log = try FileLog.openForReading(
            folder: ledger.log, headFile: ledger.headFile, identity: identity, hash: hash, archives: archives,
            disk: disk)
        guard let head = log.head else { throw LogError(.unknown, "\(ledger.path) has no blocks yet") }
        try syncEnd(log, head)
        try backup.checkIsOutside(ledger, as: "a backup", disk)
        try makeFolders()
        // No other run, no restore and no service has the backup meanwhile.
        guard let lock = try FileLog.lock(disk, backup.log) else {
            throw LogError(.unknown, "\(backup.path) is on a file system that is read-only")
        }
        try checkIsContinued(by: log, head, identity)
        let begin = log.catalog.beginning()
        try beginBackup(behind: begin.base, identity)
        var summary = Summary(
            first: begin.first, head: head, written: before.written, writtenBytes: before.writtenBytes)
        try copy(log, behind: begin.base, identity, &summary) { progress(.copying, $0, head.number) }
        try finish(head, behind: begin.base, identity)
        if !isLast, try isErasedSince(head, identity) { return (summary, true) }
        try verify(head, identity) { progress(.verifying, $0, head.number) }
        withExtendedLifetime(lock) {}
        return (summary, false)
    }

    /// Without a writer, the page cache may show a last block that the disk has not: it must not come into the backup
    /// and then be lost here.
    private func syncEnd(_ log: FileLog, _ head: LogHead) throws(LogError) {
        guard let segment = try log.catalog.place(of: head.number)?.segment else { return }
        do { try disk.sync(segment.file) } catch {
            throw LogError(.unknown, "syncing segment file \(segment.path): \(error)")
        }
    }

    private func makeFolders() throws(LogError) {
        do {
            if let there = try disk.statusIfThere(at: backup.path) {
                guard there.kind == .directory else {
                    throw LogError(.unknown, "\(backup.path) is no folder; a backup is one")
                }
            } else {
                try disk.makeDirectory(backup.path)
                try disk.syncDirectory(backup.parent)
            }
            if let there = try disk.statusIfThere(at: backup.log) {
                guard there.kind == .directory else { throw LogError(.unknown, "\(backup.log) is no folder") }
                guard try !disk.status(at: ledger.log).isSameFile(as: there) else {
                    throw LogError(.unknown, "\(backup.path) is the ledger itself; a backup has a folder of its own")
                }
            } else {
                guard try disk.list(backup.path).isEmpty else {
                    throw LogError(
                        .unknown, "\(backup.path) has other things in it; a backup has a folder of its own")
                }
                try disk.makeDirectory(backup.log)
                try disk.syncDirectory(backup.path)
            }
        } catch let error as LogError {
            throw error
        } catch {
            throw LogError(.unknown, "making the backup \(backup.path): \(error)")
        }
    }

    // MARK: - Before anything is written

    /// Everything that is known of the backup must be of this ledger's chain.
    private func checkIsContinued(by log: FileLog, _ head: LogHead, _ identity: Digest) throws(LogError) {
        let firsts = try LogScan.listed(disk, backup.log)
        for path in firsts.map({ backup.log + "/" + SegmentFile.name($0) }) + [backup.headFile] {
            try checkIsFile(path)
        }
        let findings = HeadFile.Findings(disk, backup.headFile)
        if firsts.isEmpty && findings.heads.isEmpty { return }
        let owner = try LogInspection.identity(disk, backup.log) ?? findings.heads.first?.identity
        guard let owner else {
            throw LogError(.corrupt, "nothing in \(backup.path) says which ledger's backup it is")
        }
        guard owner == identity, findings.heads.allSatisfy({ $0.identity == identity }) else {
            throw LogError(
                .superseded,
                "\(backup.path) is the backup of another ledger than \(ledger.path): its bundle id or environment "
                    + "differs")
        }
        var known = findings.heads.map(\.head)
        let other = try ends(of: identity, &known)
        for end in known where end.number > 0 {
            guard end.number <= head.number else {
                let words =
                    "\(backup.path) is ahead of \(ledger.path): it has block \(end.number), and the ledger ends with "
                    + "block \(head.number)"
                throw LogError(.superseded, ([words] + headFaults()).joined(separator: "; "))
            }
            if try log.hash(of: end.number) == end.hash { continue }
            let words = try other.map { (other) throws(LogError) in try parting(of: log, other, before: end.number) }
            throw LogError(
                .superseded,
                "\(backup.path) is of another past than \(ledger.path): "
                    + (words ?? "they have different blocks \(end.number)"))
        }
        let begun = try log.catalog.allFirsts()
        if let other = firsts.first(where: { !begun.contains($0) }) {
            let isArchived = log.catalog.base.map { other <= $0.number } ?? false
            throw LogError(
                .superseded,
                "\(backup.path) has a segment file that begins with block \(other), and \(ledger.path) has not"
                    + (isArchived ? ", for it was archived; name the archive, or make" : "; make")
                    + " the backup in a new folder")
        }
    }

    /// What is no file is nothing that a run may put a file in the place of.
    private func checkIsFile(_ path: String) throws(LogError) {
        let status: FileStatus?
        do { status = try disk.statusIfThere(at: path) } catch {
            throw LogError(.unknown, "looking at \(path): \(error)")
        }
        guard let status, status.kind != .file else { return }
        throw LogError(
            .unknown,
            "\(path) is \(status.kind.words), not a file of a backup; it is left as it is: move it away, and run the "
                + "backup again")
    }

    /// Adds what the backup's log ends with, as far as it can be read, and gives that log where it is whole.
    private func ends(of identity: Digest, _ known: inout [LogHead]) throws(LogError) -> FileLog? {
        do {
            let other = try FileLog.openOnceForReading(
                disk, backup.log, backup.headFile, identity, hash, isWritten: false, notice: nil)
            if let end = other.head { known.append(end) }
            return other
        } catch  where error.kind == .corrupt {
            // It is mended from the ledger, if what is left of it is of this ledger.
            let inspection = try inspection()
            var last: LogHead?
            while let step = inspection.next() { if case .block(let block) = step { last = block.head } }
            if let last { known.append(last) }
            return nil
        }
    }

    /// Says where two chains part that have different blocks `end`.
    private func parting(of log: FileLog, _ other: FileLog, before end: BlockNumber) throws(LogError) -> String {
        var (common, different) = (BlockNumber(0), end)
        while different - common > 1 {
            let middle = common + (different - common) / 2
            if try log.hash(of: middle) == other.hash(of: middle) { common = middle } else { different = middle }
        }
        return "from block \(different) on they have different blocks"
    }

    // MARK: - Copying

    /// A new backup of a log whose first blocks were archived says so, before it has a segment.
    private func beginBackup(behind base: LogHead?, _ identity: Digest) throws(LogError) {
        guard let base, try LogScan.listed(disk, backup.log).isEmpty else { return }
        do { try LogBase.write(disk, backup.log, base, identity) } catch {
            throw LogError(.unknown, "writing the base file \(LogBase.path(backup.log)): \(error)")
        }
    }

    private func copy(
        _ log: FileLog, behind base: LogHead?, _ identity: Digest, _ summary: inout Summary,
        _ progress: (BlockNumber) -> Void
    ) throws(LogError) {
        var next = (base?.number ?? 0) + 1
        var previous = base?.hash ?? .zero
        while next <= summary.head.number, let place = try log.catalog.place(of: next) {
            guard place.segment.header.previous == previous else {
                throw place.segment.corrupt(next, "its segment does not continue the one before")
            }
            var image = SegmentImage(first: next, identity: identity, previous: previous)
            while next <= place.last {
                for block in try log.read(after: next - 1, bytesMax: FileLogLimits.copyBytes)
                where block.number <= place.last {
                    image.append(block)
                    previous = block.hash
                    next = block.number + 1
                }
                progress(next - 1)
            }
            summary.segments += 1
            if try image.place(in: backup.log, disk) {
                summary.written += 1
                summary.writtenBytes += image.bytes.count
            }
        }
        guard previous == summary.head.hash else {
            throw LogError(.corrupt, "\(ledger.log) does not end with block \(summary.head.number), as it did before")
        }
    }

    /// Puts the head in, and takes out what a backup has not.
    private func finish(_ head: LogHead, behind base: LogHead?, _ identity: Digest) throws(LogError) {
        do {
            // A backup that began later has the blocks before that by now, where their archive was named.
            if let base {
                try LogBase.write(disk, backup.log, base, identity)
            } else {
                try disk.removeIfThere(LogBase.path(backup.log))
            }
            // A plain copy may have a note, which has names of its time.
            try disk.removeIfThere(backup.log + "/" + RedactionNote.name)
            for name in try disk.list(backup.log) where name.hasSuffix(SegmentFile.temporarySuffix) {
                try disk.remove(backup.log + "/" + name)
            }
            try disk.syncDirectory(backup.log)
            try HeadFile.replace(disk, backup.headFile, head, identity)
            try disk.syncDirectory(backup.path)
        } catch {
            throw LogError(.unknown, "finishing the backup \(backup.path): \(error)")
        }
    }

    private func inspection() throws(LogError) -> LogInspection {
        try LogInspection(
            folder: backup.log, headFile: backup.headFile, hash: hash, mode: .asIfUnwritten, disk: disk)
    }

    /// Reads every byte of the backup.
    private func verify(
        _ head: LogHead, _ identity: Digest, _ progress: (BlockNumber) -> Void
    ) throws(LogError) {
        let end = try inspection().checkedEnd(progress)
        guard end == head else {
            throw LogError(
                .corrupt,
                "\(backup.path) ends with block \(end?.number ?? 0), and not with block \(head.number) as it should")
        }
    }
}

extension LogInspection {
    /// Goes to the end.
    /// - Returns: the last block.
    /// - Throws: ``LogError`` `corrupt` at the first damage.
    func checkedEnd(_ progress: (BlockNumber) -> Void) throws(LogError) -> LogHead? {
        var last: LogHead?
        while let step = next() {
            switch step {
            case .damage(let words, _): throw LogError(.corrupt, words)
            case .block(let block):
                last = block.head
                progress(block.number)
            }
        }
        return last
    }
}

extension FileLog {
    /// The hash of a block; `nil` where the log has no such block.
    func hash(of number: BlockNumber) throws(LogError) -> Digest? {
        try read(after: number - 1, bytesMax: 0).first?.hash
    }
}
