package import Ledger

extension FileLog {
    static let lockName = "lock"

    var notePath: String { catalog.folder + "/" + RedactionNote.name }

    /// Makes a log without blocks, and the head file beside it, durably, except for the entries in the folders above
    /// them.
    /// - Parameters:
    ///   - folder: the log's own, which must not be there yet.
    ///   - headFile: where the head's number and hash are kept, outside of the log.
    ///   - identity: whose ledger it is: SHA-256 of bundle id and environment.
    package static func create(
        folder: String, headFile: String, identity: Digest, configuration: FileLogConfiguration = .init(),
        disk: any Disk = SystemDisk()
    ) throws(LogError) {
        do {
            try disk.makeDirectory(folder)
            disk.close(try disk.open(folder + "/" + lockName, .creating))
            let path = folder + "/" + SegmentFile.name(1)
            let aheadEnd = LogWriter.firstAheadEnd(configuration)
            let (_, end) = try LogWriter.makeSegment(
                disk, path, first: 1, identity, previous: .zero, zerosTo: aheadEnd)
            guard end == aheadEnd else { throw DiskError.full }
            try disk.rename(path + SegmentFile.temporarySuffix, to: path)
            try HeadFile.create(disk, headFile, identity)
            try disk.syncDirectory(folder)
        } catch {
            throw LogError(.notAppended, "making the log \(folder): \(error)")
        }
    }

    /// Opens a log for its one writer; on a file system that is read-only, for reading.
    /// - Parameter archives: where blocks are that were archived. They are read there, and names in them erased.
    /// - Throws: ``LogError``: `superseded` where another has it open, `corrupt` where what is there is not what was
    ///   written, or is another ledger's, `unknown` where it cannot be read or written now.
    package static func open(
        folder: String, headFile: String, identity: Digest, hash: @escaping HashFunction,
        configuration: FileLogConfiguration = .init(), archives: [LedgerFolder] = [], disk: any Disk = SystemDisk()
    ) throws(LogError) -> FileLog {
        guard let lock = try lock(disk, folder) else {
            let notice = "the file system of \(folder) is read-only: what is durable is read, and nothing is written"
            return try openForReading(disk, folder, headFile, identity, hash, archives, notice: notice)
        }
        return try open(disk, folder, headFile, identity, hash, configuration, archives, lock)
    }

    /// Takes the lock of a log's one writer, until nobody has the file any more.
    /// - Returns: `nil` on a file system that is read-only.
    static func lock(_ disk: any Disk, _ folder: String) throws(LogError) -> OwnedFile? {
        let path = folder + "/" + lockName
        let file: OwnedFile
        let isLocked: Bool
        do {
            file = OwnedFile(disk, try disk.open(path, .writingOrCreating))
            let kind = try disk.status(file.file).kind
            guard kind == .file else { throw LogError(.corrupt, "the lock file \(path) is \(kind.words), not a file") }
        } catch let error as LogError {
            throw error
        } catch {
            if error as? DiskError == .readOnly { return nil }
            throw LogError(.unknown, "opening \(path) for writing: \(error)")
        }
        do { isLocked = try disk.lock(file.file) } catch { throw LogError(.unknown, "locking \(path): \(error)") }
        guard isLocked else { throw isOpenElsewhere(folder) }
        return file
    }

    private static func isOpenElsewhere(_ folder: String) -> LogError {
        LogError(.superseded, "\(folder) is open for writing in another process; a ledger has one writer")
    }

    private static func open(
        _ disk: any Disk, _ folder: String, _ headPath: String, _ identity: Digest, _ hash: @escaping HashFunction,
        _ configuration: FileLogConfiguration, _ archives: [LedgerFolder], _ lockFile: OwnedFile
    ) throws(LogError) -> FileLog {
        let content = try HeadFile.content(disk, headPath, identity)
        let note = try RedactionNote.content(disk, folder + "/" + RedactionNote.name)
        let base = try LogBase.read(disk, folder, identity)
        let (firsts, last) = try lockedSegments(disk, folder, behind: base, identity)
        var redaction: RedactionNote?
        if case .note(let begun) = note { redaction = begun }
        let scan = try LogScan(
            folder, firsts, behind: base, last, acknowledged: content.acknowledged, note: redaction, hash)
        var notices: [String] = []
        if content == .missing { notices.append("the head file \(headPath) was missing and is made anew") }
        if scan.tail == .torn {
            notices.append(
                "a block after block \(scan.head?.number ?? 0), which was never acknowledged, was cut off from "
                    + "segment file \(last.path)")
        }
        try writeTailAgain(scan)
        let catalog = SegmentCatalog(folder, disk, identity, scan, archives: archives)
        let head: HeadFile
        do {
            try removeTemporary(disk, folder)
            if let base { try removeArchived(disk, folder, through: base.number) }
            try disk.syncDirectory(folder)
            if content == .missing { try HeadFile.create(disk, headPath, identity) }
            // Also where it was there: who made it may have been killed before this, and a power cut would take it.
            try disk.syncDirectory(LedgerFolder(headPath).parent)
            head = try HeadFile(disk, headPath, identity)
        } catch {
            throw LogError(.unknown, "opening the log \(folder) and its head file \(headPath): \(error)")
        }
        let writer = LogWriter(disk, folder, identity, hash, configuration, catalog, scan, head, lockFile)
        if case .none = note {
        } else {
            notices.append("the redaction in \(folder)/\(RedactionNote.name) was interrupted, and is settled now")
            try writer.finishRedaction()
        }
        if let newest = scan.head, newest.number > content.acknowledged?.number ?? 0 { try head.store(newest) }
        return FileLog(disk, hash, catalog, notices, writer)
    }

