internal import NIOCore

#if canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

extension IOError {
    /// Whether it can only come before a connection stands (connect(2)).
    var isOfConnecting: Bool {
        [ECONNREFUSED, EADDRNOTAVAIL].contains(errnoCode)
    }
}
