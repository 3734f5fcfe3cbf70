import AppStoreSimulator
import LedgerClient

/// What the service does at the App Store by itself.
extension DemoStory {
    /// No app and no webhook tells the ledger anything here.
    mutating func withoutAnyMessage() async throws {
        let player = DemoAppStore.player
        let bought = try await appStore.buy()
        try show(
            "Another player buys 500 gems. The app is deleted, and Apple's notification is lost on its way.",
            "sandbox buy --product com.example.game.gems500 --account \(player)", bought.json,
            [#""transactionId":"2000000000000001""#],
            means: "The simulator stands for the App Store. Nobody has told the ledger.")
        guard let account = AccountName(player) else { preconditionFailure("a UUID is an account's name") }
        try await waits { try await client.balance(account).balances.first?.balance.available == 500 }
        try await step(
            "The service reads Apple's notification history, and finds what it missed.",
            "balance", { $0.member("account", player) }, #""available":500,"#,
            means: "The purchase is credited, without a message from anybody.")
        try await spend(
            "The player spends 125 of them.", key: "hat-1", account: player, amount: 125, #""available":375,"#,
            means: "A quarter is consumed.")
        try await step(
            "In the settings the player allows the studio to tell Apple about it.",
            "consent",
            {
                $0.member("key", "consent-1")
                $0.member("account", player)
                $0.key("consumption")
                $0.bool(true)
            }, #""consumption":true"#, means: "Recorded. Without it Apple is told nothing.")
        let asked = try await appStore.requestConsumption(of: bought.transactionID)
        try show(
            "The player asks for a refund, and Apple how much was consumed.",
            "sandbox request-consumption \(bought.transactionID)", asked.json, [#""transactionId":"#],
            means: "Apple takes an answer for 12 hours.")
        try await waits {
            String(decoding: try await appStore.state(of: bought.transactionID), as: UTF8.self).contains(#""inTime":"#)
        }
        try show(
            "The service answers, from the lots.", "sandbox state \(bought.transactionID)",
            try await appStore.state(of: bought.transactionID),
            [#""consumptionPercentage":25000"#, #""inTime":true"#],
            means: "Apple has its answer, and the purchase's events in the ledger say so.")
    }

    /// Waits up to a minute for what the service does by itself. What did not come is missed by the step behind it.
    private func waits(until isSo: () async throws -> Bool) async throws {
        for _ in 0..<600 where try await !isSo() { try await Task.sleep(for: .milliseconds(100)) }
    }
}
