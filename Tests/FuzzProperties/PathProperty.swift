import AppStore
import COpenSSL
import Foundation
import StrictJSON

/// A path is believed only where an authority issued all that is signed of its leaf and of its intermediate
/// certificate, each to the byte, and the third certificate has the key that issued the second; and only for dates at
/// which all of them are valid.
enum PathProperty {
    private static let issued = SignedSamples.certificates
    private static let verifier = Verifier(
        app: App(bundleID: "com.example.game", environment: .sandbox),
        anchors: [certain("reading the root") { try Certificate(der: issued[2]) }])

    /// The middle of the time in which the certificates are valid.
    private static let middle = (SignedSamples.validity.lowerBound + SignedSamples.validity.upperBound) / 2
    private static let dateStep: Int64 = 10 * 86_400_000

    /// An input is a date, in steps from the middle, and certificates, each behind its count.
    static func check(_ bytes: [UInt8]) -> Bool {
        var input = InputReader(bytes)
        let date = middle + Int64(Int8(bitPattern: input.byte())) * dateStep
        var path: [[UInt8]] = []
        while !input.isAtEnd { path.append(input.field()) }
        switch reason(of: path, signedDate: date) {
        // What is told of a signature is told only behind a path that was believed.
        case .invalidSignature:
            checkIssued(path)
            require(SignedSamples.validity.contains(date), "a certificate was not valid at the date")
            return true
        case .certificateExpired:
            checkIssued(path)
            require(!SignedSamples.validity.contains(date), "all certificates were valid at the date")
            return true
        case .malformed, .unsupportedAlgorithm, .invalidCertificateChain, .untrustedRoot: return false
        case .invalidPayload, .wrongApp, .wrongEnvironment:
            fatalError("the signature is said to be good, which no key has made")
        }
    }

    private static func reason(of path: [[UInt8]], signedDate: Int64) -> VerificationFailure.Reason {
        let list = path.map { "\"\(Data($0).base64EncodedString())\"" }.joined(separator: ",")
        let payload = TransactionPayload(
            transactionID: "1", bundleID: "com.example.game", productID: "gems", purchaseDate: signedDate,
            signedDate: signedDate, environment: .sandbox)
        let header = Array(#"{"alg":"ES256","x5c":[\#(list)]}"#.utf8)
        let parts = [header, payload.json(), [UInt8](repeating: 1, count: 64)]
        let jws = parts.map { Base64.encodeURL($0) }.joined(separator: ".")
        do throws(VerificationFailure) {
            _ = try verifier.verify(transaction: Array(jws.utf8), now: signedDate)
            fatalError("the property does not hold: a signature is accepted that no key has made")
        } catch {
            return error.reason
        }
    }

    /// Changes the date, or one certificate.
    static func change(_ input: [UInt8], _ number: UInt32, _ body: ([UInt8]) -> [UInt8]) -> [UInt8] {
        var choice = Choice(number)
        var reader = InputReader(input)
        var date = reader.byte()
        var path: [[UInt8]] = []
        while !reader.isAtEnd { path.append(reader.field()) }
        guard choice.of(8) > 0, !path.isEmpty else { return body(input) }
        let part = choice.of(path.count + 2)
        switch part {
        case path.count: date = UInt8(choice.of(256))
        case path.count + 1: path[choice.of(path.count)] = issued[choice.of(issued.count)]
        case _: path[part] = Array(body(path[part]).prefix(0xFFFF))
        }
        return [date] + path.flatMap(\.asField)
    }

    // MARK: A second opinion

    private static func checkIssued(_ path: [[UInt8]]) {
        require(path.count == 3, "a path has three certificates")
        for (certificate, mine) in zip(path, issued).prefix(2) {
            let isIssued = signedPart(certificate).starts(with: toBeSigned(mine))
            require(isIssued, "a certificate is believed that nobody issued")
        }
        require(isSigned(path[0], byKeyOf: issued[1]), "the leaf's signature is good")
        require(isSigned(path[1], byKeyOf: issued[2]), "the intermediate's signature is good")
        // Nothing else of it is used.
        let key = withCertificate(issued[2]) { publicKey(of: $0) }
        require(Data(path[2]).range(of: key) != nil, "the third certificate has the key that issued the second")
    }

    /// What stands in a certificate's outer sequence (X.690 §8.1).
    private static func signedPart(_ der: [UInt8]) -> ArraySlice<UInt8> { der.dropFirst(headerBytes(der[...])) }

    /// The first element in that sequence, of a certificate of which it is known that it is DER.
    private static func toBeSigned(_ der: [UInt8]) -> ArraySlice<UInt8> {
        let rest = signedPart(der)
        let header = headerBytes(rest)
        let length = rest.dropFirst(2).prefix(header - 2).reduce(0) { $0 << 8 | Int($1) }
        return rest.prefix(header + length)
    }

    /// Of an element's tag and length.
    private static func headerBytes(_ der: ArraySlice<UInt8>) -> Int {
        guard let length = der.dropFirst().first, length > 0x80 else { return 2 }
        return 2 + Int(length & 0x7F)
    }

    private static func publicKey(of certificate: OpaquePointer) -> Data {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &bytes)
        defer { CRYPTO_free(bytes, nil, 0) }
        return Data(UnsafeBufferPointer(start: bytes, count: max(0, Int(count))))
    }

    private static func isSigned(_ der: [UInt8], byKeyOf issuer: [UInt8]) -> Bool {
        withCertificate(der) { certificate in
            withCertificate(issuer) { issuer in
                defer { ERR_clear_error() }
                return X509_verify(certificate, X509_get0_pubkey(issuer)) == 1
            }
        }
    }

    private static func withCertificate<Result>(_ der: [UInt8], _ body: (OpaquePointer) -> Result) -> Result {
        let certificate = der.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            return d2i_X509(nil, &next, bytes.count)
        }
        let read = certain(certificate, "a certificate that was believed")
        defer { X509_free(read) }
        return body(read)
    }

    // MARK: Seeds

    static let seeds: [[UInt8]] = {
        let others = SignedSamples.others.map { certain(Data(base64Encoded: $0).map { [UInt8]($0) }, "a certificate") }
        let paths = [issued, others, [issued[0], issued[1], others[2]], [others[0], issued[1], issued[2]]]
        let whole = issued.flatMap(\.asField)
        // Before the certificates are valid, and after it.
        return paths.map { [0] + $0.flatMap(\.asField) } + [[100] + whole, [156] + whole]
    }()
}
