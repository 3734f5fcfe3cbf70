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

    /// A socket's file, by what tells it from another one at the same path.
    struct File: Sendable {
        let path: String
        private let device: UInt64
        private let inode: UInt64

        /// What is at a path now; `nil` where nothing is.
        init?(_ path: String) {
            var status = stat()
            guard lstat(path, &status) == 0 else { return nil }
            self.path = path
            device = UInt64(status.st_dev)
            inode = UInt64(status.st_ino)
        }

        /// Removes it, unless another one is at its path by now. While its socket is open: until then no other file can
        /// have its number.
        func remove() {
            guard let now = File(path), now.device == device, now.inode == inode else { return }
            unlink(path)
        }
    }

    /// Whether somebody listens at a path, or perhaps does.
    /// - Throws: `IOError` where the system does not say.
    static func isServed(_ path: String) throws -> Bool {
        let descriptor = try open()
        defer { close(descriptor) }
        let code = try SocketAddress(unixDomainSocketPath: path).withSockAddr { address, size in
            Self.connect(descriptor, address, socklen_t(size)) == 0 ? 0 : errno
        }
        switch code {
        case 0: return true
        // Nothing is there, or what nobody listens at.
        case ENOENT, ECONNREFUSED: return false
        // Somebody listens, and as many wait for it as may.
        case EAGAIN: return true
        default: throw IOError(errnoCode: code, reason: "connect")
        }
    }

    /// A socket that does not wait.
    private static func open() throws -> Int32 {
        #if canImport(Musl)
        let kind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK
        #else
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        #endif
        let descriptor = socket(AF_UNIX, kind, 0)
        guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "socket") }
        return descriptor
    }

    private static func connect(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ size: socklen_t) -> Int32 {
        #if canImport(Musl)
        Musl.connect(descriptor, address, size)
        #else
        Glibc.connect(descriptor, address, size)
        #endif
    }

    /// Makes a socket at a path, and takes the place of one that was left behind. Nobody can connect before it listens.
    /// - Parameter mode: of the file; it has no further right at any moment. Who may write it may connect.
    /// - Returns: its descriptor.
    /// - Throws: ``WrongKindOfFile``; `IOError`.
    static func bind(_ path: String, mode: UInt32) throws -> Int32 {
        try remove(path)
        let descriptor = try open()
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
