package import Ledger

/// The last block before those that a log has: the blocks up to it were archived. It stands in the log's folder, in a
/// file of the head file's form (docs: FileLog.md, "A log that begins later").
enum LogBase {
    static let name = "base"

    static func path(_ folder: String) -> String { folder + "/" + name }

    /// - Parameters:
    ///   - folder: the log's own.
    ///   - identity: whose ledger it must be; `nil` where that is not known.
    /// - Returns: `nil` where the log begins with block 1.
    /// - Throws: ``LogError`` `corrupt` where the file is damaged or another ledger's, `unknown` where nobody can say
    ///   now whether it is there.
    static func read(_ disk: any Disk, _ folder: String, _ identity: Digest?) throws(LogError) -> LogHead? {
        let path = path(folder)
        do {
            guard try disk.statusIfThere(at: path) != nil else { return nil }
        } catch {
            throw LogError(.unknown, "looking for the base file \(path): \(error)")
        }
        let findings = HeadFile.Findings(readingOnce: disk, path, name: "the base file \(path)")
        if let fault = (findings.faults + findings.tornSlots).first { throw LogError(.corrupt, fault) }
        guard findings.heads.count == 2, findings.heads[0].head.number == 0, findings.heads[1].head.number > 0 else {
            throw LogError(.corrupt, "the base file \(path) is damaged: it names no block")
        }
        guard findings.heads.allSatisfy({ $0.identity == identity ?? $0.identity }) else {
            throw LogError(
                .corrupt, "the base file \(path) belongs to another ledger: its bundle id or environment differs")
        }
        return findings.heads[1].head
    }

    /// Durable when it returns: the file that was there, or this one.
    static func write(_ disk: any Disk, _ folder: String, _ base: LogHead, _ identity: Digest) throws(DiskError) {
        try HeadFile.replace(disk, path(folder), base, identity)
        try disk.syncDirectory(folder)
    }
}

extension LogInspection {
    /// Whether blocks of a ledger were archived.
    /// - Throws: ``LogError``
    package static func beginsLater(_ ledger: LedgerFolder, _ disk: any Disk = SystemDisk()) throws(LogError) -> Bool {
        try LogBase.read(disk, ledger.log, nil) != nil
    }
}
