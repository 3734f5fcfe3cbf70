import Ledger

extension LogWriter {
    /// The lock of the note's file: whoever archives a segment has it meanwhile, so that no name is erased in a file
    /// that was copied already. It ends when nobody has the file any more.
    /// - Throws: ``LogError`` `unknown` where another has it for longer than a segment takes.
    func lockedNote() throws(LogError) -> OwnedFile {
        let path = folder + "/" + RedactionNote.name
        do {
            if let lock = try RedactionNote.lock(disk, folder) { return lock }
        } catch {
            state = .inDoubt
            throw LogError(.unknown, "locking \(path): \(error)")
        }
        throw LogError(.unknown, "\(path) is locked by another process: segments of the log are being archived")
    }

    /// Writes a note of what is to be done, then does it, then erases the note; each durably.
    func redact(_ number: BlockNumber, _ redactable: [UInt8]) throws(LogError) {
        guard state != .inDoubt else {
            throw LogError(.notAppended, "block \(number) was not redacted: the log must be settled before")
        }
        let (segment, offset, header) = try catalog.writableRecord(number, current: segment)
        try removeArchived()
        guard header.redactableBytes == redactable.count else {
            throw LogError(
                .notAppended,
                "block \(number) was not redacted: its redactable part has \(header.redactableBytes) bytes, "
                    + "what is to stand there \(redactable.count)")
        }
        let note = RedactionNote(number: number, header, redactable)
        do {
            try note.write(disk, folder)
        } catch {
            state = .inDoubt
            throw LogError(
                .unknown, "noting that block \(number) is redacted, in \(folder)/\(RedactionNote.name): \(error)")
        }
        do {
            try note.carryOut(segment, header, at: offset)
            try noteRedacted(segment)
            try RedactionNote.erase(disk, folder)
        } catch {
            state = .inDoubt
            throw LogError(.unknown, "redacting block \(number) in segment file \(segment.path): \(error)")
        }
    }

    /// Finishes a redaction that was begun. Called when the log is opened, and when it is led after a failure.
    func finishRedaction() throws(LogError) {
        if case .none = try RedactionNote.content(disk, folder + "/" + RedactionNote.name) { return }
        let lock = try lockedNote()
        defer { withExtendedLifetime(lock) {} }
        do {
            switch try RedactionNote.content(disk, folder + "/" + RedactionNote.name) {
            case .none: return
            case .torn: break
            case .note(let note):
                guard note.number > 0, note.number <= head?.number ?? 0 else {
                    throw LogError(
                        .corrupt,
                        "the redaction noted in \(folder)/\(RedactionNote.name) is of block \(note.number); "
                            + "the log has no such block")
                }
                let (segment, offset, header) = try catalog.writableRecord(note.number, current: segment)
                guard header.checksum == note.recordChecksum, header.redactableBytes == note.redactable.count else {
                    throw segment.corrupt(note.number, "it is not the block whose redaction was begun")
                }
                // Once more, for the page cache may show a note that is not on the disk.
                try note.write(disk, folder)
                try note.carryOut(segment, header, at: offset)
                try noteRedacted(segment)
            }
            try RedactionNote.erase(disk, folder)
        } catch let error as LogError {
            throw error
        } catch {
            throw LogError(.unknown, "finishing the redaction noted in \(folder)/\(RedactionNote.name): \(error)")
        }
    }
}

extension LogWriter {
    /// Names may stand in files that were archived and not removed: whoever archived them was interrupted.
    private func removeArchived() throws(LogError) {
        guard let base = catalog.base else { return }
        do { try FileLog.removeArchived(disk, folder, through: base.number) } catch {
            throw LogError(.notAppended, "removing what was archived from \(folder): \(error)")
        }
    }

    /// An archive's manifest has its files' digests.
    private func noteRedacted(_ segment: SegmentFile) throws {
        let first = segment.header.first
        guard let base = catalog.base, first <= base.number else { return }
        let archive = try catalog.archive(of: first, before: base).folder
        guard var manifest = try ArchiveManifest.read(disk, archive),
            var entry = manifest.entries.first(where: { $0.first == first })
        else { return }
        entry.digest = try ArchiveManifest.digest(disk, segment.path, hash)
        manifest.put(entry)
        try manifest.write(disk, archive)
    }
}

extension SegmentCatalog {
    /// A block's record, in a file that can be written to.
    /// - Parameter current: the segment that is open for writing; another's file is opened anew where it is `nil`.
    func writableRecord(
        _ number: BlockNumber, current: SegmentFile?
    ) throws(LogError) -> (SegmentFile, offset: Int, RecordHeader) {
        // What is changed must not be a file that was archived, and that nobody finds any more.
        try noticeArchiving()
        guard let place = try place(of: number) else {
            throw LogError(.notAppended, "there is no block \(number) to redact")
        }
        var segment = place.segment
        if segment.path != current?.path {
            segment = try SegmentFile.open(
                segment.disk, segment.path, first: segment.header.first, segment.header.identity, .writing)
        }
        var window = ReadWindow(segment, stepBytes: 0, end: place.end)
        guard let header = try segment.recordHeader(number, at: place.offset, &window), header.number == number
        else { throw segment.corrupt(number, "its header is damaged") }
        return (segment, place.offset, header)
    }
}
