/// The file in a ledger's folder that says that what is erased in the log and what its blocks say that is may differ:
/// the next start reads the log for that. It is empty.
extension LedgerFolder {
    package var namesMark: String { path + "/names.unproven" }

    package func isNamesMarkSet(_ disk: any Disk = SystemDisk()) throws -> Bool {
        try disk.statusIfThere(at: namesMark) != nil
    }

    /// Durable when it returns.
    package func setNamesMark(_ disk: any Disk = SystemDisk()) throws {
        let file = OwnedFile(disk, try disk.open(namesMark, .writingOrCreating))
        try disk.sync(file.file)
        try disk.syncDirectory(path)
    }

    package func clearNamesMark(_ disk: any Disk = SystemDisk()) throws {
        try disk.removeIfThere(namesMark)
        try disk.syncDirectory(path)
    }
}
