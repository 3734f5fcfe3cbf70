import Ledger

/// What an archive's segment files are: the blocks of each, the hash of its last one, and the SHA-256 of its bytes. It
/// is a text that `sha256sum --check` reads (docs: FileLog.md, "An archive").
struct ArchiveManifest: Hashable {
    struct Entry: Hashable {
        var first: BlockNumber
        var last: BlockNumber
        /// The last block's.
        var hash: Digest
        /// Of the file's bytes.
        var digest: Digest
    }

    static let name = "manifest"
    private static let title = "# currency-ledger archive 1"

    /// In the order of their blocks, each going on where the one before ends.
    var entries: [Entry] = []

    var text: String {
        entries.reduce(ArchiveManifest.title + "\n") { text, entry in
            text + """
                # blocks \(entry.first) to \(entry.last), the last one \(entry.hash.hexadecimal)
                \(entry.digest.hexadecimal)  log/\(SegmentFile.name(entry.first))

                """
        }
    }

    init() {}

    /// `nil` where the text is not, byte by byte, what ``text`` gives.
    init?(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count >= 2, lines.count.isMultiple(of: 2) else { return nil }
        for index in stride(from: 1, to: lines.count - 1, by: 2) {
            // "# blocks 1 to 9, the last one 0123…"
            let words = lines[index].split(separator: " ")
            guard words.count == 9, let first = BlockNumber(words[2]), let last = BlockNumber(words[4].dropLast()),
                first > 0, first <= last, let hash = Digest(hexadecimal: String(words[8])),
                let digest = Digest(hexadecimal: String(lines[index + 1].prefix(2 * Digest.byteCount)))
            else { return nil }
            if let before = entries.last, before.last + 1 != first { return nil }
            entries.append(Entry(first: first, last: last, hash: hash, digest: digest))
        }
        guard Array(self.text.utf8) == Array(text.utf8) else { return nil }
    }

    /// - Returns: `nil` where there is none.
    /// - Throws: ``LogError`` `corrupt`, or `unknown` where it cannot be read now.
    static func read(_ disk: any Disk, _ archive: LedgerFolder) throws(LogError) -> ArchiveManifest? {
        let path = archive.manifest
        let bytes: [UInt8]
        do {
            guard let status = try disk.statusIfThere(at: path) else { return nil }
            guard status.kind == .file else { throw LogError(.corrupt, "the manifest \(path) is no file") }
            let file = OwnedFile(disk, try disk.open(path, .reading))
            bytes = try disk.readAll(file.file, at: 0, byteCount: status.byteCount)
        } catch let error as LogError {
            throw error
        } catch {
            throw LogError(.unknown, "reading the manifest \(path): \(error)")
        }
        guard let manifest = ArchiveManifest(String(decoding: bytes, as: UTF8.self)) else {
            throw LogError(.corrupt, "the manifest \(path) is damaged")
        }
        return manifest
    }

    /// Durable when it returns: the manifest that was there, or this one.
    func write(_ disk: any Disk, _ archive: LedgerFolder) throws(DiskError) {
        let temporary = archive.manifest + ".new"
        try disk.removeIfThere(temporary)
        let file = OwnedFile(disk, try disk.open(temporary, .creating))
        try disk.writeAll(file.file, Array(text.utf8), at: 0)
        try disk.sync(file.file)
        try disk.rename(temporary, to: archive.manifest)
        try disk.syncDirectory(archive.path)
    }

    /// Notes the blocks of a file anew, in place of what was noted of them.
    mutating func put(_ entry: Entry) {
        entries.removeAll { $0.first == entry.first }
        let place = entries.firstIndex { $0.first > entry.first } ?? entries.endIndex
        entries.insert(entry, at: place)
    }

    /// The SHA-256 of a file's bytes.
    static func digest(_ disk: any Disk, _ path: String, _ hash: HashFunction) throws(DiskError) -> Digest {
        let file = OwnedFile(disk, try disk.open(path, .reading))
        let count = try disk.status(file.file).byteCount
        return Digest(of: try disk.readAll(file.file, at: 0, byteCount: count), hash)
    }
}

extension LedgerFolder {
    /// Of an archive; a ledger has none.
    package var manifest: String { path + "/" + ArchiveManifest.name }

    /// Whether this is an archive of a ledger, on which no service is started.
    package func isArchive(_ disk: any Disk = SystemDisk()) throws -> Bool {
        try disk.statusIfThere(at: manifest) != nil
    }
}
