internal import COpenSSL

/// The one owner of a `BIO` in memory, for OpenSSL's PEM calls.
final class MemoryBIO {
    let handle: OpaquePointer

    init(_ bytes: [UInt8] = []) throws(OpenSSLError) {
        handle = try OpenSSLError.check(BIO_new(BIO_s_mem()), "make a buffer")
        guard !bytes.isEmpty else { return }
        let written = BIO_write(handle, bytes, Int32(clamping: bytes.count))
        guard Int(written) == bytes.count else {
            throw OpenSSLError("fill a buffer")
        }
    }

    deinit { BIO_free_all(handle) }

    /// Takes out what was written.
    var bytes: [UInt8] {
        let count = Int(BIO_ctrl_pending(handle))
        guard count > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: count) { out, filled in
            filled = max(0, Int(BIO_read(handle, out.baseAddress, Int32(clamping: count))))
        }
    }
}
