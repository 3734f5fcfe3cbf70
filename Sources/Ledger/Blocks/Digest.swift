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

    /// 64 hexadecimal digits, in lower case.
    package var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// `nil` where the text is not ``hexadecimal``, to the letter.
    package init?(hexadecimal text: String) {
        let digits = text.utf8.compactMap { digit -> UInt8? in
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
            default: nil
            }
        }
        guard digits.count == 2 * Digest.byteCount, text.utf8.count == digits.count else { return nil }
        self.init(stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] })
    }
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
