public import AppStore
internal import StrictJSON

/// The In-App Purchase key that App Store Connect gives a team: a private key, its id, and whose it is.
///
/// The private key is in nothing that this value shows of itself, and in no error.
public struct InAppPurchaseKey: Sendable {
    /// What App Store Connect calls the key, such as `2X9R4HXF34`.
    public let keyID: String
    /// What App Store Connect calls the team: a UUID.
    public let issuerID: String
    private let privateKey: ES256PrivateKey

    /// - Parameters:
    ///   - p8: the file that App Store Connect gave out (`AuthKey_….p8`, `SubscriptionKey_….p8`): PKCS #8 in PEM.
    ///   - keyID: of the same key; it is in the file's name too.
    ///   - issuerID: as "Users and Access", "Integrations" shows it.
    /// - Throws: `KeyFault`, to be read behind the file's name: it is no such key, or an id is not printable ASCII of
    ///   1 … 256 bytes.
    public init(p8: [UInt8], keyID: String, issuerID: String) throws(KeyFault) {
        for (id, name) in [(keyID, "key id"), (issuerID, "issuer id")] {
            guard (1...AppStoreServerLimits.identifierBytesMax).contains(id.utf8.count),
                id.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
            else { throw KeyFault("cannot be used without the \(name) that App Store Connect shows for it") }
        }
        privateKey = try ES256PrivateKey(pem: p8)
        self.keyID = keyID
        self.issuerID = issuerID
    }

    /// A JSON Web Token (RFC 7519) as a compact JWS (RFC 7515 §7.1), with the header that Apple asks for.
    func token(claims: (inout JSONWriter) -> Void) throws(AppStoreServerError) -> String {
        var header = JSONWriter()
        header.beginObject()
        header.member("alg", "ES256")
        header.member("kid", keyID)
        header.member("typ", "JWT")
        header.endObject()
        var payload = JSONWriter()
        payload.beginObject()
        payload.member("iss", issuerID)
        claims(&payload)
        payload.endObject()
        let input = Base64.encodeURL(header.bytes) + "." + Base64.encodeURL(payload.bytes)
        do {
            return input + "." + Base64.encodeURL(try privateKey.sign(Array(input.utf8)))
        } catch { throw .cannotSign("\(error)") }
    }

    /// A signature of a text in DER and base 64 (RFC 4648 §4).
    func signature(of text: String) throws(AppStoreServerError) -> String {
        do {
            let der = try privateKey.signDER(Array(text.utf8))
            var encoded: [UInt8] = []
            der.withUnsafeBufferPointer { Base64.encodeStandard($0, into: &encoded) }
            return String(decoding: encoded, as: UTF8.self)
        } catch { throw .cannotSign("\(error)") }
    }
}

extension InAppPurchaseKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The key's id and its issuer's.
    public var description: String { "key \(keyID) of issuer \(issuerID)" }
    /// The same.
    public var debugDescription: String { description }
    /// The ids alone.
    public var customMirror: Mirror { Mirror(self, children: ["keyID": keyID, "issuerID": issuerID]) }
}
