#if canImport(Musl)
import Musl
#else
import Glibc
#endif

/// An empty file beside the tables, from when damage is found in them until they are made anew: where the service
/// ends before that, the next start makes them.
struct DamageMark {
    let path: String

    /// Whether it is there.
    /// - Throws: ``Failure`` where something else has its name; that is left as it is.
    func isSet() throws -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            if errno == ENOENT { return false }
            throw Failure("\(path): \(String(cString: strerror(errno)))")
        }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_size == 0 else {
            throw Failure(
                """
                \(path) is not the empty file that says of damaged tables that they are; it is left as it is: move it \
                away, and start again
                """)
        }
        return true
    }

    /// - Returns: whether it is durable for a process that ends.
    func set() -> Bool {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
        return descriptor >= 0 && close(descriptor) == 0
    }

    /// Takes away nothing but the mark.
    func clear() { if (try? isSet()) == true { unlink(path) } }
}
