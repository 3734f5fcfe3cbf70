package import Ledger

/// The lock of a folder that one process at a time uses, until nobody has this any more: the one that the log of a
/// ledger in files has.
package final class FolderLock: Sendable {
    private let file: OwnedFile?

    /// - Parameter folder: it is there. The lock's file is made in it; on a file system that is read-only there is no
    ///   lock.
    /// - Throws: ``LogError``: `superseded` where another process has it.
    package init(_ folder: String, disk: any Disk = SystemDisk()) throws(LogError) {
        file = try FileLog.lock(disk, folder)
    }
}
