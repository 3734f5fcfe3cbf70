internal import COpenSSL

/// SHA-256 by OpenSSL: by its calls on a plain state, for the ones that look the algorithm up anew take as long as a
/// short text.
public enum SHA256 {
    /// Bytes of a digest.
    public static let byteCount = 32

    /// The 32 bytes of the digest.
    public static func hash(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var state = SHA256State()
        state.add(bytes)
        return state.digest
    }

    /// Writes the 32 bytes of the digest.
    public static func hash(_ bytes: UnsafeRawBufferPointer, into digest: UnsafeMutableRawBufferPointer) {
        precondition(digest.count == byteCount, "a digest has 32 bytes")
        var state = SHA256State()
        state.add(bytes)
        state.end(digest)
    }

    /// The 32 bytes of the digest.
    public static func hash(_ bytes: [UInt8]) -> [UInt8] { bytes.withUnsafeBytes { hash($0) } }
}

/// SHA-256 of a text that is not at its end: a value, so that what many texts begin with is hashed once.
struct SHA256State: @unchecked Sendable {
    // `@unchecked Sendable`: a plain C struct of numbers.
    private var state = SHA256_CTX()

    init() {
        let result = ledger_sha256_begin(&state)
        precondition(result == 1, "OpenSSL has no SHA-256")
    }

    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        let result = ledger_sha256_add(&state, start, bytes.count)
        precondition(result == 1, "a hash takes any bytes")
    }

    /// Writes the digest; nothing can be added any more.
    mutating func end(_ digest: UnsafeMutableRawBufferPointer) {
        let result = ledger_sha256_end(&state, digest.baseAddress?.assumingMemoryBound(to: UInt8.self))
        precondition(result == 1, "a hash has an end")
    }

    /// The digest of what was added so far.
    var digest: [UInt8] {
        var copy = state
        return [UInt8](unsafeUninitializedCapacity: SHA256.byteCount) { digest, count in
            let result = ledger_sha256_end(&copy, digest.baseAddress)
            precondition(result == 1, "a hash has an end")
            count = SHA256.byteCount
        }
    }
}
