import AppStore
import Foundation
import Ledger
import LedgerClient
import LedgerWire
import Testing

/// `audit` of a real ledger, as an auditor runs it: beside the service, after it, and on files that were changed.
@Suite struct AuditTests {
    /// A ledger with purchases, refunds, a notification, spends, a hold and an erased name; its service runs.
    private static func filled(_ studio: Studio) async throws -> RunningService {
        let service = try RunningService(studio.folder)
        let client = try await service.client()
        let gems = try #require(CurrencyCode("gems"))
        let ten = try #require(Amount(10))
        for number in 0..<40 {
            let account = try #require(AccountName("player-\(number % 7)"))
            _ = try await client.credit(signedTransaction: try studio.purchase(number), account: account)
            _ = try await client.spend(
                account: account, debits: [CurrencyAmount(currency: gems, amount: ten)], key: .timeOrdered())
        }
        for number in 0..<5 {
            let account = try #require(AccountName("player-\(number)"))
            let refund = try studio.refund(number, share: 20_000, after: 1)
            _ = try await client.credit(signedTransaction: refund, account: account)
            _ = try await client.hold(
                Hold(
                    key: .timeOrdered(), account: account, currency: gems, amount: ten,
                    timeoutMilliseconds: 600_000))
        }
        let transaction = try studio.refund(30, share: nil, after: 2)
        let notification = NotificationPayload(
            notificationType: .init(rawValue: "REFUND"), notificationUUID: "a refund",
            signedDate: studio.now - 10_000,
            data: .init(
                bundleID: "com.example.game", environment: .sandbox, signedTransactionInfo: transaction))
        _ = try await client.notify(signedPayload: try studio.chain.sign(notification))
        #expect(try await client.forget(try #require(AccountName("player-6"))))
        try await client.close()
        return service
    }

    private static func audit(_ studio: Studio, _ more: [String] = []) throws -> Finished {
        try Command.run(["audit", "--config", studio.folder.path("ledger.json")] + more)
    }

    /// As where the service puts new ones in their place.
    @Test func tablesThatAreAwayForAMomentAreWaitedForBesideTheService() async throws {
        let studio = try Studio()
        let service = try await Self.filled(studio)
        let tables = studio.folder.path("ledger/projection.sqlite")
        #expect(rename(tables, tables + ".away") == 0)
        async let isBack = Task.detached {
            try await Task.sleep(for: .milliseconds(500))
            return rename(tables + ".away", tables) == 0
        }.value
        let audited = try await Task.detached { try Self.audit(studio) }.value
        #expect(try await isBack)
        #expect(audited.status == 0, "\(audited.output)\(audited.error)")
        #expect(audited.output.contains("rows of the tables compared"))
        #expect(service.stop() == 0)
    }

    @Test func aLedgerHoldsBesideItsServiceAndAfterIt() async throws {
        let studio = try Studio()
        let service = try await Self.filled(studio)
        for _ in 0..<2 {
            let audited = try Self.audit(studio)
            #expect(audited.status == 0, "\(audited.output)\(audited.error)")
            #expect(audited.output.contains("47 signatures verified"), "\(audited.output)")
            #expect(audited.output.contains("rows of the tables compared"))
            #expect(audited.output.hasSuffix("everything holds\n"))
            #expect(service.stop() == 0)
        }
        let later = try Self.audit(studio, ["--since", "20", "--jobs", "1"])
        #expect(later.status == 0 && !later.output.contains("47 signatures verified"), "\(later.output)")
        // Without the studio's own root nobody signed anything.
        let path = studio.folder.path("ledger")
        let untrusted = try Command.run(["audit", path])
        #expect(untrusted.status == 1 && untrusted.output.contains("47 things do not hold"), "\(untrusted.output)")
        let trusted = try Command.run(["audit", path, "--anchors", studio.folder.path("root.der")])
        #expect(trusted.status == 0, "\(trusted.output)")
    }

    @Test func aChangedBitOfTheLogIsNamedWithItsBlockAndFile() async throws {
        let studio = try Studio()
        #expect(try await Self.filled(studio).stop() == 0)
        let segment = studio.folder.path("ledger/log/00000000000000000001")
        let whole = try Data(contentsOf: URL(fileURLWithPath: segment))
        var damaged = whole
        damaged[30_000] ^= 0x10
        try damaged.write(to: URL(fileURLWithPath: segment))
        let audited = try Self.audit(studio)
        #expect(audited.status == 1)
        let first = audited.output.split(separator: "\n").first ?? ""
        #expect(first.contains(/block \d+/) && first.contains("00000000000000000001"), "\(audited.output)")
        #expect(audited.output.contains("cannot be computed again"))
        try whole.write(to: URL(fileURLWithPath: segment))
        #expect(try Self.audit(studio).status == 0)
    }

    @Test func aChangedPageOfTheTablesIsNamed() async throws {
        let studio = try Studio()
        #expect(try await Self.filled(studio).stop() == 0)
        let path = studio.folder.path("ledger/projection.sqlite")
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        for page in stride(from: 2, to: whole.count / 4_096, by: 5) {
            var damaged = whole
            damaged[page * 4_096 + 4_000] ^= 1
            try damaged.write(to: URL(fileURLWithPath: path))
            let audited = try Self.audit(studio)
            #expect(audited.status == 1, "page \(page): \(audited.output)")
            #expect(audited.output.contains("table"), "page \(page): \(audited.output)")
        }
        try whole.write(to: URL(fileURLWithPath: path))
        // Without tables the blocks are audited.
        try FileManager.default.removeItem(atPath: path)
        let audited = try Self.audit(studio)
        #expect(audited.status == 0 && audited.output.contains("the tables were not compared"), "\(audited.output)")
    }

    @Test func whatIsNoLedgerIsRefusedByName() throws {
        let folder = try TemporaryFolder()
        let missing = try Command.run(["audit", folder.path("nothing")])
        #expect(missing.status == 1 && missing.error.contains("there is no ledger at"), "\(missing.error)")
        try folder.write("file", "no ledger")
        let file = try Command.run(["audit", folder.path("file")])
        #expect(file.status == 1 && file.error.contains("is a file"), "\(file.error)")
        for arguments in [["--jobs", "0"], ["--since", "-1"], ["--since", "x"]] {
            #expect(try Command.run(["audit", folder.path("nothing")] + arguments).status == 64)
        }
    }
}
