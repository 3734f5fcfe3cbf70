import Foundation
import GRDB
import GRDBSQLite
import Ledger
import Synchronization

/// A program that tries again and again to write into tables, until it has done it once.
final class Intruder: Sendable {
    /// How SQLite reaches files: another program has no checksums of pages.
    enum Kind: String {
        case heedsLocks = "unix"
        /// As on a file system whose locks do nothing.
        case heedsNoLocks = "no-locks"
    }

    private let queue: DatabaseQueue
    private let hasEnded = Atomic(false)
    private let tries = Atomic(0)
    private let done = DispatchSemaphore(value: 0)

    init(_ path: String, _ kind: Kind = .heedsLocks, _ write: @escaping @Sendable (Database) throws -> Void) throws {
        queue = try Intruder.connection(path, kind)
        Thread { [self] in
            while !hasEnded.load(ordering: .relaxed), (try? queue.inDatabase(write)) == nil {
                tries.add(1, ordering: .relaxed)
            }
            done.signal()
        }.start()
    }

    /// How often it could not.
    var failures: Int { tries.load(ordering: .relaxed) }

    /// Waits until it has written, or has it give up.
    func end(waits: Bool = false) throws {
        if !waits { hasEnded.store(true, ordering: .relaxed) }
        done.wait()
        try queue.inDatabase { if $0.isInsideTransaction { try $0.execute(sql: "ROLLBACK") } }
        try queue.close()
    }

    static func connection(_ path: String, _ kind: Kind) throws -> DatabaseQueue {
        if kind == .heedsNoLocks { _ = noLocks }
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        return try DatabaseQueue(path: "file:\(path)?vfs=\(kind.rawValue)", configuration: configuration)
    }

    // MARK: Files without locks

    private struct Layers: @unchecked Sendable {
        let unix: UnsafeMutablePointer<sqlite3_vfs>
        let methods: UnsafeMutablePointer<sqlite3_io_methods>
    }

    private static let noLocks: Layers = {
        guard let unix = sqlite3_vfs_find("unix") else { preconditionFailure("SQLite has no VFS for files") }
        let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        vfs.initialize(to: unix.pointee)
        vfs.pointee.pNext = nil
        vfs.pointee.zName = UnsafePointer(strdup(Kind.heedsNoLocks.rawValue))
        vfs.pointee.xOpen = { _, name, file, flags, outFlags in Intruder.open(name, file, flags, outFlags) }
        let code = sqlite3_vfs_register(vfs, 0)
        precondition(code == SQLITE_OK, "SQLite takes no further VFS")
        return Layers(unix: unix, methods: .allocate(capacity: 1))
    }()

    private static func open(
        _ name: UnsafePointer<CChar>?, _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32,
        _ outFlags: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        let code = noLocks.unix.pointee.xOpen(noLocks.unix, name, file, flags, outFlags)
        guard code == SQLITE_OK, flags & SQLITE_OPEN_MAIN_DB != 0, let file, let methods = file.pointee.pMethods else {
            return code
        }
        noLocks.methods.initialize(to: methods.pointee)
        noLocks.methods.pointee.xShmLock = { _, _, _, _ in SQLITE_OK }
        file.pointee.pMethods = UnsafePointer(noLocks.methods)
        return code
    }
}
