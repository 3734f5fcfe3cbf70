internal import StrictJSON

extension SandboxChain {
    /// What tests make otherwise than Apple does.
    package struct Options: Sendable {
        package var validity: ClosedRange<Int64>
        package var rootValidity: ClosedRange<Int64>?
        package var intermediateValidity: ClosedRange<Int64>?
        package var leafValidity: ClosedRange<Int64>?
        package var leafIsMarked = true
        package var intermediateIsMarked = true
        package var leafIsAuthority = false
        package var intermediateIsAuthority = true
        package var leafIsOnP384 = false

        package init(validity: ClosedRange<Int64>) { self.validity = validity }

        var leafCurve: Key.Curve { leafIsOnP384 ? .p384 : .p256 }
    }

    /// Signs with another list of certificates, or another algorithm's name, in the header.
    package func jws(
        payload: [UInt8], algorithm: String = "ES256", certificates: [Certificate]
    ) throws(OpenSSLError) -> [UInt8] {
        try jws(headerSegment: Self.headerSegment(algorithm: algorithm, certificates: certificates), payload: payload)
    }

    /// Signs with any bytes for a header.
    package func jws(payload: [UInt8], header: [UInt8]) throws(OpenSSLError) -> [UInt8] {
        var segment: [UInt8] = []
        header.withUnsafeBufferPointer { Base64.encodeURL($0, into: &segment) }
        return try jws(headerSegment: segment, payload: payload)
    }

    static func headerSegment(algorithm: String, certificates: [Certificate]) -> [UInt8] {
        let header = header(algorithm: algorithm, certificates: certificates)
        var segment: [UInt8] = []
        header.withUnsafeBufferPointer { Base64.encodeURL($0, into: &segment) }
        return segment
    }

    /// The header's JSON.
    package static func header(algorithm: String, certificates: [Certificate]) -> [UInt8] {
        var writer = JSONWriter(capacity: 4_096)
        writer.beginObject()
        writer.key("alg")
        writer.string(algorithm)
        writer.key("x5c")
        writer.beginArray()
        for certificate in certificates {
            var text: [UInt8] = []
            certificate.der.withUnsafeBufferPointer { Base64.encodeStandard($0, into: &text) }
            text.withUnsafeBufferPointer { writer.string(utf8: $0) }
        }
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }
}
