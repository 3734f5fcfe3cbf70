internal import COpenSSL

/// The one owner of an `X509`.
///
/// `@unchecked Sendable`: it is not changed after it was made, but for what OpenSSL derives from it, under its own
/// lock.
final class X509Handle: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Takes over one reference.
    init(owning pointer: OpaquePointer) { self.pointer = pointer }

    deinit { X509_free(pointer) }
}
