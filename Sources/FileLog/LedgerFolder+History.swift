package import Ledger

/// The file in a ledger's folder that says up to which time Apple's notification history was carried out. A ledger that
/// is restored, or made by a standby, has none: then all of the history is read that Apple still has.
extension LedgerFolder {
    private static let timeBytesMax = 32

    package var historyMark: String { path + "/app-store.history" }

    /// The time, in milliseconds since the UNIX epoch; `nil` where there is no such file, or it holds none.
    package func historyPosition(_ disk: any Disk = SystemDisk()) throws -> Timestamp? {
        try line(of: historyMark, bytesMax: LedgerFolder.timeBytesMax, disk).flatMap { Timestamp($0) }
    }

    /// Durable when it returns.
    package func noteHistoryPosition(_ time: Timestamp, _ disk: any Disk = SystemDisk()) throws {
        try write("\(time)", to: historyMark, disk)
    }
}
