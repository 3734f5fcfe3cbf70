#if canImport(Glibc)
package import Glibc
#elseif canImport(Musl)
package import Musl
#endif

/// The calls to the operating system that a log makes: the real ones, or a test's, which fail, tear and forget.
///
/// Any thread may call it. Nothing is buffered: what `write` was given is in the page cache, and what `sync` returned
/// for is on the disk.
package protocol Disk: AnyObject, Sendable {
    func open(_ path: String, _ access: DiskAccess) throws(DiskError) -> DiskFile
    func close(_ file: DiskFile)

    /// Reads up to `target`'s count of bytes; fewer at the file's end.
    func read(_ file: DiskFile, _ target: UnsafeMutableRawBufferPointer, at offset: Int) throws(DiskError) -> Int
    /// Writes the parts one after the other, and gives how many bytes it wrote: it may be fewer than there are.
    func write(_ file: DiskFile, _ parts: UnsafeBufferPointer<iovec>, at offset: Int) throws(DiskError) -> Int
    /// Makes the bytes of a file, and its size, durable (`fdatasync`).
    func sync(_ file: DiskFile) throws(DiskError)

    func status(_ file: DiskFile) throws(DiskError) -> FileStatus
    func status(at path: String) throws(DiskError) -> FileStatus

    /// Takes the whole file's lock for writing, which ends when the file is closed. False where another has it.
    func lock(_ file: DiskFile) throws(DiskError) -> Bool
    func unlock(_ file: DiskFile)
    /// True where another open file has the lock for writing.
    func isLocked(_ file: DiskFile) throws(DiskError) -> Bool

    /// Lets go of what of the file is in memory, so that it is read from the disk. Only a hint.
    func forgetPages(_ file: DiskFile)

    func rename(_ path: String, to newPath: String) throws(DiskError)
    /// Puts what is at each path at the other one, in one step. Fails with `EINVAL` or `ENOSYS` where the file system
    /// cannot do that.
    func exchange(_ path: String, with other: String) throws(DiskError)
    func remove(_ path: String) throws(DiskError)
    func makeDirectory(_ path: String) throws(DiskError)
    func removeDirectory(_ path: String) throws(DiskError)
    /// The names in a directory, without `.` and `..`, in no certain order.
    func list(_ path: String) throws(DiskError) -> [String]
    /// Makes a directory's entries durable: what was created, renamed and removed in it.
    func syncDirectory(_ path: String) throws(DiskError)
}

/// What a file is opened for.
package enum DiskAccess: Sendable {
    case reading
    case writing
    /// For writing; there must be no file yet.
    case creating
    /// For writing; made where there is none.
    case writingOrCreating
}

/// An open file.
package struct DiskFile: Hashable, Sendable {
    package let descriptor: Int32

    package init(descriptor: Int32) { self.descriptor = descriptor }
}

/// What the operating system says of a file.
package struct FileStatus: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case file
        case directory
        case fifo
        case device
        case socket
        /// A symbolic link to nothing. (Other links are what they lead to.)
        case danglingLink

        /// What it is, for people.
        var words: String {
            switch self {
            case .file: "a file"
            case .directory: "a folder"
            case .fifo: "a fifo"
            case .device: "a device"
            case .socket: "a socket"
            case .danglingLink: "a symbolic link to nothing"
            }
        }
    }

    package var kind: Kind
    package var device: UInt64
    package var inode: UInt64
    package var links: Int
    package var byteCount: Int

    package init(kind: Kind, device: UInt64, inode: UInt64, links: Int, byteCount: Int) {
        self.kind = kind
        self.device = device
        self.inode = inode
        self.links = links
        self.byteCount = byteCount
    }

    func isSameFile(as other: FileStatus) -> Bool { device == other.device && inode == other.inode }
}

/// A call's failure, as `errno` says it.
package struct DiskError: Error, Hashable, Sendable, CustomStringConvertible {
    package let code: Int32

    package init(code: Int32) { self.code = code }

    package static let missing = DiskError(code: ENOENT)
    package static let exists = DiskError(code: EEXIST)
    package static let full = DiskError(code: ENOSPC)
    package static let failed = DiskError(code: EIO)
    package static let forbidden = DiskError(code: EACCES)
    package static let readOnly = DiskError(code: EROFS)
    package static let isDirectory = DiskError(code: EISDIR)
    package static let isNoDirectory = DiskError(code: ENOTDIR)
    package static let notEmpty = DiskError(code: ENOTEMPTY)

    /// The file system, or the system, has no such call.
    var isWantOfCall: Bool { [EINVAL, ENOSYS, ENOTSUP, EXDEV].contains(code) }

    /// There is no room for more bytes, on the disk or in this user's share of it.
    var isWantOfRoom: Bool { code == ENOSPC || code == EDQUOT }

    package var description: String { String(cString: strerror(code)) + " (errno \(code))" }
}

