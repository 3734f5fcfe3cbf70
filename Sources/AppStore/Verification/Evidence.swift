internal import StrictJSON

/// A JWS's header segment, which one signing certificate repeats on everything it signs: one object for all of them.
public final class JWSHeader: Sendable {
    /// The segment as it came: base64url text.
    public let segment: [UInt8]
    /// SHA-256 of ``segment``.
    public let digest: [UInt8]
    /// The hash of every signing input under this header, after the segment itself.
    private let state: SHA256State

    /// Wraps a header segment.
    public init(segment: [UInt8]) {
        self.segment = segment
        var state = SHA256State()
        segment.withUnsafeBytes { state.add($0) }
        digest = state.digest
        self.state = state
    }

    /// SHA-256 over the ASCII of the header segment, a dot and the payload segment (RFC 7515 §5.2).
    /// - Parameter rest: the dot and the payload segment.
    func signingInputDigest(_ rest: UnsafeRawBufferPointer) -> [UInt8] {
        var state = state
        state.add(rest)
        return state.digest
    }
}

/// What was signed and by what, so that anyone can verify it again: the JWS, with its header shared and the rest
/// decoded.
public struct Evidence: Sendable {
    /// The header, the same object for all that was verified under one certificate while its chain was remembered.
    public let header: JWSHeader
    /// The payload's JSON, as it was signed.
    public let payload: [UInt8]
    /// r and s of ECDSA on P-256, 32 bytes each, big-endian (RFC 7518 §3.4).
    public let signature: [UInt8]

    /// Evidence of a JWS that was verified, or put together again from where it was stored.
    public init(header: JWSHeader, payload: [UInt8], signature: [UInt8]) {
        self.header = header
        self.payload = payload
        self.signature = signature
    }

    /// The JWS in its compact form, byte for byte as it was verified.
    public var jws: [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(header.segment.count + (payload.count + signature.count) * 4 / 3 + 8)
        text.append(contentsOf: header.segment)
        text.append(UInt8(ascii: "."))
        payload.withUnsafeBufferPointer { Base64.encodeURL($0, into: &text) }
        text.append(UInt8(ascii: "."))
        signature.withUnsafeBufferPointer { Base64.encodeURL($0, into: &text) }
        return text
    }
}
