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
        let dot = UInt8(ascii: ".")
        guard let first = text.firstIndex(of: dot), let second = text[(first + 1)...].firstIndex(of: dot),
            !text[(second + 1)...].contains(dot)
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

    /// SHA-256 over the ASCII of the header segment, a dot and the payload segment (RFC 7515 §5.2).
    var signingInputDigest: [UInt8] {
        text.withUnsafeBytes { SHA256.hash(UnsafeRawBufferPointer(rebasing: $0[..<signingInputEnd])) }
    }

    private static func decode(
        _ text: [UInt8], _ range: Range<Int>, _ name: StaticString
    ) throws(VerificationFailure) -> [UInt8] {
        let bytes = text.withUnsafeBufferPointer { Base64.decodeURL(UnsafeBufferPointer(rebasing: $0[range])) }
        guard let bytes else { throw VerificationFailure(.malformed, "the \(name) is not base64url") }
        return bytes
    }
}
