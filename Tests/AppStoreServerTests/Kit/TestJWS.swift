import StrictJSON
import Testing

@testable import AppStore
@testable import AppStoreServer

/// A compact JWS, taken apart and verified with the tests' public key.
struct TestJWS {
    var header: [String: String]
    /// Texts as they are, numbers and booleans as JSON writes them.
    var claims: [String: String]

    /// Fails the test where the signature is not one of that key.
    init(_ text: String) throws {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        try #require(parts.count == 3)
        let signature = try #require(Base64.decodeURL(Array(parts[2].utf8)[...]))
        let claim = SignatureClaim(
            key: try Key(publicPEM: TestKeys.publicPEM), digest: SHA256.hash(Array("\(parts[0]).\(parts[1])".utf8)),
            signature: signature)
        try #require(SignatureCheck.verify([claim], doubtfulMax: 1) == [true])
        header = try TestJWS.members(parts[0])
        claims = try TestJWS.members(parts[1])
    }

    private static func members(_ part: Substring) throws -> [String: String] {
        try JSONObject.members(try #require(Base64.decodeURL(Array(part.utf8)[...])))
    }
}

/// An object of JSON as a dictionary.
enum JSONObject {
    /// Texts as they are, anything else as JSON writes it.
    static func members(_ json: [UInt8]) throws -> [String: String] {
        try JSONBody.read(json) { (reader) throws(JSONError) in
            var members: [String: String] = [:]
            try reader.object { (reader, key) throws(JSONError) in
                let name = key.string
                if try reader.peek() == .string {
                    members[name] = try reader.string()
                } else {
                    let range = try reader.raw()
                    members[name] = String(decoding: reader.bytes(range), as: UTF8.self)
                }
            }
            return members
        }
    }
}
