#if canImport(Glibc)
package import Glibc
#elseif canImport(Musl)
package import Musl
#endif

// The calls whose names are those of the disk's methods too.
private func systemOpen(_ path: String, _ flags: Int32) -> Int32 { open(path, flags, 0o600) }
private func systemClose(_ descriptor: Int32) { _ = close(descriptor) }
private func systemRename(_ path: String, _ newPath: String) -> Int32 { rename(path, newPath) }

/// The real disk.
package final class SystemDisk: Disk {
    /// Locks of an open file description (fcntl(2), "Open file description locks"): they belong to the open file, not
    /// to the process, so a second opening in the same process is refused too. Linux's numbers; Glibc hides them from
    /// Swift.
    private static let setLock: Int32 = 37
    private static let getLock: Int32 = 36

    private let timeless = TimelessStatus()

    package init() {}

    package func open(_ path: String, _ access: DiskAccess) throws(DiskError) -> DiskFile {
        // O_NONBLOCK: opening a fifo must not wait for its other end.
        let flags: Int32 =
            switch access {
            case .reading: O_RDONLY
            case .writing: O_RDWR
            case .creating: O_RDWR | O_CREAT | O_EXCL
            case .writingOrCreating: O_RDWR | O_CREAT
            }
        let descriptor = try repeated { systemOpen(path, flags | O_CLOEXEC | O_NONBLOCK) }
        // Reading ahead would make large pages of the page cache (see writeZeros).
        posix_fadvise(descriptor, 0, 0, POSIX_FADV_RANDOM)
        return DiskFile(descriptor: descriptor)
    }

    package func close(_ file: DiskFile) { systemClose(file.descriptor) }

    package func read(
        _ file: DiskFile, _ target: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(DiskError) -> Int {
        try repeated { pread(file.descriptor, target.baseAddress, target.count, offset) }
    }

    package func write(
        _ file: DiskFile, _ parts: UnsafeBufferPointer<iovec>, at offset: Int
    ) throws(DiskError) -> Int {
        try repeated { pwritev(file.descriptor, parts.baseAddress, Int32(parts.count), offset) }
    }

    package func sync(_ file: DiskFile) throws(DiskError) { _ = try repeated { fdatasync(file.descriptor) } }

    package func status(_ file: DiskFile) throws(DiskError) -> FileStatus {
        if let timeless { return try timeless.status(file.descriptor, "", TimelessStatus.emptyPath) }
        var status = stat()
        _ = try repeated { fstat(file.descriptor, &status) }
        return FileStatus(status)
    }

    package func status(at path: String) throws(DiskError) -> FileStatus {
        do {
            if let timeless { return try timeless.status(AT_FDCWD, path, 0) }
            var status = stat()
            _ = try repeated { stat(path, &status) }
            return FileStatus(status)
        } catch  where error == .missing {
            // What is made at the path of a link to nothing would take the link's place, or be made elsewhere.
            var status = stat()
            _ = try repeated { lstat(path, &status) }
            return FileStatus(status)
        }
    }

    package func lock(_ file: DiskFile) throws(DiskError) -> Bool {
        var lock = wholeFile(F_WRLCK)
        do {
            _ = try repeated { fcntl(file.descriptor, SystemDisk.setLock, &lock) }
            return true
        } catch  where error.code == EAGAIN || error.code == EACCES {
            return false
        }
    }

    package func unlock(_ file: DiskFile) {
        var lock = wholeFile(F_UNLCK)
        // It fails only for a file that is not open, and that has no lock.
        _ = fcntl(file.descriptor, SystemDisk.setLock, &lock)
    }

    package func isLocked(_ file: DiskFile) throws(DiskError) -> Bool {
        var lock = wholeFile(F_RDLCK)
        _ = try repeated { fcntl(file.descriptor, SystemDisk.getLock, &lock) }
        return lock.l_type != Int16(F_UNLCK)
    }

    private func wholeFile(_ type: Int32) -> flock {
        flock(l_type: Int16(type), l_whence: Int16(SEEK_SET), l_start: 0, l_len: 0, l_pid: 0)
    }

    package func rename(_ path: String, to newPath: String) throws(DiskError) {
        _ = try repeated { systemRename(path, newPath) }
    }

    package func forgetPages(_ file: DiskFile) { posix_fadvise(file.descriptor, 0, 0, POSIX_FADV_DONTNEED) }

    /// renameat2(2) with `RENAME_EXCHANGE`. Glibc has the call, but hides it from Swift.
    package func exchange(_ path: String, with other: String) throws(DiskError) {
        typealias Call = @convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32) -> Int32
        guard let symbol = dlsym(nil, "renameat2") else { throw DiskError(code: ENOSYS) }
        let call = unsafeBitCast(symbol, to: Call.self)
        let exchange: UInt32 = 2
        _ = try repeated { call(AT_FDCWD, path, AT_FDCWD, other, exchange) }
    }

    package func remove(_ path: String) throws(DiskError) { _ = try repeated { unlink(path) } }

    package func makeDirectory(_ path: String) throws(DiskError) { _ = try repeated { mkdir(path, 0o700) } }

    package func removeDirectory(_ path: String) throws(DiskError) { _ = try repeated { rmdir(path) } }

    package func list(_ path: String) throws(DiskError) -> [String] {
        guard let directory = opendir(path) else { throw DiskError(code: errno) }
        defer { closedir(directory) }
        var names: [String] = []
        errno = 0
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
            errno = 0
        }
        guard errno == 0 else { throw DiskError(code: errno) }
        return names
    }

    package func syncDirectory(_ path: String) throws(DiskError) {
        let directory = try repeated { systemOpen(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        defer { systemClose(directory) }
        _ = try repeated { fsync(directory) }
    }

    /// Calls again what a signal interrupted.
    private func repeated<Result: BinaryInteger>(_ call: () -> Result) throws(DiskError) -> Result {
        while true {
            let result = call()
            guard result == -1 else { return result }
            let code = errno
            guard code == EINTR else { throw DiskError(code: code) }
        }
    }
}

/// statx(2) without a file's times.
///
/// Since Linux 6.13 a file whose times were asked for is given a finer, and so a new, time at its next write, and the
/// next sync writes metadata for it: `fstat` and `stat` after each append made an append of 300 bytes take 60 µs
/// longer. Glibc has the call, but hides it from Swift.
private struct TimelessStatus: Sendable {
    private typealias Call =
        @convention(c) (Int32, UnsafePointer<CChar>, Int32, UInt32, UnsafeMutableRawPointer) -> Int32

    /// AT_EMPTY_PATH: the file itself, not one below it.
    static let emptyPath: Int32 = 0x1000
    /// STATX_TYPE, STATX_MODE, STATX_NLINK, STATX_INO, STATX_SIZE.
    private static let mask: UInt32 = 0x1 | 0x2 | 0x4 | 0x100 | 0x200

    private let call: Call

    /// `nil` where the C library has no such call.
    init?() {
        guard let symbol = dlsym(nil, "statx") else { return nil }
        call = unsafeBitCast(symbol, to: Call.self)
    }

    func status(_ descriptor: Int32, _ path: String, _ flags: Int32) throws(DiskError) -> FileStatus {
        let answer = withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) {
            bytes -> Result<FileStatus, DiskError> in
            guard let start = bytes.baseAddress else { return .failure(.failed) }
            guard call(descriptor, path, flags, TimelessStatus.mask, start) == 0 else {
                return .failure(DiskError(code: errno))
            }
            // The places of `struct statx` (linux/stat.h), which are the same on every machine.
            let device =
                UInt64(bytes.load(fromByteOffset: 136, as: UInt32.self)) << 32
                | UInt64(bytes.load(fromByteOffset: 140, as: UInt32.self))
            return .success(
                FileStatus(
                    kind: FileStatus.Kind(mode: mode_t(bytes.load(fromByteOffset: 28, as: UInt16.self))),
                    device: device, inode: bytes.load(fromByteOffset: 32, as: UInt64.self),
                    links: Int(bytes.load(fromByteOffset: 16, as: UInt32.self)),
                    byteCount: Int(clamping: bytes.load(fromByteOffset: 40, as: UInt64.self))))
        }
        return try answer.get()
    }
}

extension FileStatus.Kind {
    fileprivate init(mode: mode_t) {
        self =
            switch mode & S_IFMT {
            case S_IFREG: .file
            case S_IFDIR: .directory
            case S_IFIFO: .fifo
            case S_IFSOCK: .socket
            case S_IFLNK: .danglingLink
            default: .device
            }
    }
}

extension FileStatus {
    fileprivate init(_ status: stat) {
        self.init(
            kind: Kind(mode: status.st_mode), device: UInt64(status.st_dev), inode: UInt64(status.st_ino),
            links: Int(status.st_nlink),
            byteCount: Int(status.st_size))
    }
}
