#if canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The small files beside the tables.
enum PlainFile {
    /// Opens a file, and nothing else: a fifo would keep whoever opens it waiting.
    /// - Returns: a descriptor, or -1, and `errno` says why.
    static func descriptor(of path: String, _ flags: Int32) -> Int32 {
        let descriptor = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0o600)
        if descriptor < 0 { return -1 }
        var status = stat()
        if fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG { return descriptor }
        close(descriptor)
        errno = EINVAL
        return -1
    }

    /// All that a file has; `nil` where it cannot be read, and `errno` says why.
    static func read(_ path: String) -> [UInt8]? {
        let descriptor = PlainFile.descriptor(of: path, O_RDONLY)
        if descriptor < 0 { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        let size = Int(status.st_size)
        var isWhole = true
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { memory, count in
            while count < size {
                let step = pread(descriptor, memory.baseAddress.map { $0 + count }, size - count, off_t(count))
                if step <= 0 {
                    isWhole = false
                    return
                }
                count += step
            }
        }
        return isWhole ? bytes : nil
    }

    /// Makes durable which files a folder has.
    static func syncFolder(of path: String) -> Bool {
        let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if descriptor < 0 { return false }
        defer { close(descriptor) }
        return fsync(descriptor) == 0
    }
}
