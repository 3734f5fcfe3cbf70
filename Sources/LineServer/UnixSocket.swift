import NIOCore

#if canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A Unix-domain socket in the file system.
enum UnixSocket {
    /// What is at the path is another kind of file.
    struct WrongKindOfFile: Error {}

    /// Makes a socket at a path, and takes the place of one that was left behind. Nobody can connect before it listens.
    /// - Parameter mode: of the file; it has no further right at any moment. Who may write it may connect.
    /// - Returns: its descriptor.
    /// - Throws: ``WrongKindOfFile``; `IOError`.
    static func bind(_ path: String, mode: UInt32) throws -> Int32 {
        try remove(path)
        #if canImport(Musl)
        let kind = SOCK_STREAM | SOCK_CLOEXEC
        #else
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        #endif
        let descriptor = socket(AF_UNIX, kind, 0)
        guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "socket") }
        do {
            // Linux gives the file the mode of the socket, less the umask; what that takes away is added after.
            guard fchmod(descriptor, mode_t(mode)) == 0 else { throw IOError(errnoCode: errno, reason: "fchmod") }
            try SocketAddress(unixDomainSocketPath: path).withSockAddr { address, size in
                guard Self.bind(descriptor, address, socklen_t(size)) == 0 else {
                    throw IOError(errnoCode: errno, reason: "bind")
                }
            }
            guard chmod(path, mode_t(mode)) == 0 else { throw IOError(errnoCode: errno, reason: "chmod") }
            return descriptor
        } catch {
            close(descriptor)
            throw error
        }
    }

    private static func bind(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ size: socklen_t) -> Int32 {
        #if canImport(Musl)
        Musl.bind(descriptor, address, size)
        #else
        Glibc.bind(descriptor, address, size)
        #endif
    }

    private static func remove(_ path: String) throws {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else { throw WrongKindOfFile() }
        guard unlink(path) == 0 || errno == ENOENT else { throw IOError(errnoCode: errno, reason: "unlink") }
    }
}
