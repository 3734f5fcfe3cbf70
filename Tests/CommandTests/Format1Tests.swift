import Foundation
import Testing

#if canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A whole ledger that was written when format 1 was frozen (Format1/make.py): every later version opens it, reads it,
/// gives the answers that were given then, and goes on with it.
@Suite struct Format1Tests {
    private static let kept = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Format1")
    /// The last block, and what the other program counted up to there.
    private static let counts =
        "blocks: 35, entries: 27, transfers: 36, purchases: 5, signed: 13, accounts: 8, erased: 0"
    private static let head =
        "head: 35 460b6f5a5c3797a28caccbd794c317c654255970f61781defa2f37b87d80b8d7"

    /// One request of those days.
    private struct Question {
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

        static func all() throws -> [Question] {
            try String(contentsOf: kept.appendingPathComponent("questions.jsonl"), encoding: .utf8)
                .split(separator: "\n").map { try Question($0) }
        }
    }

    /// A connection that sends and reads lines, so that nothing of today's client stands between.
    private final class Line {
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
    private static func says(_ today: Any, _ then: Any) -> Bool {
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

    private static func unpacked() throws -> TemporaryFolder {
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

    private static func verified(_ folder: TemporaryFolder) throws -> String {
        let script = Command.root.appendingPathComponent("Schema/verify/verify_log.py").path
        let verified = try Command.run(
            URL(fileURLWithPath: "/usr/bin/env"), ["python3", script, folder.path("ledger")])
        try #require(verified.status == 0, "\(verified.output)")
        return verified.output
    }

    private func token(_ role: String) -> String { "\(role)-token-of-format-1" }

    /// With the tables of those days, which may be made anew, and without any.
    @Test(arguments: [true, false])
    func aLedgerOfFormat1IsOpenedReadAndContinued(hasTables: Bool) throws {
        let folder = try Self.unpacked()
        if !hasTables { try FileManager.default.removeItem(atPath: folder.path("ledger/projection.sqlite")) }
        #expect(try Self.verified(folder).contains(Self.counts))

        var service = try RunningService(folder)
        var lines = try ["purchases", "game", "finance", "admin"].reduce(into: [String: Line]()) {
            $0[$1] = try Line(service.address, token: token($1))
        }
        let questions = try Question.all()
        #expect(questions.count == 56)
        for question in questions {
            let today = try #require(lines[question.role]).ask(question.method, question.params)
            #expect(
                Self.says(today, question.reply), "\(question.method) \(question.params): \(today), \(question.reply)")
        }
        // Nothing of all that was new. What is new comes behind it.
        let spent = try #require(lines["game"]).ask(
            "spend",
            ["key": "new", "account": "Zoë 語", "debits": [["currency": "gems", "amount": 90]]])
        #expect(spent["entry"] as? Int == 28)
        let drawn = spent["drawn"] as? [NSDictionary]
        #expect(drawn?.first?["transactionId"] as? String == "2000000000000002")
        lines = [:]
        #expect(service.stop() == 0)
        #expect(try Self.verified(folder).contains("entries: 28, transfers: 37, purchases: 5"))

        service = try RunningService(folder)
        let game = try Line(service.address, token: token("game"))
        let balance = try game.ask("balance", ["account": "Zoë 語", "currency": "gems"])
        let gems = (balance["balances"] as? NSDictionary)?["gems"] as? NSDictionary
        #expect(gems?["available"] as? Int == 2_900)
        let forgotten = try Line(service.address, token: token("admin")).ask("forget", ["account": "Zoë 語"])
        #expect(forgotten["erased"] as? Bool == true)
        #expect(service.stop() == 0)
        #expect(try Self.verified(folder).contains("accounts: 8, erased: 1"))
    }

    /// The bytes that another program reads.
    @Test func theFrozenLedgerIsTheOneThatWasWritten() throws {
        let folder = try Self.unpacked()
        let output = try Self.verified(folder)
        #expect(output.contains("ledger: com.example.game Sandbox"))
        #expect(output.contains(Self.counts) && output.contains(Self.head))
    }
}
