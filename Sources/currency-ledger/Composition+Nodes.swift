import FileLog
import Foundation
import Ledger
import Logging

#if Postgres
import PostgresLog
#endif

/// A ledger whose log several nodes have in common.
extension Composition {
    /// Opens the log, makes the folder of this node's own tables where there is none, and locks that.
    /// - Parameter create: whether the log is made where there is none.
    /// - Throws: `LogError` for a log that cannot be opened, and for a folder that another process uses; ``FileError``
    ///   for one that cannot be made.
    static func openSharedLog(
        _ settings: LedgerSettings, _ node: LedgerSettings.Node, create: Bool, logger: Logger
    ) throws -> (log: any SharedLog, lock: FolderLock) {
        #if Postgres
        let configuration = PostgresLogConfiguration(
            uri: node.log, schema: node.schema, node: node.name, address: node.address.description,
            right: node.leads ? .leading : .reading, weight: node.weight, leaseMilliseconds: node.leaseMilliseconds,
            requireSynchronousStandby: node.requiresSynchronousStandby)
        let identity = Digest(of: ledger(settings), sha256)
        if create, try !PostgresLog.isThere(configuration) {
            do throws(LogError) {
                try PostgresLog.create(configuration, identity: identity)
                logger.notice("made a new ledger", metadata: ["schema": "\(node.schema)"])
            } catch {
                // Another node may have been quicker.
                guard try PostgresLog.isThere(configuration) else { throw error }
            }
        }
        let log = try PostgresLog.open(configuration, identity: identity, hash: sha256)
        do {
            try File.makeFolder(settings.path)
            return (log, try FolderLock(settings.path))
        } catch {
            log.close()
            throw error
        }
        #else
        preconditionFailure("such a configuration was refused")
        #endif
    }
}
