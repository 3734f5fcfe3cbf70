internal import COpenSSL

/// SHA-256 by OpenSSL.
public enum SHA256 {
    /// Bytes of a digest.
    public static let byteCount = 32

    /// The 32 bytes of the digest.
    public static func hash(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: byteCount) { digest, count in
            let input = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            let result = COpenSSL.SHA256(input, bytes.count, digest.baseAddress)
            precondition(result != nil, "OpenSSL has no SHA-256")
            count = byteCount
        }
    }

    /// The 32 bytes of the digest.
    public static func hash(_ bytes: [UInt8]) -> [UInt8] { bytes.withUnsafeBytes { hash($0) } }
}
