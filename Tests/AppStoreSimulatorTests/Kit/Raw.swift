import AppStore
import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import StrictJSON

@testable import AppStoreSimulator

/// Requests that no client sends.
enum Raw {
    enum Claim {
        case text(String)
        case number(Int64)
    }

    /// - Returns: the status, and the members of the answer where that is an object of JSON.
    static func send(
        _ method: HTTPMethod, _ url: String, body: String? = nil, token: String? = nil, headers: [String: String] = [:]
    ) async throws -> (status: UInt, answer: [String: String]) {
        var request = HTTPClientRequest(url: url)
        request.method = method
        if let token { request.headers.add(name: "Authorization", value: "Bearer \(token)") }
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let body { request.body = .bytes(ByteBuffer(string: body)) }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        let bytes = Array(try await response.body.collect(upTo: 1 << 20).readableBytesView)
        return (response.status.code, (try? JSONMembers.read(bytes)) ?? [:])
    }

    /// A token that is good, but for what is said.
    static func token(
        header changes: [String: String] = [:], claims: [String: Claim]? = nil, key: ES256PrivateKey? = nil
    ) throws -> String {
        let now = SystemTime.now() / 1_000
        let header = ["alg": "ES256", "kid": Store.keyID, "typ": "JWT"].merging(changes) { $1 }
        let claims =
            claims ?? [
                "iss": .text(Store.issuerID), "aud": .text("appstoreconnect-v1"), "bid": .text(Store.bundleID),
                "iat": .number(now), "exp": .number(now + 1_200),
            ]
        let input =
            Base64.encodeURL(object(header.mapValues { Claim.text($0) })) + "." + Base64.encodeURL(object(claims))
        return input + "." + Base64.encodeURL(try (key ?? Store.key).sign(Array(input.utf8)))
    }

    private static func object(_ members: [String: Claim]) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        for (name, value) in members {
            writer.key(name)
            switch value {
            case .text(let text): writer.string(text)
            case .number(let number): writer.integer(number)
            }
        }
        writer.endObject()
        return writer.bytes
    }
}
