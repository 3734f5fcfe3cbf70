import Foundation

/// HTTP/1.1 by hand, over a socket: what it sends is just what a test says.
struct HTTPClient {
    struct Response {
        let status: Int
        let headers: [String: String]
        let body: String
        /// Null where there is no body.
        let json: JSON
    }

    let raw: RawClient

    init(_ raw: RawClient) { self.raw = raw }

    /// A request as clients write it.
    /// - Parameters:
    ///   - host: as whom it asks the server.
    ///   - headers: beside those that every client sends.
    static func request(
        _ path: String, _ body: String, method: String = "POST", host: String = "localhost", token: String? = nil,
        headers: [String] = ["Content-Type: application/json"]
    ) -> String {
        let token = token.map { ["Authorization: Bearer \($0)"] } ?? []
        let lines = ["\(method) \(path) HTTP/1.1", "Host: \(host)"] + headers + token
        return (lines + ["Content-Length: \(body.utf8.count)", "", body]).joined(separator: "\r\n")
    }

    static func rpc(_ body: String, token: String? = nil) -> String { request("/v1/rpc", body, token: token) }

    static func notification(_ jws: String) -> String {
        request("/app-store/notifications", #"{"signedPayload":"\#(jws)"}"#)
    }

    func send(_ text: String) async throws { try await raw.send(text) }

    /// A request whose body comes in chunks, which are sent apart.
    static func chunked(_ path: String, token: String? = nil) -> String {
        let token = token.map { "Authorization: Bearer \($0)\r\n" } ?? ""
        return "POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\(token)"
            + "Transfer-Encoding: chunked\r\n\r\n"
    }

    static func chunk(_ text: String) -> String { "\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n" }

    /// The next response; `nil` where the server has closed.
    /// - Parameter hasBody: whether it is one to a method that gets a body (RFC 9110 §9.3.2).
    func response(hasBody: Bool = true) async throws -> Response? {
        guard let first = try await raw.line() else { return nil }
        let status = Int(first.split(separator: " ").dropFirst().first ?? "") ?? 0
        var headers: [String: String] = [:]
        while let line = try await raw.line(), line != "\r" {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { throw Malformed(line: line) }
            headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespacesAndNewlines)
        }
        let bytes = try await raw.bytes(hasBody ? Int(headers["content-length"] ?? "0") ?? 0 : 0)
        let body = String(decoding: bytes, as: UTF8.self)
        return Response(status: status, headers: headers, body: body, json: try JSON(body.isEmpty ? "null" : body))
    }

    func ask(_ request: String) async throws -> Response {
        try await send(request)
        guard let response = try await response() else { throw Closed() }
        return response
    }

    struct Closed: Error {}

    struct Malformed: Error {
        let line: String
    }
}
