import AppStore
import Foundation
import Ledger
import LedgerClient
import LedgerTestKit
import LedgerWire
import Testing

@testable import HeadSigning

/// The signed head, as a service gives it and an auditor holds the ledger to it.
@Suite struct SignedHeadTests {
    private static let key = """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
        -----END PRIVATE KEY-----

        """
    private static let publicKey = """
        -----BEGIN PUBLIC KEY-----
        MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=
        -----END PUBLIC KEY-----

        """
    /// RFC 8032 §7.1, test 2.
    private static let otherPublicKey = """
        -----BEGIN PUBLIC KEY-----
        MCowBQYDK2VwAyEAPUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=
        -----END PUBLIC KEY-----

        """

    private static func studio() throws -> Studio {
        let studio = try Studio()
        try studio.folder.write("head.pem", key)
        try studio.folder.write("head.pub.pem", publicKey)
        try studio.folder.write("other.pub.pem", otherPublicKey)
        #expect(chmod(studio.folder.path("head.pem"), 0o600) == 0)
        return studio
    }

    private static func service(_ studio: Studio, _ more: [String] = []) throws -> RunningService {
        try RunningService(
            studio.folder,
            arguments: [
                "--head-key", studio.folder.path("head.pem"), "--head-public-key", studio.folder.path("head.pub.pem"),
            ] + more)
    }

    private static func audit(_ studio: Studio, _ heads: [String], key: String = "head.pub.pem") throws -> Finished {
        try Command.run(
            ["audit", "--config", studio.folder.path("ledger.json"), "--head-key", studio.folder.path(key)]
                + heads.flatMap { ["--head", studio.folder.path($0)] })
    }

