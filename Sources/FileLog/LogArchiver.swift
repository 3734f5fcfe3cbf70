package import Ledger

/// Puts the oldest segments of a log into an archive, beside its writer or without one (docs: Archive.md).
///
/// What holds at every moment, whatever ends a run:
/// 1. Each block is in the log's folder, or in the archive, or in both. A segment's file is removed only after the
///    archive's was written, synced, read again and compared, and after the archive's manifest and head and then the
///    log's base file name it, each durably.
/// 2. What the base file says was archived is not looked at in the log's folder any more, whether or not it was
///    removed.
/// 3. While a segment is copied, and until it is removed, no name is erased in it: the lock of the redaction's note
///    says so to the writer.
/// 4. The archive goes on where it ended: its blocks and the log's are one chain.
package struct LogArchiver {
    /// A segment that can be archived.
    package struct Segment: Hashable, Sendable {
        package var first: BlockNumber
        package var last: BlockNumber
        /// Of its file.
        package var bytes: Int
    }

    /// What a run did.
    package struct Summary: Hashable, Sendable {
        package var segments: [Segment] = []
        /// The archive's first and last block; `nil` where there is none.
        package var first: BlockNumber = 1
        package var head: LogHead?
    }

    let ledger: LedgerFolder
    let archive: LedgerFolder
    let hash: HashFunction
    let disk: any Disk

    package init(
        of ledger: LedgerFolder, to archive: LedgerFolder, hash: @escaping HashFunction, disk: any Disk = SystemDisk()
    ) {
        self.ledger = ledger
        self.archive = archive
        self.hash = hash
        self.disk = disk
    }

    /// What a run would archive: whole segments from the first one on, without the newest ones
    /// (``FileLogLimits/segmentsKept``).
    /// - Parameter mayGo: asked of each segment's last block, in their order; the first `false` is the end.
    /// - Throws: ``LogError``, and what `mayGo` throws.
    package func plan(_ mayGo: (SealedBlock) throws -> Bool) throws -> [Segment] {
        try ledger.check(disk)
        return try plan(openLog(identity()), mayGo)
    }

    private func plan(_ log: FileLog, _ mayGo: (SealedBlock) throws -> Bool) throws -> [Segment] {
        let firsts = try LogScan.firsts(disk, ledger.log, behind: log.catalog.base)
        var segments: [Segment] = []
        for (first, next) in zip(firsts, firsts.dropFirst()).prefix(max(0, firsts.count - FileLogLimits.segmentsKept)) {
            guard let last = try log.read(after: next - 2, bytesMax: 0).first, last.number == next - 1 else { break }
            guard try mayGo(last) else { break }
            segments.append(Segment(first: first, last: last.number, bytes: try byteCount(of: first)))
        }
        return segments
    }

    private func byteCount(of first: BlockNumber) throws(LogError) -> Int {
        let path = ledger.log + "/" + SegmentFile.name(first)
        do { return try disk.status(at: path).byteCount } catch {
            throw LogError(.unknown, "asking for the size of segment file \(path): \(error)")
        }
    }

    private func identity() throws(LogError) -> Digest {
        guard let identity = try LogInspection.identity(disk, ledger.log) else {
            throw LogError(.corrupt, "no segment file of \(ledger.log) says whose ledger it is")
        }
        return identity
    }

    private func openLog(_ identity: Digest) throws(LogError) -> FileLog {
        try FileLog.openForReading(
            folder: ledger.log, headFile: ledger.headFile, identity: identity, hash: hash, disk: disk)
    }

    /// - Parameters:
    ///   - mayGo: as of ``plan(_:)``.
    ///   - progress: told up to which block of which it is.
    /// - Throws: ``LogError``, which names what is wrong, and what `mayGo` throws; what was archived until then is.
    package func run(
        _ mayGo: (SealedBlock) throws -> Bool, progress: (_ done: BlockNumber, _ of: BlockNumber) -> Void
    ) throws -> Summary {
        try ledger.check(disk)
        let identity = try identity()
        try archive.checkIsOutside(ledger, as: "an archive", disk)
        let log = try openLog(identity)
        let segments = try plan(log, mayGo)
        var summary = Summary()
        if try segments.isEmpty && !hasHead() { return summary }
        try makeFolders(log, identity)
        // No other run, no backup and no service has the archive meanwhile.
        guard let lock = try FileLog.lock(disk, archive.log) else {
            throw LogError(.unknown, "\(archive.path) is on a file system that is read-only")
        }
        try checkIsContinued(log, identity)
        try removeLeftovers(log)
        for segment in segments {
            progress(segment.first - 1, segments[segments.count - 1].last)
            try move(segment, identity)
            summary.segments.append(segment)
        }
        let found = try ArchivedLog(disk, archive, identity)
        (summary.first, summary.head) = (found.first, found.head)
        withExtendedLifetime(lock) {}
        return summary
    }

    // MARK: - The archive's folder

    /// Whether something was archived there.
    private func hasHead() throws(LogError) -> Bool {
        do { return try disk.statusIfThere(at: archive.headFile) != nil } catch {
            throw LogError(.unknown, "looking for the archive \(archive.path): \(error)")
        }
    }

    private func makeFolders(_ log: FileLog, _ identity: Digest) throws {
        do {
            if let there = try disk.statusIfThere(at: archive.path) {
                guard there.kind == .directory else {
                    throw LogError(.unknown, "\(archive.path) is no folder; an archive is one")
                }
            } else {
                try disk.makeDirectory(archive.path)
                try disk.syncDirectory(archive.parent)
            }
            if try disk.statusIfThere(at: archive.log) == nil {
                guard try disk.list(archive.path).isEmpty else {
                    throw LogError(
                        .unknown, "\(archive.path) has other things in it; an archive has a folder of its own")
                }
                try disk.makeDirectory(archive.log)
                try disk.syncDirectory(archive.path)
            } else if try !disk.list(archive.log).allSatisfy({ $0 == FileLog.lockName || $0 == LogBase.name }),
                try !archive.isArchive(disk), try disk.statusIfThere(at: archive.headFile) != nil
            {
                throw LogError(.unknown, "\(archive.path) is a ledger or a backup; an archive has a folder of its own")
            }
        } catch let error as LogError {
            throw error
        } catch {
            throw LogError(.unknown, "making the archive \(archive.path): \(error)")
        }
    }

    /// The archive must end where the log begins, or have a part of what the log has still; a new one begins there.
    private func checkIsContinued(_ log: FileLog, _ identity: Digest) throws {
        let base = log.catalog.base
        guard try hasHead() else {
            do {
                if let base { try LogBase.write(disk, archive.log, base, identity) }
            } catch {
                throw LogError(.unknown, "writing \(LogBase.path(archive.log)): \(error)")
            }
            return
        }
        let found = try ArchivedLog(disk, archive, identity)
        let end = found.head
        let archived = base?.number ?? 0
        var isSame = end == base
        if end.number > archived { isSame = try log.hash(of: end.number) == end.hash }
        guard isSame, found.first <= archived + 1 else {
            throw LogError(
                .superseded,
                "\(archive.path) ends with block \(end.number), and does not go on with block "
                    + "\(archived + 1), with which \(ledger.path) begins; archive to a new folder")
        }
    }

    /// What the base file says was archived: whoever archived it was ended before it was removed.
    private func removeLeftovers(_ log: FileLog) throws(LogError) {
        guard let base = log.catalog.base else { return }
        try whileNothingIsErased { () throws(DiskError) in
            try FileLog.removeArchived(disk, ledger.log, through: base.number)
        }
    }

    // MARK: - A segment

    /// Has no name erased anywhere in the log while `body` is carried out.
    private func whileNothingIsErased(_ body: () throws(DiskError) -> Void) throws(LogError) {
        do {
            guard let lock = try RedactionNote.lock(disk, ledger.log) else {
                throw LogError(.unknown, "a name is being erased in \(ledger.log); run this again")
            }
            if case .none = try RedactionNote.content(disk, ledger.log + "/" + RedactionNote.name) {
                try body()
            } else {
                throw LogError(
                    .unknown,
                    "erasing a name in \(ledger.log) was interrupted; the next start of the service finishes it")
            }
            withExtendedLifetime(lock) {}
        } catch let error as LogError {
            throw error
        } catch {
            throw LogError(.unknown, "archiving \(ledger.log): \(error)")
        }
    }

    private func move(_ segment: Segment, _ identity: Digest) throws {
        var fault: LogError?
        try whileNothingIsErased { () throws(DiskError) in
            do throws(LogError) {
                let head = try copy(segment, identity)
                do {
                    try note(segment, head, identity)
                    try HeadFile.replace(disk, archive.headFile, head, identity)
                    try disk.syncDirectory(archive.path)
                    try ledger.note(
                        segment.first...segment.last, archivedTo: archive.log + "/" + SegmentFile.name(segment.first),
                        disk)
                    // From here on the archive's blocks count.
                    try LogBase.write(disk, ledger.log, head, identity)
                    try FileLog.removeArchived(disk, ledger.log, through: segment.last)
                } catch let error as LogError {
                    throw error
                } catch {
                    throw LogError(
                        .unknown, "archiving blocks \(segment.first) to \(segment.last) to \(archive.path): \(error)")
                }
            } catch {
                fault = error
            }
        }
        if let fault { throw fault }
    }

    /// Makes the archive's file of a segment, of blocks that were all checked.
    /// - Returns: its last block.
    private func copy(_ segment: Segment, _ identity: Digest) throws(LogError) -> LogHead {
        let log = try openLog(identity)
        guard let place = try log.catalog.place(of: segment.first), place.segment.header.first == segment.first,
            place.last == segment.last
        else {
            throw LogError(
                .corrupt, "\(ledger.log) does not have blocks \(segment.first) to \(segment.last) in one segment")
        }
        var image = SegmentImage(first: segment.first, identity: identity, previous: place.segment.header.previous)
        var head: LogHead?
        while (head?.number ?? 0) < segment.last {
            let after = head?.number ?? segment.first - 1
            for block in try log.read(after: after, bytesMax: FileLogLimits.copyBytes)
            where block.number <= segment.last {
                guard block.previous == head?.hash ?? place.segment.header.previous else {
                    throw place.segment.corrupt(block.number, "it does not continue the block before it")
                }
                image.append(block)
                head = block.head
            }
        }
        guard let head else { preconditionFailure("a segment that is archived has blocks") }
        _ = try image.place(in: archive.log, disk)
        return head
    }

    private func note(_ segment: Segment, _ head: LogHead, _ identity: Digest) throws {
        let path = archive.log + "/" + SegmentFile.name(segment.first)
        var manifest = try ArchiveManifest.read(disk, archive) ?? ArchiveManifest()
        // What an interrupted run noted, of a segment that then was not archived as it is now.
        manifest.entries.removeAll { $0.first > segment.first }
        manifest.put(
            .init(
                first: segment.first, last: segment.last, hash: head.hash,
                digest: try ArchiveManifest.digest(disk, path, hash)))
        try manifest.write(disk, archive)
    }
}
