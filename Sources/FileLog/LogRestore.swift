package import Ledger

/// Makes a ledger of a backup: all of the backup is checked first, then a whole ledger is made beside the one that it
/// replaces, and takes its place in one step (docs: Backup.md).
///
/// What holds at every moment, whatever ends a run:
/// 1. At the ledger's path is the old ledger or the new one, whole. Only on a file system that cannot exchange two
///    folders there may be neither: whoever opens it is then told that a restore was interrupted, and the old one
///    stands beside it.
/// 2. The old ledger is not changed and not removed; it stands beside the new one at the end.
/// 3. No service has the old ledger open, and none can open it before the new one is in its place.
package struct LogRestore {
    /// What is restored.
    package enum Source: Hashable, Sendable {
        /// Made by ``LogBackup``: everything in it must be whole.
        case backup
        /// The files of a ledger, copied by another program while a service wrote them. Everything up to the block that
        /// the head file names must be whole; what is behind it is left out.
        case copy
    }

    /// What a run did.
    package struct Summary: Hashable, Sendable {
        /// The first block of the new ledger, and its last one.
        package var first: BlockNumber
        package var head: LogHead
        /// Where the old ledger is now; `nil` where there was none.
        package var replaced: String?
    }

    /// What is being done, for a progress bar.
    package enum Phase: Hashable, Sendable {
        case checking
        case writing
        case verifying
    }

    let backup: LedgerFolder
    let ledger: LedgerFolder
    let source: Source
    let lostFrom: BlockNumber?
    let hash: HashFunction
    let disk: any Disk

    /// - Parameter lostFrom: the first of the ledger's blocks that may be lost, because the backup has not the same;
    ///   `nil` where none may.
    package init(
        of ledger: LedgerFolder, from backup: LedgerFolder, source: Source = .backup, lostFrom: BlockNumber? = nil,
        hash: @escaping HashFunction, disk: any Disk = SystemDisk()
    ) {
        self.backup = backup
        self.ledger = ledger
        self.source = source
        self.lostFrom = lostFrom
        self.hash = hash
        self.disk = disk
    }

    /// - Parameters:
    ///   - progress: told up to which block of which it is.
    ///   - tell: told each damage of the backup.
    /// - Throws: ``LogError``, which names what is wrong; nothing was changed then, but for a folder that was begun.
    package func run(
        progress: (Phase, _ done: BlockNumber, _ of: BlockNumber) -> Void, tell: (String) -> Void
    ) throws -> Summary {
        try backup.check(disk)
        let old = try oldLedger()
        let content = try check(against: old, progress: { progress(.checking, $0, $1) }, tell: tell)
        let (first, head) = ((content.base?.number ?? 0) + 1, content.head)
        guard let old else {
            try LedgerFolder.create(at: ledger.path, disk: disk, mayFollowRestore: true) {
                try make($0, content, progress)
            }
            return Summary(first: first, head: head)
        }
        let replaced = try ledger.replace(disk) { path in
            try make(path, content, progress)
            // A standby that was promoted leads on: whom it followed may have another past by now.
            if let leader = try ledger.promotedMark.read(disk) {
                try LedgerFolder(path).promotedMark.write(leader, disk)
            }
        }
        withExtendedLifetime(old) {}
        return Summary(first: first, head: head, replaced: replaced)
    }

    /// What a new ledger has.
    private struct Content {
        /// The block before its first one.
        var base: LogHead?
        var head: LogHead
        var identity: Digest
        /// The blocks with which segments begin.
        var firsts: Set<BlockNumber>
    }

    /// Makes the new ledger, and reads every byte of it.
    private func make(
        _ path: String, _ content: Content, _ progress: (Phase, BlockNumber, BlockNumber) -> Void
    ) throws {
        let new = LedgerFolder(path)
        let last = content.head.number
        try write(new, content) { progress(.writing, $0, last) }
        let inspection = try LogInspection(
            folder: new.log, headFile: new.headFile, hash: hash, mode: .asIfUnwritten, disk: disk)
        let end = try inspection.checkedEnd { progress(.verifying, $0, last) }
        guard end == content.head else {
            throw LogError(.corrupt, "the new ledger ends with block \(end?.number ?? 0), not \(last)")
        }
    }

    /// The lock of the ledger that is to be replaced; `nil` where there is none.
    private func oldLedger() throws -> OwnedFile? {
        do {
            guard let status = try disk.statusIfThere(at: ledger.path) else { return nil }
            if status.kind == .directory {
                if try disk.list(ledger.path).isEmpty { return nil }
                guard try !disk.status(at: backup.path).isSameFile(as: status) else {
                    throw LogError(.unknown, "\(backup.path) is the ledger itself")
                }
            }
        } catch let error as DiskError {
            throw LogError(.unknown, "looking for a ledger at \(ledger.path): \(error)")
        }
        try ledger.check(disk)
        guard let lock = try FileLog.lock(disk, ledger.log) else {
            throw LogError(.unknown, "\(ledger.path) is on a file system that is read-only")
        }
        return lock
    }

    // MARK: - Checking

    /// Reads all of the backup, and what there is of the old ledger beside it.
    private func check(
        against old: OwnedFile?, progress: (BlockNumber, BlockNumber) -> Void, tell: (String) -> Void
    ) throws -> Content {
        if source == .backup, FileLog.isWritten(disk, backup.log) {
            throw LogError(.superseded, "\(backup.path) is open for writing in another process: a backup, or a service")
        }
        let firsts = Set(try LogScan.listed(disk, backup.log))
        let inspection = try inspection()
        guard let identity = inspection.identity else {
            throw LogError(.corrupt, "nothing in \(backup.path) says which ledger it is of")
        }
        guard source == .backup || inspection.head != nil else {
            throw LogError(
                .unknown,
                "the head file \(backup.headFile) names no block: only with it, copied before the log, is it known "
                    + "which blocks a copy has whole")
        }
        var comparison = try old.map { _ in try Comparison(ledger, identity, hash, disk) }
        var last: LogHead?
        var faults = 0
        while let step = inspection.next() {
            switch step {
            case .damage(let words, _):
                faults += 1
                tell(words)
            case .block(let block):
                last = block.head
                comparison?.compare(block)
                progress(block.number, inspection.head?.number ?? block.number)
            }
        }
        guard faults == 0 else {
            throw LogError(
                .corrupt, "\(backup.path) is damaged (\(faults) times, named before); nothing was restored from it")
        }
        guard let last else { throw LogError(.unknown, "\(backup.path) has no blocks") }
        if let lost = comparison?.lost(behind: last) { try allow(lost) }
        return Content(base: inspection.base, head: last, identity: identity, firsts: firsts)
    }

    private func inspection() throws(LogError) -> LogInspection {
        try LogInspection(
            folder: backup.log, headFile: backup.headFile, hash: hash,
            mode: source == .copy ? .asIfWritten : .asFound, disk: disk)
    }

    private func allow(_ lost: ClosedRange<BlockNumber>) throws(LogError) {
        guard lostFrom != lost.lowerBound else { return }
        let words = lost.count == 1 ? "block \(lost.lowerBound)" : "blocks \(lost.lowerBound) to \(lost.upperBound)"
        throw LogError(
            .superseded,
            "\(ledger.path) has \(words), which \(backup.path) has not: what was answered for them would be lost. "
                + "Where that is meant, say so: --lose-from \(lost.lowerBound)")
    }

    /// The old ledger beside the backup, block by block: it may be damaged in any way.
    private struct Comparison {
        private let inspection: LogInspection
        private var next: SealedBlock?
        private var last: BlockNumber
        private var different: BlockNumber?

        init(_ ledger: LedgerFolder, _ identity: Digest, _ hash: @escaping HashFunction, _ disk: any Disk) throws {
            inspection = try LogInspection(
                folder: ledger.log, headFile: ledger.headFile, hash: hash, mode: .asIfUnwritten, disk: disk)
            if let owner = inspection.identity, owner != identity {
                throw LogError(
                    .superseded,
                    "\(ledger.path) is another ledger than the backup's: its bundle id or environment differs")
            }
            last = inspection.head?.number ?? 0
            advance()
        }

        /// Goes to the next block that can be read.
        private mutating func advance() {
            next = nil
            while let step = inspection.next() {
                guard case .block(let block) = step else { continue }
                next = block
                last = max(last, block.number)
                return
            }
        }

        mutating func compare(_ block: SealedBlock) {
            while let mine = next, mine.number < block.number { advance() }
            guard let mine = next, mine.number == block.number else { return }
            if mine.hash != block.hash, different == nil { different = block.number }
            advance()
        }

        /// The blocks that the old ledger has, or is known to have had, and the backup has not.
        mutating func lost(behind end: LogHead) -> ClosedRange<BlockNumber>? {
            while next != nil { advance() }
            let first = min(different ?? end.number + 1, end.number + 1)
            return first <= last ? first...last : nil
        }
    }

    // MARK: - Writing

    /// Writes a log with the backup's blocks, in segments that begin where the backup's do: so the next backup goes on
    /// with the one that this was made from.
    private func write(
        _ new: LedgerFolder, _ content: Content, _ progress: (BlockNumber) -> Void
    ) throws {
        let (head, identity) = (content.head, content.identity)
        do {
            try disk.makeDirectory(new.log)
            disk.close(try disk.open(new.log + "/" + FileLog.lockName, .creating))
        } catch { throw LogError(.unknown, "making the log \(new.log): \(error)") }
        let inspection = try inspection()
        let first = (content.base?.number ?? 0) + 1
        var image = SegmentImage(first: first, identity: identity, previous: content.base?.hash ?? .zero)
        var last: LogHead?
        while last != head, let step = inspection.next() {
            guard case .block(let block) = step else { throw changed() }
            if block.number > first, content.firsts.contains(block.number) {
                _ = try image.place(in: new.log, disk)
                image = SegmentImage(first: block.number, identity: identity, previous: block.previous)
            }
            image.append(block)
            last = block.head
            progress(block.number)
        }
        guard last == head else { throw changed() }
        _ = try image.place(in: new.log, disk)
        do {
            if let base = content.base { try LogBase.write(disk, new.log, base, identity) }
            try HeadFile.replace(disk, new.headFile, head, identity)
        } catch { throw LogError(.unknown, "writing the base and head files of \(new.path): \(error)") }
    }

    private func changed() -> LogError {
        LogError(.corrupt, "\(backup.path) was changed while it was restored")
    }
}
