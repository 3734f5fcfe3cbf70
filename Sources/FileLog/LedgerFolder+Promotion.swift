/// The file in a ledger's folder that says that a standby was promoted, and whom it followed until then: a restart with
/// the same configuration does not make it a standby again.
extension LedgerFolder {
    private static let leaderBytesMax = 4_096

    private var promotionMark: String { path + "/promoted" }

    /// Whom the ledger followed when it was promoted; `nil` where it was not.
    package func promotedFrom(_ disk: any Disk = SystemDisk()) throws -> String? {
        try line(of: promotionMark, bytesMax: LedgerFolder.leaderBytesMax, disk)
    }

    /// Notes, durably when it returns, that the ledger was promoted.
    /// - Parameter leader: whom it followed.
    /// - Throws: ``DiskError``; then the file is not there, as far as the disk still does what it is told.
    package func notePromotion(from leader: String, _ disk: any Disk = SystemDisk()) throws {
        do {
            try write(leader, to: promotionMark, disk)
        } catch {
            // Whoever asked is told that the ledger follows still, and so it must after a restart.
            try? disk.removeIfThere(promotionMark)
            throw error
        }
    }

    /// The ledger follows again.
    package func forgetPromotion(_ disk: any Disk = SystemDisk()) throws {
        try disk.removeIfThere(promotionMark)
        try disk.syncDirectory(path)
    }
}
