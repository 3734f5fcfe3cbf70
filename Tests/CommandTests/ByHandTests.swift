import Foundation
import Ledger
import LedgerClient
import LedgerWire
import Testing

/// What people and other stores post, on a real ledger: everything that checks it agrees, also after a crash.
@Suite struct ByHandTests {
    private static let gems = CurrencyCode("gems")!
    private static let account = AccountName("ann")!
    private static let product = "com.example.game.gems500"

    private static func adjustment(_ key: String, _ lotClass: LotClass, _ units: Int64) -> Adjustment {
        Adjustment(
            key: RequestKey(key)!, account: account, currency: gems, lotClass: lotClass, units: units, reason: "case 17"
        )
    }

    private static func order(_ id: String, revoked: Int64? = nil, _ studio: Studio) throws -> ExternalPurchase {
        ExternalPurchase(
            identity: try #require(ExternalIdentity(source: "shop.example", identifier: id)), account: account,
            product: product, quantity: 2, price: 9_990, priceCurrency: "EUR", purchaseDate: studio.now - 60_000,
            revoked: revoked)
    }

    private static func client(_ service: RunningService, _ token: String) async throws -> LedgerClient {
        try await LedgerClient.connect(
            to: try ServerAddress(service.address), token: token,
            configuration: ClientConfiguration(
                requestTimeoutMilliseconds: 300_000, connectTimeoutMilliseconds: 120_000))
    }

    @Test func whatIsPostedByHandStandsForEver() async throws {
        let studio = try Studio()
        let approval = "the second one's secret"
        let tokens = Studio.tokens(
            (name: "shop", role: "purchases", secret: "p"), (name: "first", role: "finance", secret: "f"),
            (name: "second", role: "finance", secret: approval))
        try studio.folder.write(
            "ledger.json",
            """
            {"path": "ledger", "listen": ["127.0.0.1:0"], "tokens": \(tokens),
             "app": {"bundleId": "com.example.game", "environment": "Sandbox"},
             "anchors": ["root.der"], "catalog": "catalog.json"}
            """)
        var service = try RunningService(studio.folder)
        var shop = try await Self.client(service, "p")
        var finance = try await Self.client(service, "f")
        let bought = try await shop.external(try Self.order("o-1", studio))
        #expect(bought.outcome == .credited && bought.posted.map(\.units) == [1_000])
        let added = try await finance.adjust(Self.adjustment("a-1", .free, 30), approval: approval)
        let taken = try await finance.adjust(Self.adjustment("a-2", .paid, -100), approval: approval)
        #expect(taken.balances.map(\.balance.available) == [930] && taken.balances.map(\.balance.paid) == [900])
        let closing = try await finance.closePeriod(through: try await finance.head().time)
        let refunded = try await shop.external(try Self.order("o-1", revoked: 50_000, studio))
        #expect(refunded.outcome == .reversed && refunded.posted.map(\.units) == [-500])
        let purchase = try await shop.purchase(bought.transaction)
        #expect(purchase.grants.map(\.adjusted) == [100] && purchase.grants.map(\.remaining) == [400])
        let trial = try await finance.report(.trial)
        let journal = try await finance.journal(after: 0).entries
        #expect(journal.map(\.kind) == [.credit, .adjustment, .adjustment, .refund])

        service.kill()
        let said = try service.said
        #expect(!said.contains(approval) && !said.contains(Studio.digest(approval)))
        #expect(try Command.run(["rebuild", "--config", studio.folder.path("ledger.json")]).status == 0)
        service = try RunningService(studio.folder)
        (shop, finance) = (try await Self.client(service, "p"), try await Self.client(service, "f"))
        #expect(try await finance.report(.trial).rows == trial.rows)
        #expect(try await finance.journal(after: 0).entries == journal)
        #expect(try await finance.closePeriod(through: closing.through) == closing)
        for (key, lotClass, units, first) in [("a-1", .free, 30, added), ("a-2", .paid, -100, taken)]
            as [(String, LotClass, Int64, AdjustmentReceipt)]
        {
            let again = try await finance.adjust(Self.adjustment(key, lotClass, units), approval: approval)
            #expect(again.replayed && again.entry == first.entry && again.balances == first.balances)
        }
        #expect(try await shop.external(try Self.order("o-1", studio)).outcome == .alreadyReversed)
        #expect(try await shop.external(try Self.order("o-1", revoked: 50_000, studio)).outcome == .alreadyReversed)
        #expect(try await shop.purchase(bought.transaction) == purchase)
        try await shop.close()
        try await finance.close()
        #expect(service.stop() == 0)

        let audited = try Command.run(["audit", "--config", studio.folder.path("ledger.json")])
        #expect(audited.status == 0 && audited.output.hasSuffix("everything holds\n"), "\(audited.output)")
        let script = Command.root.appendingPathComponent("Schema/verify/verify_log.py").path
        let verified = try Command.run(
            URL(fileURLWithPath: "/usr/bin/env"), ["python3", script, studio.folder.path("ledger")])
        #expect(verified.status == 0, "\(verified.output)\(verified.error)")
        let folder = studio.folder.url.appendingPathComponent("ledger")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        for case let file as URL in files?.allObjects ?? [] where !file.hasDirectoryPath {
            let bytes = try Data(contentsOf: file)
            #expect(bytes.range(of: Data(approval.utf8)) == nil, "\(file.lastPathComponent) has the approval")
        }
    }
}
