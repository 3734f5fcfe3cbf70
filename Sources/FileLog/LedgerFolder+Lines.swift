/// Files in a ledger's folder that have one line.
extension LedgerFolder {
    /// The first line of a file; `nil` where it is not there.
    func line(of file: String, bytesMax: Int, _ disk: any Disk) throws -> String? {
        guard try disk.statusIfThere(at: file) != nil else { return nil }
        let opened = OwnedFile(disk, try disk.open(file, .reading))
        let bytes = try disk.readAll(opened.file, at: 0, byteCount: bytesMax)
        return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
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
