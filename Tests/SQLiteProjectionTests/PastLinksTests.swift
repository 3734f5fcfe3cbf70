import GRDB
import Ledger
import LedgerTestKit
import Testing

@testable import SQLiteProjection

/// Reports of a time before a token was linked: they say what they said then, for ever.
@Suite struct PastLinksTests {
    private static let gems = CurrencyCode("gems")!
    private static let kinds: [ReportKind] = [
        .balances, .lots, .purchases, .notifications, .consumptionRequests, .spends, .journal, .deferred,
    ]

    private static func pages(_ store: Ledger, asOf time: Timestamp) throws -> [ReportKind: [ReportRow]] {
        try DatabaseQueue(path: store.folder.database).read { db in
            let reports = try Reports(db)
            return Dictionary(
                uniqueKeysWithValues: try kinds.map { kind in
                    (kind, try reports.page(ReportQuery(kind: kind, asOf: time, scope: .all, limit: 1_000)).rows)
                })
        }
    }

    /// The accounts in the rows of a report.
    private static func accounts(_ rows: [ReportRow]?) -> [String] {
        (rows ?? []).compactMap { row in
            switch row {
            case .line(let line): line.text("account")
            case .notification(let row): row.account?.text
            case .consumptionRequest(let row): row.account?.text
            case .balance(let account, _, _, _, _, _): account.text
            case .trial, .debt, .closing: nil
            }
        }
    }

    @Test func whoeverATokenIsLinkedToLaterItIsStillItsOwnThen() throws {
        let (first, second) = (Workload.token(1), Workload.token(2))
        let account = Workload.account(1)
        var store = try Ledger(TemporaryFolder())
        let signed = Workload.purchase(1, signedDate: 2_000, token: first.account)
        let evidence = signed.evidence.with(
            payload: Array("{\"signedTransactionInfo\":\"".utf8) + signed.evidence.jws + Array("\"}".utf8))
        let asked = SignedNotification(
            uuid: "u-1", type: "CONSUMPTION_REQUEST", subtype: nil, signedDate: 2_000, reason: "OTHER",
            evidence: evidence, purchase: signed)
        try store.run(
            [
                .credit(Workload.purchase(1, signedDate: 1_000, token: first.account), account: nil),
                .consent(Consent(key: RequestKey("c")!, account: first.account, consumption: true)),
                .notify(asked, account: nil),
            ], at: 2_000)
        let before = try Self.pages(store, asOf: 2_000)
        for kind in [ReportKind.balances, .lots, .purchases, .notifications, .consumptionRequests, .journal] {
            let told = Set(Self.accounts(before[kind]))
            #expect(told == [first.text], "\(kind): \(told)")
        }

        // On to another token, which is linked on in turn.
        try store.run(.link(Link(token: first, account: second.account)), at: 3_000)
        let between = try Self.pages(store, asOf: 3_000)
        try store.run(.link(Link(token: second, account: account)), at: 4_000)
        #expect(try Self.pages(store, asOf: 2_000) == before)
        #expect(try Self.pages(store, asOf: 3_000) == between)
        for (time, owner) in [(3_000, second.text), (4_000, account.text)] as [(Timestamp, String)] {
            let pages = try Self.pages(store, asOf: time)
            for kind in [ReportKind.lots, .purchases, .notifications, .consumptionRequests] {
                #expect(Set(Self.accounts(pages[kind])) == [owner], "\(kind) at \(time)")
            }
            guard case .consumptionRequest(let request)? = pages[.consumptionRequests]?.first else {
                Issue.record("the question is not listed")
                continue
            }
            #expect(request.consent == .given)
        }
        try store.projection.close()
    }
}
