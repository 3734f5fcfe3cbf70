/// The 32 bytes of a SHA-256, in place: a value that costs no memory of its own.
package struct Digest: Hashable, Sendable {
    /// How many bytes a digest has.
    package static let byteCount = 32

    private var first: UInt64 = 0
    private var second: UInt64 = 0
    private var third: UInt64 = 0
    private var fourth: UInt64 = 0

    /// 32 zero bytes: what stands before the first block.
    package static let zero = Digest { _ in }

    /// `nil` where there are not 32 bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Digest.byteCount else { return nil }
        withUnsafeMutableBytes(of: &self) { $0.copyBytes(from: bytes) }
    }

    /// Made by what writes all of its 32 bytes.
    package init(writing body: (UnsafeMutableRawBufferPointer) -> Void) {
        withUnsafeMutableBytes(of: &self) { body($0) }
    }

    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try Swift.withUnsafeBytes(of: self) { try body($0) }
    }

    /// `bytes` are a digest, of whose length the caller is certain.
    package init(sha256 bytes: [UInt8]) {
        guard let digest = Digest(bytes) else { preconditionFailure("a SHA-256 has 32 bytes") }
        self = digest
    }

    package var bytes: [UInt8] { withUnsafeBytes { [UInt8]($0) } }
}

/// SHA-256, handed in by the composition: neither `Ledger` nor a store imports cryptography. It writes the 32 bytes of
/// the digest to the second place.
package typealias HashFunction = @Sendable (UnsafeRawBufferPointer, UnsafeMutableRawBufferPointer) -> Void

extension Digest {
    package init(of bytes: UnsafeRawBufferPointer, _ hash: HashFunction) { self.init { hash(bytes, $0) } }

    package init(of bytes: [UInt8], _ hash: HashFunction) {
        self = bytes.withUnsafeBytes { Digest(of: $0, hash) }
    }
}
