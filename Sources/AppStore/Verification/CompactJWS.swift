internal import COpenSSL
internal import StrictJSON

/// The three segments of a JWS (RFC 7515 §7.1), decoded but for the header, which is mostly known already.
struct CompactJWS {
    let text: [UInt8]
    let headerEnd: Int
    let signingInputEnd: Int
    let payload: [UInt8]
    let signature: [UInt8]

    init(_ text: [UInt8]) throws(VerificationFailure) {
        guard text.count <= AppStoreLimits.jwsBytesMax else {
            throw VerificationFailure(.malformed, "the JWS is longer than \(AppStoreLimits.jwsBytesMax) bytes")
        }
        guard let first = Self.dot(in: text, from: 0), let second = Self.dot(in: text, from: first + 1),
            Self.dot(in: text, from: second + 1) == nil
        else { throw VerificationFailure(.malformed, "a JWS has three segments") }
        guard first > 0, second > first + 1, second + 1 < text.count else {
            throw VerificationFailure(.malformed, "a segment of the JWS is empty")
        }
        guard first <= AppStoreLimits.headerBytesMax else {
            throw VerificationFailure(.malformed, "the header is longer than \(AppStoreLimits.headerBytesMax) bytes")
        }
        self.text = text
        headerEnd = first
        signingInputEnd = second
        payload = try Self.decode(text, first + 1..<second, "payload")
        signature = try Self.decode(text, second + 1..<text.count, "signature")
    }

    func withHeaderSegment<R>(_ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
        text.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[..<headerEnd])) }
    }

    func decodedHeader() throws(VerificationFailure) -> [UInt8] { try Self.decode(text, 0..<headerEnd, "header") }

    /// What of the signing input comes after the header segment: a dot and the payload segment.
    func withRestOfSigningInput<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
        text.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[headerEnd..<signingInputEnd])) }
    }

    private static func dot(in text: [UInt8], from start: Int) -> Int? {
        text.withUnsafeBytes { bytes in
            guard start < bytes.count, let base = bytes.baseAddress,
                let found = memchr(base + start, Int32(UInt8(ascii: ".")), bytes.count - start)
            else { return nil }
            return base.distance(to: UnsafeRawPointer(found))
        }
    }

    private static func decode(
        _ text: [UInt8], _ range: Range<Int>, _ name: StaticString
    ) throws(VerificationFailure) -> [UInt8] {
        let bytes = text.withUnsafeBufferPointer { Base64.decodeURL(UnsafeBufferPointer(rebasing: $0[range])) }
        guard let bytes else { throw VerificationFailure(.malformed, "the \(name) is not base64url") }
        return bytes
    }
}
