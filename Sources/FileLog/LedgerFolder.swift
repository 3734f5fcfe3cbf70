package import Ledger

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A ledger's folder: what stands where in it, how it is made, and what can be wrong with it.
package struct LedgerFolder: Hashable, Sendable {
    package let path: String

    package init(_ path: String) { self.path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path }

    /// The log's own folder.
    package var log: String { path + "/log" }
    /// The head's number and hash, outside of the log.
    package var headFile: String { path + "/head" }

    /// Checks that a ledger can be there.
    /// - Throws: ``LogError`` `unknown`, which names what is wrong.
    package func check(_ disk: any Disk = SystemDisk()) throws(LogError) {
        do {
            let kind = try disk.status(at: path).kind
            guard kind == .directory else {
                throw LogError(.unknown, "\(path) is \(kind.words); a ledger is a folder")
            }
            guard try disk.statusIfThere(at: log)?.kind == .directory else {
                throw LogError(.unknown, "\(path) is a folder, but no ledger: it has no folder \(log)")
            }
            _ = try disk.list(log)
        } catch let error as LogError {
            throw error
        } catch let error as DiskError {
            if error == .missing, let old = replacedLedger(disk) {
                throw LogError(
                    .unknown,
                    "there is no ledger at \(path): a restore was interrupted. Run it again; the old ledger is "
                        + "at \(old)")
            }
            throw LogError(.unknown, words(error))
        } catch {
            throw LogError(.unknown, "looking for a ledger at \(path): \(error)")
        }
    }

    private func words(_ error: DiskError) -> String {
        switch error {
        case .missing: "there is no ledger at \(path); `serve --create` makes one"
        case .forbidden: "this user may not read the ledger at \(path): \(error)"
        case .isNoDirectory: "there is no ledger at \(path): a part of the path is a file"
        case .readOnly: "the ledger at \(path) is on a file system that cannot be written to: \(error)"
        default: "looking for a ledger at \(path): \(error)"
        }
    }

    /// Makes a ledger's folder: whole and durable at its path, or not there at all.
    /// - Parameters:
    ///   - mayFollowRestore: whether a restore that was interrupted may have taken a ledger from this path.
    ///   - body: fills the folder, which has a temporary path beside the final one until it is whole.
    /// - Throws: ``LogError``, or what `body` threw.
    package static func create(
        at path: String, disk: any Disk = SystemDisk(), mayFollowRestore: Bool = false,
        body: (_ temporaryPath: String) throws -> Void
    ) throws {
        let folder = LedgerFolder(path)
        do {
            // An empty folder is no ledger, and nothing is lost with it.
            if let there = try disk.statusIfThere(at: folder.path),
                try there.kind != .directory || !disk.list(folder.path).isEmpty
            {
                throw LogError(
                    .notAppended, "\(folder.path) is there already; a ledger is made at a path where nothing is")
            }
            if !mayFollowRestore, let old = folder.replacedLedger(disk) {
                throw LogError(
                    .notAppended,
                    "no ledger is made at \(folder.path): a restore put the ledger that was there to \(old). Where "
                        + "that was interrupted run it again, and remove what is not needed any more")
            }
            let temporary = try folder.makeTemporary(disk, body)
            // A folder takes the place of an empty folder only: of what another process made meanwhile, nothing is
            // lost.
            try disk.rename(temporary, to: folder.path)
            try disk.syncDirectory(folder.parent)
            try folder.removeLeftovers(disk)
        } catch let error as DiskError {
            let reason = error == .isNoDirectory ? "a part of the path is a file" : "\(error)"
            throw LogError(.notAppended, "making the ledger \(folder.path): \(reason)")
        }
    }

    /// Puts a new ledger in the place of this one, which stays beside it.
    /// - Parameter body: fills the new folder, which has a temporary path beside this one until it is whole.
    /// - Returns: where the old ledger is.
    /// - Throws: ``LogError``, or what `body` threw.
    func replace(_ disk: any Disk, body: (_ temporaryPath: String) throws -> Void) throws -> String {
        do {
            let temporary = try makeTemporary(disk, body)
            let old = replacedPrefix + LedgerFolder.uniqueName
            try exchange(disk, with: temporary, old)
            try disk.syncDirectory(parent)
            try removeLeftovers(disk)
            return old
        } catch let error as DiskError {
            throw LogError(.unknown, "replacing the ledger \(path): \(error)")
        }
    }

    /// Puts the folder at `temporary` here, and this one to `old`.
    private func exchange(_ disk: any Disk, with temporary: String, _ old: String) throws(DiskError) {
        // Under the name that the old one gets: nobody removes that, whatever is interrupted now.
        try disk.rename(temporary, to: old)
        try disk.syncDirectory(parent)
        do { try disk.exchange(old, with: path) } catch {
            guard error.isWantOfCall else { throw error }
            // Each durable before the next: whatever is lost, one of the two is whole under one of the names.
            try disk.rename(old, to: temporary)
            try disk.syncDirectory(parent)
            try disk.rename(path, to: old)
            try disk.syncDirectory(parent)
            try disk.rename(temporary, to: path)
        }
    }

    /// Makes a whole and durable folder beside this one.
    private func makeTemporary(_ disk: any Disk, _ body: (String) throws -> Void) throws -> String {
        let temporary = temporaryPrefix + LedgerFolder.uniqueName
        try disk.makeDirectory(temporary)
        do {
            try body(temporary)
            try LedgerFolder.syncTree(disk, temporary)
        } catch {
            // It only takes room, which may be what is wanting. What is left of it the next one removes.
            try? LedgerFolder.removeTree(disk, temporary)
            throw error
        }
        return temporary
    }

    private static var uniqueName: String { "\(getpid())-\(UInt64.random(in: .min ... .max))" }

    /// What a restore put aside; `nil` where there is nothing, or nobody can say.
    private func replacedLedger(_ disk: any Disk) -> String? {
        guard let names = try? disk.list(parent) else { return nil }
        let prefix = LedgerFolder.lastName(of: replacedPrefix)
        return names.filter { $0.hasPrefix(prefix) }.min().map { parent + "/" + $0 }
    }

    private static func lastName(of path: String) -> Substring {
        path[(path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex)...]
    }

    private var replacedPrefix: String { path + ".replaced-" }

    private var temporaryPrefix: String { path + ".creating-" }

    var parent: String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Removes what interrupted creations left beside the ledger.
    private func removeLeftovers(_ disk: any Disk) throws(DiskError) {
        let prefix = LedgerFolder.lastName(of: temporaryPrefix)
        for name in try disk.list(parent) where name.hasPrefix(prefix) {
            try LedgerFolder.removeTree(disk, parent + "/" + name)
        }
    }

    private static func syncTree(_ disk: any Disk, _ folder: String) throws(DiskError) {
        for name in try disk.list(folder) {
            let path = folder + "/" + name
            switch try disk.status(at: path).kind {
            case .directory: try syncTree(disk, path)
            case .file:
                let file = OwnedFile(disk, try disk.open(path, .reading))
                try disk.sync(file.file)
            case .fifo, .device, .socket, .danglingLink: break
            }
        }
        try disk.syncDirectory(folder)
    }

    private static func removeTree(_ disk: any Disk, _ path: String) throws(DiskError) {
        guard try disk.status(at: path).kind == .directory else { return try disk.remove(path) }
        for name in try disk.list(path) { try removeTree(disk, path + "/" + name) }
        try disk.removeDirectory(path)
    }
}
