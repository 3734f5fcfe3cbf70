package import AppStore
internal import AppStoreServer
internal import StrictJSON

/// The key with which callers of the API sign: a pair, of which App Store Connect gives the private half out.
package struct CallerKey: Sendable {
    package let keyID: String
    package let issuerID: String
    package let key: ES256PrivateKey

    package init(key: ES256PrivateKey, keyID: String, issuerID: String) {
        self.key = key
        self.keyID = keyID
        self.issuerID = issuerID
    }
}

/// Checks the tokens of callers as Apple documents them ("Generating JSON Web Tokens for API requests").
struct TokenCheck: Sendable {
    let key: CallerKey
    let bundleID: String

    private static let audience = "appstoreconnect-v1"

    /// What is wrong with a request's token; `nil` where nothing is.
    /// - Parameters:
    ///   - authorization: the header's value.
    ///   - now: milliseconds since the UNIX epoch.
    func fault(_ authorization: String?, now: Int64) -> String? {
        guard let authorization else { return "there is no Authorization" }
        let scheme = "Bearer "
        guard authorization.hasPrefix(scheme) else { return "Authorization is not Bearer and a token" }
        let parts = authorization.dropFirst(scheme.count).split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64.decodeURL(Array(parts[0].utf8)[...]),
            let payload = Base64.decodeURL(Array(parts[1].utf8)[...]),
            let signature = Base64.decodeURL(Array(parts[2].utf8)[...])
        else { return "the token is not three parts in base64url" }
        do throws(JSONError) {
            if let fault = try JSONBody.read(header, headerFault) { return fault }
            guard key.key.verifies(signature, of: Array("\(parts[0]).\(parts[1])".utf8)) else {
                return "the signature is not that of the key \(key.keyID)"
            }
            return try JSONBody.read(payload) { (reader) throws(JSONError) in
                try payloadFault(&reader, now: now / 1_000)
            }
        } catch {
            return "the token: \(error)"
        }
    }

    private func headerFault(_ reader: inout JSONReader) throws(JSONError) -> String? {
        var algorithm: String?, keyID: String?, type: String?
        try reader.object { (reader, name) throws(JSONError) in
            switch name {
            case "alg": algorithm = try reader.string()
            case "kid": keyID = try reader.string()
            case "typ": type = try reader.string()
            default: try reader.skip()
            }
        }
        if algorithm != "ES256" { return "alg is not ES256" }
        if keyID != key.keyID { return "kid is not \(key.keyID)" }
        if type != "JWT" { return "typ is not JWT" }
        return nil
    }

    private func payloadFault(_ reader: inout JSONReader, now: Int64) throws(JSONError) -> String? {
        var issuer: String?, audience: String?, app: String?, issuedAt: Int64?, expiresAt: Int64?
        try reader.object { (reader, name) throws(JSONError) in
            switch name {
            case "iss": issuer = try reader.string()
            case "aud": audience = try reader.string()
            case "bid": app = try reader.string()
            case "iat": issuedAt = try reader.integer()
            case "exp": expiresAt = try reader.integer()
            default: try reader.skip()
            }
        }
        if issuer != key.issuerID { return "iss is not \(key.issuerID)" }
        if audience != TokenCheck.audience { return "aud is not \(TokenCheck.audience)" }
        if app != bundleID { return "bid is not \(bundleID)" }
        guard let issuedAt, let expiresAt else { return "iat or exp is missing" }
        let skew = SimulatorLimits.clockSecondsMax
        // Far away numbers would overflow.
        guard (0...now + skew).contains(issuedAt) else { return "iat is in the future" }
        guard (now - skew..<Int64.max).contains(expiresAt) else { return "exp is past" }
        guard expiresAt - issuedAt <= SimulatorLimits.tokenSecondsMax else {
            return "exp is more than an hour after iat"
        }
        return nil
    }
}
