import Foundation
import LedgerWire

/// A browser without a screen: it keeps its cookie, and sends forms as one does.
struct ConsoleBrowser {
    struct Page {
        let status: Int
        /// Each name once; cookies apart.
        let headers: [String: String]
        let body: String

        var title: String { body.firstMatch(of: /<h1>([^<]*)/).map { String($0.1) } ?? "" }
    }

    let address: ServerAddress
    /// As the server set it.
    var cookie: String?

    /// - Parameter from: the origin of the page on which the form stands; `nil` where nobody says it.
    func head(_ method: String, _ target: String, host: String = "localhost", from origin: String?, bytes: Int)
        -> String
    {
        var lines = ["\(method) \(target) HTTP/1.1", "Host: \(host)"]
        if let origin { lines.append("Origin: \(origin)") }
        if let cookie { lines.append("Cookie: other=1; \(cookie)") }
        if method == "POST" {
            lines += ["Content-Type: application/x-www-form-urlencoded", "Content-Length: \(bytes)"]
        }
        return (lines + ["", ""]).joined(separator: "\r\n")
    }

    func get(_ target: String, host: String = "localhost", method: String = "GET") async throws -> Page {
        let client = try await RawClient(address)
        try await client.send(head(method, target, host: host, from: nil, bytes: 0))
        return try await Self.page(of: client, hasBody: method != "HEAD")
    }

    func post(
        _ target: String, _ form: String, from origin: String? = "http://localhost", over client: RawClient? = nil
    ) async throws -> Page {
        let client = if let client { client } else { try await RawClient(address) }
        try await client.send(head("POST", target, from: origin, bytes: form.utf8.count) + form)
        return try await Self.page(of: client)
    }

    mutating func signIn(_ token: String) async throws -> Page {
        let page = try await post("/login", "user=ledger+console&token=\(token)")
        cookie = page.headers["set-cookie"]?.split(separator: ";").first.map(String.init)
        return page
    }

    static func page(of client: RawClient, hasBody: Bool = true) async throws -> Page {
        guard let first = try await client.line() else { throw Closed() }
        var headers: [String: String] = [:]
        while let line = try await client.line(), line != "\r" {
            let parts = line.split(separator: ":", maxSplits: 1)
            headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespacesAndNewlines)
        }
        let count = hasBody ? Int(headers["content-length"] ?? "0") ?? 0 : 0
        return Page(
            status: Int(first.split(separator: " ")[1]) ?? 0, headers: headers,
            body: String(decoding: try await client.bytes(count), as: UTF8.self))
    }

    struct Closed: Error {}
}
