import Ledger

/// Files in a ledger's folder that have one line.
extension LedgerFolder {
    /// The first line of a file; `nil` where it is not there.
    /// - Throws: ``LogError``
    func line(of file: String, bytesMax: Int, _ disk: any Disk) throws(LogError) -> String? {
        do {
            guard let status = try disk.statusIfThere(at: file) else { return nil }
            guard status.kind == .file else {
                throw LogError(.unknown, "\(file) is \(status.kind.words), not a file; it is left as it is")
            }
            let opened = OwnedFile(disk, try disk.open(file, .reading))
            let bytes = try disk.readAll(opened.file, at: 0, byteCount: bytesMax)
            return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        } catch let error as LogError {
            throw error
        } catch {
            throw LogError(.unknown, "reading \(file): \(error)")
        }
    }

    /// Makes a file of one line, or puts it in another's place in one step. Durable when it returns.
    func write(_ line: String, to file: String, _ disk: any Disk) throws {
        let temporary = file + ".new"
        try disk.removeIfThere(temporary)
        let made = OwnedFile(disk, try disk.open(temporary, .creating))
        try disk.writeAll(made.file, Array((line + "\n").utf8), at: 0)
        try disk.sync(made.file)
        try disk.rename(temporary, to: file)
        try disk.syncDirectory(path)
    }
}
