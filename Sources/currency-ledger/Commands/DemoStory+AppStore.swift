import AppStore
import AppStoreSimulator
import Foundation
import LedgerClient
import StrictJSON

/// What goes through the App Store, for which a simulator stands: a notification that is lost and found again, and a
/// question of Apple's.
extension DemoStory {
    /// The player's account, which the app names when it buys.
    static let accountAtApple = "f47ac10b-58cc-4372-a567-0e02b2c3d479"

    mutating func throughTheAppStore() async throws {
        Console.print(
            "\nFrom here on the App Store tells the service by itself. A simulator stands for it, on "
                + "\(appStore.address).")
        let purchase = try await lostAndFound()
        try await consumptionRequest(purchase)
    }

    /// - Returns: the purchase.
    private mutating func lostAndFound() async throws -> String {
        try await appStore.simulator.setWebhook("http://\(httpAddress)/app-store/notification")
        var order = SimulatorCommand.PurchaseOrder(productID: "com.example.game.gems500")
        order.appAccountToken = DemoStory.accountAtApple
        order.price = 4_990
        let purchase = try await drive(
            "A player buys 500 gems, and the app crashes. Apple posts it to a webhook with a mistyped path.",
            .buy(order), means: "The player has paid, and nobody at the studio knows.")
        try await balance("The player asks where the gems are.", #""balances":{}"#, means: "The ledger has none.")

        let counts = try await reconcile()
        let since = stage.now
        try show(
            "The studio has Apple's notification history read. The service does so by itself, every five minutes.",
            "app-store reconcile", DemoStory.object { $0.member("since", since) }, Array(counts.json.utf8),
            [#""new":1"#], means: "Apple has kept what it could not deliver: one notification was new.")
        try await balance(
            "The player looks again.", #""available":500,"#,
            means: "The purchase is credited, to the account that the app named when it bought.")
        return purchase
    }

    private mutating func consumptionRequest(_ purchase: String) async throws {
        try await appStore.simulator.setWebhook("http://\(httpAddress)/app-store/notifications")
        try await spend(
            "The studio mends the path. The player spends 125 gems.", key: "sword-1",
            account: DemoStory.accountAtApple, amount: 125, #""available":375,"#,
            means: "A quarter of the purchase is consumed.")
        try await step(
            "In the game's settings the player allows the studio to tell Apple what was consumed.",
            "consent",
            {
                $0.member("key", "consent-1")
                $0.member("account", DemoStory.accountAtApple)
                $0.key("consumption")
                $0.bool(true)
            }, #""consumption":true"#, means: "Recorded. Without it nothing is told.")
        _ = try await drive(
            "The player asks Apple for a refund. Apple asks how much was consumed.",
            .requestConsumption(transactionID: purchase, reason: .unintendedPurchase),
            means: "This time the webhook takes it.")
        try await told(
            "Nobody at the studio does anything. Support looks at the purchase a moment later.", purchase,
            #""kind":"consumption_sent""#, #""end":"accepted""#, #"consumptionPercentage\":25000"#,
            means: "The service has answered Apple from the lots, in time, and once.")
        _ = try await drive(
            "Apple declines the refund.", .decline(transactionID: purchase),
            means: "Apple says so, too.")
        try await told(
            "Support looks again.", purchase, #""kind":"refund_declined""#,
            means: "The player keeps the gems, and the books say why.")
    }

    /// Has the App Store do something, as a customer or as Apple would.
    /// - Returns: the purchase.
    private mutating func drive(_ title: String, _ command: SimulatorCommand, means: String) async throws -> String {
        let outcome: SimulatorClient.Outcome
        do throws(SimulatorError) {
            outcome = try await SimulatorClient(address: appStore.address).perform(command)
        } catch { throw Failure("\(error)") }
        let name = "sandbox \(command.name)"
        try show(title, name, command.json(), outcome.json, [#""notificationUUID":""#], means: means)
        return outcome.transactionID
    }

    private mutating func balance(_ title: String, _ expected: String, means: String) async throws {
        try await step(title, "balance", { $0.member("account", DemoStory.accountAtApple) }, expected, means: means)
    }

    /// Shows a purchase, with its newest event, once the webhook has brought what is expected; that takes a moment.
    private mutating func told(_ title: String, _ purchase: String, _ expected: String..., means: String) async throws {
        let params = DemoStory.object {
            $0.member("transactionId", purchase)
            $0.member("limit", 1)
        }
        var reply = try await reply("purchase", params)
        for _ in 0..<300 where !expected.allSatisfy(String(decoding: reply, as: UTF8.self).contains) {
            try await Task.sleep(for: .milliseconds(100))
            reply = try await self.reply("purchase", params)
        }
        try show(title, "purchase", params, reply, expected, means: means)
    }

    /// What `app-store reconcile` does.
    private func reconcile() async throws -> MissedByHand.Counts {
        guard let asking = settings.appStore else { throw Failure("the demo's ledger has no key of the App Store's") }
        return try await asking.withClient(bundleID: settings.bundleID) { asked in
            let missed = MissedByHand(
                appStore: asked, environment: settings.environment, ledger: client, name: nil, since: stage.now,
                deep: false
            ) { _ in }
            try await missed.readNotifications()
            return missed.counts
        }
    }
}