/// An open file that is closed when nobody has it any more.
final class OwnedFile: Sendable {
    private let disk: any Disk
    let file: DiskFile

    init(_ disk: any Disk, _ file: DiskFile) {
        self.disk = disk
        self.file = file
    }

    deinit { disk.close(file) }
}

extension Disk {
    /// Writes all of `bytes`, in as many calls as it takes.
    func writeAll(_ file: DiskFile, _ bytes: UnsafeRawBufferPointer, at offset: Int) throws(DiskError) {
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            let part = iovec(iov_base: UnsafeMutableRawPointer(mutating: rest.baseAddress), iov_len: rest.count)
            let written = try withUnsafePointer(to: part) { (part) throws(DiskError) in
                try write(file, UnsafeBufferPointer(start: part, count: 1), at: offset + done)
            }
            guard written > 0 else { throw DiskError.failed }
            done += written
        }
    }

    func writeAll(_ file: DiskFile, _ bytes: [UInt8], at offset: Int) throws(DiskError) {
        try bytes.withUnsafeBufferPointer { (bytes) throws(DiskError) in
            try writeAll(file, UnsafeRawBufferPointer(bytes), at: offset)
        }
    }

    /// Writes zeros, a page of the page cache at a time: pages that are written together become one large page, and
    /// the kernel then counts all of it as written for each small overwrite.
    func writeZeros(_ file: DiskFile, from start: Int, to end: Int) throws(DiskError) {
        var offset = start
        try writeZeros(file, from: &offset, to: end)
    }

    /// Writes zeros as long as there is room, and gives up to where they are.
    func writeZerosThatFit(_ file: DiskFile, from start: Int, to end: Int) throws(DiskError) -> Int {
        var offset = start
        do { try writeZeros(file, from: &offset, to: end) } catch  where error.isWantOfRoom { return offset }
        return end
    }

    /// Moves `offset` on: the zeros before it are written, also where it throws.
    private func writeZeros(_ file: DiskFile, from offset: inout Int, to end: Int) throws(DiskError) {
        while offset < end {
            let next = min(end, (offset / FileLogLimits.pageBytes + 1) * FileLogLimits.pageBytes)
            try writeAll(file, UnsafeRawBufferPointer(rebasing: Zeros.bytes[..<(next - offset)]), at: offset)
            offset = next
        }
    }

    /// The file's bytes from `offset` on, up to `byteCount` or its end.
    func readAll(_ file: DiskFile, at offset: Int, byteCount: Int) throws(DiskError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: byteCount)
        let count = try bytes.withUnsafeMutableBufferPointer { (target) throws(DiskError) in
            try readAll(file, UnsafeMutableRawBufferPointer(target), at: offset)
        }
        bytes.removeLast(byteCount - count)
        return bytes
    }

    func readAll(_ file: DiskFile, _ target: UnsafeMutableRawBufferPointer, at offset: Int) throws(DiskError) -> Int {
        var done = 0
        while done < target.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: target[done...])
            let count = try read(file, rest, at: offset + done)
            guard count > 0 else { break }
            done += count
        }
        return done
    }

    /// `nil` where nothing is at the path.
    func statusIfThere(at path: String) throws(DiskError) -> FileStatus? {
        do { return try status(at: path) } catch  where error == .missing { return nil }
    }

    func removeIfThere(_ path: String) throws(DiskError) {
        do { try remove(path) } catch  where error == .missing { return }
    }
}

/// A page of zeros.
enum Zeros {
    /// Allocated once for the whole process and never written.
    nonisolated(unsafe) static let bytes: UnsafeRawBufferPointer = {
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: FileLogLimits.pageBytes, alignment: 64)
        bytes.initializeMemory(as: UInt8.self, repeating: 0)
        return UnsafeRawBufferPointer(bytes)
    }()
}
