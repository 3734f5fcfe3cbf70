import AppStore
import AppStoreServer
import ArgumentParser

/// What is asked of Apple's App Store Server API by hand.
struct AppStoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app-store", abstract: "Asks the App Store Server API, with the key of the configuration.",
        subcommands: [Reconcile.self, TestNotification.self])
}

/// How a command finds the App Store's side of a ledger: its app, and its key.
struct AppStoreOptions: ParsableArguments {
    @Option(name: .long, help: "The configuration file (JSON), which has the key.", completion: .file())
    var config: String

    /// Asks as the backend of the ledger's app.
    /// - Parameter name: which of several ledgers of the configuration it is.
    func withClient<Result>(
        ledger name: String?, _ body: (AppStoreServerClient, LedgerSettings) async throws -> Result
    ) async throws -> Result {
        let ledger = try Composition.ledgerSettings(config: config, ledger: name)
        guard let settings = ledger.appStore else {
            throw ConfigurationError([
                "\(config): appStore.key: is required, for the App Store is asked with a key"
            ])
        }
        return try await settings.withClient(bundleID: ledger.bundleID) { client in try await body(client, ledger) }
    }
}

extension AppStoreSettings {
    /// Asks as the backend of an app.
    /// - Throws: ``ConfigurationError`` for a key that cannot be used; ``Failure`` for what the App Store refuses, and
    ///   where it cannot be reached; what `body` throws.
    func withClient<Result>(
        bundleID: String, _ body: (AppStoreServerClient) async throws -> Result
    ) async throws -> Result {
        let configuration = AppStoreServerClient.Configuration(bundleID: bundleID, address: address)
        do {
            return try await AppStoreServerClient.with(key: try readKey(), configuration: configuration, body)
        } catch let error as AppStoreServerError {
            throw Failure("\(address): \(error)")
        }
    }
}

extension AppStoreCommand {
    struct TestNotification: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Has Apple send a test notification, and says whether it arrived.",
            discussion: """
                It goes to the address that App Store Connect has for the app ("Production Server URL", "Sandbox \
                Server URL"): that of http.listen, as the internet sees it, with the path /app-store/notifications.
                """)

        /// How long its arrival is waited for: Apple's timeouts are shorter.
        private static let attempts = 30

        @OptionGroup var appStore: AppStoreOptions

        @Option(help: "Which ledger of the configuration, where that has several.")
        var ledger: String?

        func run() async throws {
            try await appStore.withClient(ledger: ledger) { client, _ in
                let token = try await client.requestTestNotification()
                for _ in 0..<TestNotification.attempts {
                    try await Task.sleep(for: .seconds(1))
                    do {
                        let sent = try await client.testNotificationStatus(token: token)
                        guard let attempt = sent.sendAttempts.last else { continue }
                        if attempt.result == .success { return Console.print("it arrived") }
                        throw Failure("it did not arrive: \(ForeignText.shown(attempt.result.rawValue))")
                    } catch AppStoreServerError.refused(let refusal)
                        where refusal.code == .testNotificationNotFound
                    {
                        continue
                    }
                }
                throw Failure("Apple does not say yet whether it arrived")
            }
        }
    }
}
