internal import NIOCore
internal import NIOPosix

#if canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

enum NetworkFault {
    /// What went wrong, in the system's words where they are its.
    static func words(_ error: any Error) -> String {
        switch error {
        case let error as NIOConnectionError:
            error.connectionErrors.first.map { words($0.error) } ?? "\(error.host) is not known"
        case let error as IOError: String(cString: strerror(error.errnoCode))
        default: "\(error)"
        }
    }
}