    private static func work(_ client: LedgerClient, _ studio: Studio, _ numbers: Range<Int>) async throws {
        let gems = try #require(CurrencyCode("gems"))
        for number in numbers {
            let account = try #require(AccountName("player-\(number % 5)"))
            _ = try await client.credit(signedTransaction: try studio.purchase(number), account: account)
            _ = try await client.spend(
                account: account, debits: [CurrencyAmount(currency: gems, amount: try #require(Amount(7)))],
                key: .timeOrdered())
        }
    }

    @Test func aLedgerIsHeldToWhatWasSignedOfIt() async throws {
        let studio = try Self.studio()
        let service = try Self.service(studio, ["--head-file", studio.folder.path("head.jws"), "--head-seconds", "1"])
        let client = try await service.client()
        var lines: [String] = []
        for round in 0..<6 {
            try await Self.work(client, studio, round * 5..<round * 5 + 5)
            let head = try await client.head()
            let jws = try #require(head.signature)
            let signed = try SignedHead(jws: jws.utf8, key: try Ed25519PublicKey(pem: Array(Self.publicKey.utf8)))
            #expect(signed.block == head.block && signed.hash.hexadecimal == head.hash)
            #expect(signed.entry == head.entry && signed.time == head.time && head.entry == Int64(round * 10 + 10))
            let purchased = signed.totals[1, .purchased]
            #expect(purchased.debits == Int128(round * 5 + 5) * 500 && purchased.credits == 0)
            lines.append(jws)
        }
        // Lines without a head count as lines.
        try studio.folder.write("heads", "\n" + lines.joined(separator: "\n") + "\n\n")
        // Beside the service, with the file that it writes once a second.
        for _ in 0..<1_000 where !FileManager.default.fileExists(atPath: studio.folder.path("head.jws")) {
            try await Task.sleep(for: .milliseconds(10))
        }
        for _ in 0..<2 {
            let audited = try Self.audit(studio, ["heads", "head.jws"])
            #expect(audited.status == 0, "\(audited.output)\(audited.error)")
            #expect(audited.output.contains("7 signed heads hold"), "\(audited.output)")
            try await Self.work(client, studio, 30..<32)
        }
        try await client.close()
        #expect(service.stop() == 0)
        // The last one is of the end.
        let last = try String(contentsOfFile: studio.folder.path("head.jws"), encoding: .utf8)
        let end = try SignedHead(
            jws: last.trimmingCharacters(in: .newlines).utf8,
            key: try Ed25519PublicKey(pem: Array(Self.publicKey.utf8)))
        let audited = try Self.audit(studio, ["head.jws"])
        #expect(audited.status == 0 && audited.output.contains("head: block \(end.block),"), "\(audited.output)")

        let stranger = try Self.audit(studio, ["heads"], key: "other.pub.pem")
        #expect(stranger.status == 1 && stranger.output.contains("heads, line 7: is signed by the key kPrK_"))
        let none = try Self.audit(studio, ["head.pem"])
        #expect(none.status == 1 && none.output.contains("is no signed head"), "\(none.output)")
        try Self.everyOtherStatementIsNamed(studio, end)
        try await Self.aLedgerThatWentBackIsNamed(studio, lines)
    }

    /// Anything else that the operator signed.
    private static func everyOtherStatementIsNamed(_ studio: Studio, _ end: SignedHead) throws {
        var cases: [(SignedHead, String)] = []
        func add(_ words: String, _ change: (inout SignedHead) -> Void) {
            var other = end
            change(&other)
            cases.append((other, words))
        }
        add("the block's hash is") { $0.hash = .zero }
        add("ends with block \(end.block)") { $0.block += 1 }
        add("no ledger has such a block") { $0.block = 0 }
        add("the block's hash is") { $0.block -= 1 }
        add("the block's time is \(end.time), and \(end.time + 1) was signed") { $0.time += 1 }
        add("the last entry is \(end.entry), and \(end.entry + 1) was signed") { $0.entry += 1 }
        add("it is a head of another ledger: of com.example.game in Production") { $0.environment = "Production" }
        add("it is a head of another ledger") { $0.bundleID = "com.example.other" }
        add("it names this ledger's app and environment, but another digest of them: 0000") { $0.identity = .zero }
        add("the currencies are gems, and none were signed") { $0.currencies = [] }
        for kind in AccountKind.allCases {
            add("\(kind.name) of gems has debits") { $0.totals[1, kind].credits += 1 }
            add("\(kind.name) of gems has debits") { $0.totals[1, kind].debits += 1 }
        }
        let key = try Ed25519PrivateKey(pem: Array(Self.key.utf8))
        try studio.folder.write("wrong", try cases.map { try $0.0.jws(by: key) }.joined(separator: "\n"))
        let audited = try audit(studio, ["wrong"])
        #expect(audited.status == 1 && audited.output.contains("0 signed heads hold"), "\(audited.output)")
        let told = audited.output.split(separator: "\n")
        for (index, (_, words)) in cases.enumerated() {
            #expect(told.contains { $0.contains("wrong, line \(index + 1):") && $0.contains(words) }, "\(words)")
        }
    }

    /// A ledger that was begun again is not the one of which heads were signed.
    private static func aLedgerThatWentBackIsNamed(_ studio: Studio, _ lines: [String]) async throws {
        try FileManager.default.removeItem(atPath: studio.folder.path("ledger"))
        let service = try service(studio)
        let client = try await service.client()
        try await work(client, studio, 0..<2)
        try await client.close()
        #expect(service.stop() == 0)
        let audited = try audit(studio, ["heads"])
        #expect(audited.status == 1 && audited.output.contains("0 signed heads hold"), "\(audited.output)")
        #expect(audited.output.contains("heads, line \(lines.count + 1): it was signed, and the log ends with block"))
    }

    @Test func whileALedgerIsBusyBlockAndTotalsAreOfOneMoment() async throws {
        let studio = try Self.studio()
        let service = try Self.service(studio)
        let (client, reader) = (try await service.client(), try await service.client())
        let gems = try #require(CurrencyCode("gems"))
        let player = try #require(AccountName("player"))
        async let load: Void = client.pipeline(
            count: 20_000, inFlight: 200,
            write: { index, id, writer in
                writer.write(
                    Methods.grant,
                    Grant(key: RequestKey("g\(index)")!, account: player, currency: gems, amount: Amount(3)!), id: id)
            }, reply: { _, _ in })
        var lines: [String] = []
        for _ in 0..<30 { lines.append(try #require(try await reader.head().signature)) }
        try await load
        #expect(Set(lines).count > 5)
        try studio.folder.write("heads", lines.joined(separator: "\n"))
        #expect(service.stop() == 0)
        let audited = try Self.audit(studio, ["heads"])
        #expect(audited.status == 0 && audited.output.contains("30 signed heads hold"), "\(audited.output)")
    }

    @Test func aServiceWithoutAKeyGivesItsHeadUnsigned() async throws {
        let studio = try Self.studio()
        let service = try RunningService(studio.folder)
        let client = try await service.client()
        let head = try await client.head()
        #expect(head.signature == nil && head.block >= 1 && head.hash.count == 64)
        try await client.close()
        #expect(service.stop() == 0)
    }

    @Test func whereTheHeadCannotBeWrittenServingGoesOnAndItIsTriedAgain() async throws {
        let studio = try Self.studio()
        let path = studio.folder.path("heads/head.jws")
        let service = try Self.service(studio, ["--head-file", path, "--head-seconds", "1"])
        let client = try await service.client()
        let message = "the signed head could not be written; it is tried again"
        while try !service.said.contains(message) { try await Task.sleep(for: .milliseconds(20)) }
        try await Task.sleep(for: .milliseconds(2_500))
        try await Self.work(client, studio, 0..<3)
        #expect(try service.said.components(separatedBy: message).count == 2, "it is said once")
        try FileManager.default.createDirectory(
            atPath: studio.folder.path("heads"), withIntermediateDirectories: false)
        while try !service.said.contains("the signed head is written again") {
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(try Self.audit(studio, ["heads/head.jws"]).status == 0)
        try await client.close()
        #expect(service.stop() == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: studio.folder.path("heads")) == ["head.jws"])
    }

    @Test func aKeyThatCannotBeUsedIsNamedAtTheStart() throws {
        let studio = try Self.studio()
        func fault(_ arguments: [String]) throws -> String {
            let finished = try Command.run(
                ["serve", "--create", "--config", studio.folder.path("ledger.json")] + arguments)
            #expect(finished.status == 78, "\(arguments): \(finished.error)")
            return finished.error
        }
        func keyFault(_ name: String) throws -> String { try fault(["--head-key", studio.folder.path(name)]) }
        #expect(try keyFault("nothing").contains("nothing: cannot be read: there is no such file"))
        #expect(chmod(studio.folder.path("head.pem"), 0o640) == 0)
        #expect(try keyFault("head.pem").contains("is a secret that others may read or change (mode 640)"))
        #expect(chmod(studio.folder.path("head.pem"), 0o600) == 0)
        for (name, text, words) in [
            ("text", "a key", "is no key in PEM"), ("public", Self.publicKey, "holds PUBLIC KEY"),
            ("encrypted", Self.key.replacing("PRIVATE", with: "ENCRYPTED PRIVATE"), "is encrypted"),
            ("agreement", Self.key.replacing("K2VwBCIE", with: "K2VuBCIE"), "holds a key of X25519, not of Ed25519"),
        ] {
            try studio.folder.write(name, text)
            #expect(chmod(studio.folder.path(name), 0o600) == 0)
            let error = try keyFault(name)
            #expect(error.contains(words) && error.contains("(it is named by head.key)"), "\(error)")
        }
        #expect(try fault(["--head-file", "x"]).contains("head.key: is required where head.file is given"))
        #expect(
            try fault(["--head-key", studio.folder.path("head.pem"), "--head-seconds", "0"]).contains("1 to 86400"))
        let pair = ["--head-key", studio.folder.path("head.pem"), "--head-public-key"]
        #expect(try fault(pair + [studio.folder.path("other.pub.pem")]).contains("is not the public key of head.key"))
        #expect(!FileManager.default.fileExists(atPath: studio.folder.path("ledger")), "nothing was made")
        // Of an audit.
        let config = ["audit", "--config", studio.folder.path("ledger.json"), "--head", studio.folder.path("head.pem")]
        #expect(try Command.run(config).error.contains("--head needs the key that verifies it"))
        #expect(try Command.run(["audit", "--head", "x"]).status == 64)
        #expect(try Command.run(["audit", "--head-key", "x"]).status == 64)
    }

    /// As the page says: with nothing of this program.
    @Test func anotherProgramVerifiesAHead() async throws {
        let tool = URL(fileURLWithPath: "/usr/bin/openssl")
        guard FileManager.default.isExecutableFile(atPath: tool.path) else { return }
        let studio = try Self.studio()
        let service = try Self.service(studio)
        let client = try await service.client()
        let jws = try #require(try await client.head().signature)
        try await client.close()
        #expect(service.stop() == 0)
        try studio.folder.write("head.jws", jws + "\n")
        let page = try PageBlocks("Sources/HeadSigning/HeadSigning.docc/SignedHead.md")
        let shell = try #require(page.blocks(in: ["sh"]).first { $0.text.contains("pkeyutl") }).text
        let finished = try Command.run(
            URL(fileURLWithPath: "/bin/sh"), ["-c", "cd '\(studio.folder.url.path)' && \(shell)"])
        #expect(finished.output.contains("Signature Verified Successfully"), "\(finished.output)\(finished.error)")
        #expect(finished.output.contains(#""bundleId":"com.example.game""#), "\(finished.output)")
    }
}
