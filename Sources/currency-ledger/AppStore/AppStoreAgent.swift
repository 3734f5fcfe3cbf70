import AppStore
import AppStoreServer
import FileLog
import Ledger
import LedgerEngine
import Logging
import ServiceLifecycle

/// What the service does at the App Store by itself for one ledger, while that leads.
struct AppStoreAgent: Service {
    let settings: AppStoreSettings
    let key: InAppPurchaseKey
    let app: App
    let ledger: RunningLedger
    let folder: LedgerFolder
    /// When the ledger was made; `nil` while it has nothing.
    let madeAt: @Sendable () throws -> Timestamp?
    /// How long an answer about consumption waits, in milliseconds.
    let consumptionDelay: @Sendable () -> Int64
    /// Whether the ledger may be written to: a standby's leader does all this.
    let leads: @Sendable () -> Bool
    let figures: AppStoreFigures
    let logger: Logger

    /// Goes on until the service is shut down, or its task is cancelled. What was begun in the ledger is ended by then.
    func run() async throws {
        let client = AppStoreServerClient(
            key: key,
            configuration: AppStoreServerClient.Configuration(bundleID: app.bundleID, address: settings.address))
        await cancelWhenGracefulShutdown {
            await withTaskGroup { tasks in
                if settings.historySeconds > 0 { tasks.addTask { await readHistory(client) } }
                if settings.tellsApple { tasks.addTask { await tellApple(client) } }
            }
        }
        await client.shutDown()
    }

    private func tellApple(_ client: AppStoreServerClient) async {
        let caller = LedgerCaller(ledger)
        await Correspondence(
            client: client, caller: caller, settings: settings, consumptionDelay: consumptionDelay, leads: leads,
            logger: logger
        ).run()
        caller.close()
    }

    private func readHistory(_ client: AppStoreServerClient) async {
        let caller = LedgerCaller(ledger)
        await HistoryReading(
            client: client, caller: caller, folder: folder, environment: app.environment,
            beginning: { try settings.historyFrom ?? madeAt() ?? Clock.now() }, seconds: settings.historySeconds,
            leads: leads, figures: figures, logger: logger
        ).run()
        caller.close()
    }
}