    /// The segments, the last of them open for writing and locked: the lock file alone could be removed and made
    /// again.
    private static func lockedSegments(
        _ disk: any Disk, _ folder: String, behind base: LogHead?, _ identity: Digest
    ) throws(LogError) -> ([BlockNumber], SegmentFile) {
        let firsts = try LogScan.firsts(disk, folder, behind: base)
        let first = firsts[firsts.count - 1]
        let path = folder + "/" + SegmentFile.name(first)
        let last = try SegmentFile.open(disk, path, first: first, identity, .writing)
        let isLocked: Bool
        do { isLocked = try disk.lock(last.file) } catch { throw LogError(.unknown, "locking \(path): \(error)") }
        // The first ones may just be archived.
        guard isLocked, try LogScan.listed(disk, folder).last == first else { throw isOpenElsewhere(folder) }
        return (firsts, last)
    }

    /// Makes what was read of the tail true on the disk: a writer before this one may have ended between a write and
    /// its sync, or after a sync that failed; then the page cache shows what the disk does not have.
    private static func writeTailAgain(_ scan: LogScan) throws(LogError) {
        let segment = scan.index.segment
        let disk = segment.disk
        do {
            if let number = scan.index.last?.number {
                let start = scan.index.offset(of: number)
                let record = try disk.readAll(segment.file, at: start, byteCount: scan.index.end - start)
                try disk.writeAll(segment.file, record, at: start)
            }
            try disk.writeZeros(segment.file, from: scan.index.end, to: scan.byteCount)
            try disk.sync(segment.file)
        } catch {
            throw LogError(.unknown, "writing the tail of segment file \(segment.path) again: \(error)")
        }
    }

    /// Removes segments that were archived: whoever archived them was interrupted before this.
    static func removeArchived(
        _ disk: any Disk, _ folder: String, through last: BlockNumber
    ) throws(DiskError) {
        for name in try disk.list(folder) {
            if let first = SegmentFile.first(name), first <= last { try disk.removeIfThere(folder + "/" + name) }
        }
        try disk.syncDirectory(folder)
    }

    /// Removes segments whose making was interrupted.
    private static func removeTemporary(_ disk: any Disk, _ folder: String) throws(DiskError) {
        for name in try disk.list(folder) where name.hasSuffix(SegmentFile.temporarySuffix) {
            try disk.remove(folder + "/" + name)
        }
    }

    /// Opens a log for reading, also beside a writer: it then has the blocks that were acknowledged until now.
    ///
    /// Nothing is locked, written or repaired. To see blocks that were appended since, it is opened again.
    package static func openForReading(
        folder: String, headFile: String, identity: Digest, hash: @escaping HashFunction,
        archives: [LedgerFolder] = [], disk: any Disk = SystemDisk()
    ) throws(LogError) -> FileLog {
        try openForReading(disk, folder, headFile, identity, hash, archives, notice: nil)
    }

    /// - Parameter notice: why it cannot be written.
    private static func openForReading(
        _ disk: any Disk, _ folder: String, _ headFile: String, _ identity: Digest, _ hash: @escaping HashFunction,
        _ archives: [LedgerFolder], notice: String?
    ) throws(LogError) -> FileLog {
        var attempt = 1
        while true {
            do {
                let isWritten = isWritten(disk, folder)
                return try openOnceForReading(
                    disk, folder, headFile, identity, hash, archives, isWritten: isWritten, notice: notice)
            } catch {
                // Beside a writer, what was read first may not fit to what was read last.
                guard attempt < FileLogLimits.readingAttemptsMax, isWritten(disk, folder) else { throw error }
                attempt += 1
            }
        }
    }

    /// - Parameter isWritten: whether a writer may append meanwhile.
    static func openOnceForReading(
        _ disk: any Disk, _ folder: String, _ headPath: String, _ identity: Digest, _ hash: @escaping HashFunction,
        _ archives: [LedgerFolder] = [], isWritten: Bool, notice: String?
    ) throws(LogError) -> FileLog {
        let content = try HeadFile.content(disk, headPath, identity)
        var redaction: RedactionNote?
        if case .note(let begun) = try RedactionNote.content(disk, folder + "/" + RedactionNote.name) {
            redaction = begun
        }
        let base = try LogBase.read(disk, folder, identity)
        let firsts = try LogScan.firsts(disk, folder, behind: base)
        let first = firsts[firsts.count - 1]
        let last = try SegmentFile.open(
            disk, folder + "/" + SegmentFile.name(first), first: first, identity, .reading)
        let scan = try LogScan(
            folder, firsts, behind: base, last, acknowledged: content.acknowledged, note: redaction, hash)
        let catalog = SegmentCatalog(folder, disk, identity, scan, archives: archives)
        // A block that the writer has not acknowledged may be in the page cache only.
        if isWritten, case .head(let acknowledged) = content { catalog.limit(to: acknowledged) }
        let notices = notice.map { [$0] } ?? []
        return FileLog(disk, hash, catalog, notices, nil, unwritable: notice ?? "the log is open for reading only")
    }

    /// True where a writer has the log in `folder` open.
    package static func isWritten(folder: String) -> Bool { isWritten(SystemDisk(), folder) }

    static func isWritten(_ disk: any Disk, _ folder: String) -> Bool {
        do {
            let file = try disk.open(folder + "/" + lockName, .reading)
            defer { disk.close(file) }
            return try disk.isLocked(file)
        } catch {
            // Without a lock file there is no writer: each makes it.
            return false
        }
    }
}
