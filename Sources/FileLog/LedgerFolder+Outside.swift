import Ledger

extension LedgerFolder {
    /// What is made of a ledger and stood within the ledger's own folder would be lost with it, and be taken for a part
    /// of it.
    /// - Parameter what: what this folder is to be, in words.
    /// - Throws: ``LogError`` where it is within the ledger's.
    func checkIsOutside(_ ledger: LedgerFolder, as what: String, _ disk: any Disk) throws(LogError) {
        do {
            let own = try disk.status(at: ledger.path)
            var path = path
            var below: FileStatus?
            while true {
                guard let there = try disk.statusIfThere(at: path) else {
                    let above = LedgerFolder(path).parent
                    if above == path { return }
                    path = above
                    continue
                }
                // The root is its own parent. What is no folder is refused where this one is made.
                if there.kind != .directory || below.map(there.isSameFile) == true { return }
                if there.isSameFile(as: own), path != self.path {
                    throw LogError(
                        .unknown,
                        "\(self.path) is within the ledger \(ledger.path); \(what) has a folder of its own, elsewhere")
                }
                below = there
                path += "/.."
            }
        } catch let error as LogError {
            throw error
        } catch {
            throw LogError(.unknown, "looking where \(self.path) is: \(error)")
        }
    }
}
