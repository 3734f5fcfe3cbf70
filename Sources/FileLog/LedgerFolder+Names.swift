/// The file in a ledger's folder that says that what is erased in the log and what its blocks say that is may differ:
/// the next start reads the log for that. It has a word that says why, or is empty.
extension LedgerFolder {
    private static let wordBytesMax = 64

    package var namesMark: String { path + "/names.unproven" }

    /// The word; `nil` where there is no such file.
    package func namesMarkWord(_ disk: any Disk = SystemDisk()) throws -> String? {
        try line(of: namesMark, bytesMax: LedgerFolder.wordBytesMax, disk)
    }

    /// Durable when it returns.
    /// - Throws: ``DiskError``; then the file is as it was, or as it was to be.
    package func setNamesMark(_ word: String, _ disk: any Disk = SystemDisk()) throws {
        try write(word, to: namesMark, disk)
    }

    package func clearNamesMark(_ disk: any Disk = SystemDisk()) throws {
        try disk.removeIfThere(namesMark)
        try disk.syncDirectory(path)
    }
}
