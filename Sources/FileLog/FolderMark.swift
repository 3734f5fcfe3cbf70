package import Ledger

/// A mark in a ledger's folder: a file of one line, which says to the next start what the log cannot.
package struct FolderMark: Sendable {
    /// Where an operator finds it.
    package let path: String
    private let folder: LedgerFolder
    private let lineBytesMax: Int
    /// Whether it is taken away again where it cannot be written.
    private let isRemovedByFault: Bool

    init(_ name: String, in folder: LedgerFolder, lineBytesMax: Int, isRemovedByFault: Bool = false) {
        path = folder.path + "/" + name
        self.folder = folder
        self.lineBytesMax = lineBytesMax
        self.isRemovedByFault = isRemovedByFault
    }

    /// What it says; `nil` where it is not there.
    /// - Throws: ``LogError``, which names it, where it cannot be read or is no file.
    package func read(_ disk: any Disk = SystemDisk()) throws(LogError) -> String? {
        try folder.line(of: path, bytesMax: lineBytesMax, disk)
    }

    /// Makes it, or has it say something else. Durable when it returns.
    /// - Throws: ``DiskError``; then it is as it was, as it was to be, or not there.
    package func write(_ line: String, _ disk: any Disk = SystemDisk()) throws {
        do {
            try folder.write(line, to: path, disk)
        } catch {
            // As far as the disk still does what it is told.
            if isRemovedByFault { try? disk.removeIfThere(path) }
            throw error
        }
    }

    /// Takes it away. Durable when it returns.
    package func remove(_ disk: any Disk = SystemDisk()) throws {
        try disk.removeIfThere(path)
        try disk.syncDirectory(folder.path)
    }
}

extension LedgerFolder {
    /// The ledger was moved away from here, and no service is started on what is left of it. It says where the ledger
    /// is.
    package var movedMark: FolderMark { FolderMark("moved", in: self, lineBytesMax: 4_096) }

    /// This was a standby and was promoted: a restart with the same configuration does not make it a standby again. It
    /// says whom the ledger followed until then.
    ///
    /// Where it cannot be written it is not there: whoever asked is told that the ledger follows still, and so it must
    /// after a restart.
    package var promotedMark: FolderMark {
        FolderMark("promoted", in: self, lineBytesMax: 4_096, isRemovedByFault: true)
    }

    /// What is erased in the log and what its blocks say that is may differ: the next start reads the log for that. It
    /// says why, by a word, or is empty.
    package var namesMark: FolderMark { FolderMark("names.unproven", in: self, lineBytesMax: 64) }
}
