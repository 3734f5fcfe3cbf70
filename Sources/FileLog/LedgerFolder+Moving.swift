/// The file in a ledger's folder that says that the ledger was moved away from there, and where it is: no service is
/// started on what is left of it.
extension LedgerFolder {
    private static let placeBytesMax = 4_096

    private var movedMark: String { path + "/moved" }

    /// Where the ledger is; `nil` where it is here.
    package func movedTo(_ disk: any Disk = SystemDisk()) throws -> String? {
        try line(of: movedMark, bytesMax: LedgerFolder.placeBytesMax, disk)
    }

    /// Notes, durably when it returns, where the ledger is from now on.
    package func note(movedTo place: String, _ disk: any Disk = SystemDisk()) throws {
        try write(place, to: movedMark, disk)
    }

    /// The ledger is here again.
    package func forgetMoving(_ disk: any Disk = SystemDisk()) throws {
        try disk.removeIfThere(movedMark)
        try disk.syncDirectory(path)
    }
}
