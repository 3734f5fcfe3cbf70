import AppStore
import AppStoreServer
import Foundation
import Ledger
import LedgerEngine
import LedgerTestKit
import Testing

@testable import currency_ledger

/// What Apple was told, of which the ledger cannot write down that it was.
@Suite struct UnrecordedTests {
    /// A disk that is full when Apple has answered, and has room again later.
    @Test func whatAppleWasToldIsRecordedLaterAndNotToldAgain() async throws {
        let stand = try await AppStoreStand(historySeconds: 0)
        let store = FaultyStore(MemoryStore())
        let app = App(bundleID: "com.example.game", environment: .sandbox)
        let ledger = try RunningLedger(
            store: store, verifier: Verifier(app: app, anchors: [stand.studio.chain.root]), now: Clock.now,
            report: { _ in })
        let caller = LedgerCaller(ledger)
        let credited = await caller.answer(
            to: .signed(.transaction(Array(try stand.transaction(1).utf8)), account: nil))
        _ = try credited.get()
        let settings = AppStoreSettings(
            keyFile: stand.studio.folder.path("AuthKey.p8"), keyID: "2X9R4HXF34",
            issuerID: "57246542-96fe-1a63-e053-0824d011072a", address: try AppStoreAddress(stand.address),
            sendsConsumption: false, finishes: true)
        let client = AppStoreServerClient(
            key: try settings.readKey(),
            configuration: AppStoreServerClient.Configuration(bundleID: app.bundleID, address: settings.address))
        let log = LogCapture()
        let correspondence = Correspondence(
            client: client, caller: caller, settings: settings, consumptionDelay: { 0 }, leads: { true },
            logger: log.logger)
        store.failCommits(1)
        let telling = Task { await correspondence.run() }
        var events: [PurchaseView.Event] = []
        for _ in 0..<1_200 where !events.contains(where: { $0.kind == .finished }) {
            try await Task.sleep(for: .milliseconds(50))
            events = try store.base.purchase(PurchaseQuery(transaction: try #require(TransactionID("1")))).events
        }
        #expect(events.contains { $0.kind == .finished && $0.end == .accepted }, "\(events)")
        #expect(try stand.requests().map(\.path) == ["/inApps/v1/transactions/1/finish"])
        // The look that failed is the one that says that it works again, some seconds later.
        for _ in 0..<1_200 where log.lines.count < 2 { try await Task.sleep(for: .milliseconds(50)) }
        #expect(log.lines.count == 2, "\(log.lines)")
        #expect(log.lines.first?.contains("while the ledger cannot be read and written") == true, "\(log.lines)")
        #expect(log.lines.first?.contains("disk is full") == true, "\(log.lines)")
        #expect(log.lines.last?.contains("the ledger can be read and written again") == true, "\(log.lines)")
        telling.cancel()
        await telling.value
        await client.shutDown()
        caller.close()
        try await ledger.stop()
    }
}
