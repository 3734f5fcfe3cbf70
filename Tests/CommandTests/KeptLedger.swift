import Foundation
import Testing

#if canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A whole ledger that was written when a format was frozen, beside the answers that it gave: every later version opens
/// it, reads it, gives these answers, and goes on with it.
struct KeptLedger {
    /// Where it is kept: a folder beside this file, with the program that made it.
    let kept: URL

    init(_ name: String) {
        kept = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(name)
    }

    func questions() throws -> [Question] {
        try String(contentsOf: kept.appendingPathComponent("questions.jsonl"), encoding: .utf8)
            .split(separator: "\n").map { try Question($0) }
    }

    /// Asks a running service everything again; what it says must be what was said then, or more.
    func ask(_ lines: [String: Line]) throws {
        for question in try questions() {
            let today = try #require(lines[question.role]).ask(question.method, question.params)
            #expect(
                Self.says(today, question.reply), "\(question.method) \(question.params): \(today), \(question.reply)")
        }
    }

    /// A connection of each role.
    func lines(_ address: String) throws -> [String: Line] {
        try ["purchases", "game", "finance", "admin"].reduce(into: [:]) {
            $0[$1] = try Line(address, token: token($1))
        }
    }

    func token(_ role: String) -> String { "\(role)-token-of-format-1" }

    /// One request of those days.
    struct Question {
        var role: String
        var method: String
        var params: [String: Any]
        var reply: NSDictionary

        init(_ line: Substring) throws {
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            role = try #require(object["role"] as? String)
            method = try #require(object["method"] as? String)
            params = try #require(object["params"] as? [String: Any])
            reply = try #require(object["reply"] as? NSDictionary)
        }

    }

    /// A connection that sends and reads lines, so that nothing of today's client stands between.
    final class Line {
        private let descriptor: Int32
        private var rest = Data()

        init(_ address: String, token: String) throws {
            let parts = address.split(separator: ":")
            let port = try #require(UInt16(parts[1]))
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var place = sockaddr_in()
            place.sin_family = sa_family_t(AF_INET)
            place.sin_port = port.bigEndian
            place.sin_addr.s_addr = inet_addr(String(parts[0]))
            let size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let code = withUnsafePointer(to: &place) { place in
                place.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) }
            }
            try #require(code == 0)
            _ = try ask("authenticate", ["token": token])
        }

        deinit { close(descriptor) }

        /// The result, or the error.
        func ask(_ method: String, _ params: [String: Any]) throws -> NSDictionary {
            var line = try JSONSerialization.data(
                withJSONObject: ["jsonrpc": "2.0", "id": 1, "method": method, "params": params])
            line.append(0x0A)
            let sent = line.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, 0) }
            try #require(sent == line.count)
            while !rest.contains(0x0A) {
                var bytes = [UInt8](repeating: 0, count: 65_536)
                let count = recv(descriptor, &bytes, bytes.count, 0)
                try #require(count > 0)
                rest.append(contentsOf: bytes[..<count])
            }
            let end = try #require(rest.firstIndex(of: 0x0A))
            let reply = try #require(
                try JSONSerialization.jsonObject(with: rest[..<end]) as? [String: Any])
            rest = Data(rest[(end + 1)...])
            return try #require((reply["result"] ?? reply["error"]) as? NSDictionary)
        }
    }

    /// Whether a reply of today says all that the one of then said; it may say more.
    static func says(_ today: Any, _ then: Any) -> Bool {
        switch (today, then) {
        case (let today as NSDictionary, let then as NSDictionary):
            return then.allSatisfy { key, value in today[key].map { says($0, value) } ?? false }
        case (let today as NSArray, let then as NSArray):
            return today.count == then.count && zip(today, then).allSatisfy { says($0, $1) }
        case (let today as NSObject, let then as NSObject):
            return today == then
        case _:
            return false
        }
    }

    func unpacked() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        for name in ["catalog.json", "ledger.json", "root.der"] {
            try FileManager.default.copyItem(
                atPath: kept.appendingPathComponent(name).path, toPath: folder.path(name))
        }
        let archive = kept.appendingPathComponent("ledger.tar.gz").path
        let tar = try Command.run(URL(fileURLWithPath: "/usr/bin/env"), ["tar", "xzf", archive, "-C", folder.url.path])
        try #require(tar.status == 0, "\(tar.error)")
        return folder
    }

    static func verified(_ folder: TemporaryFolder) throws -> String {
        let script = Command.root.appendingPathComponent("Schema/verify/verify_log.py").path
        let verified = try Command.run(
            URL(fileURLWithPath: "/usr/bin/env"), ["python3", script, folder.path("ledger")])
        try #require(verified.status == 0, "\(verified.output)")
        return verified.output
    }
}
