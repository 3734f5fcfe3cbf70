import AppStore
import FileLog
import Ledger
import LedgerEngine
import LineServer
import Logging
import SQLiteProjection

extension Composition {
    /// What asks the App Store for a ledger; `nil` where that has no key for it.
    static func agent(
        _ settings: LedgerSettings, _ catalog: CatalogInForce, _ signatures: Signatures, _ member: ServedLedgers.Member,
        _ log: any BlockLog, _ figures: AppStoreFigures, _ logger: Logger
    ) -> AppStoreAgent? {
        guard let appStore = settings.appStore, let key = signatures.appStoreKey else { return nil }
        var logger = logger
        if let name = settings.name { logger[metadataKey: "ledger"] = "\(name)" }
        return AppStoreAgent(
            settings: appStore, key: key, app: signatures.app, ledger: member.ledger,
            folder: LedgerFolder(settings.path), madeAt: { try madeAt(log, settings) },
            consumptionDelay: { catalog.current.catalog.consumptionDelayMinutes * 60_000 },
            leads: { member.info().standby == nil },
            figures: figures, logger: logger)
    }

    /// When the ledger was made: the time of its first block, which a standby may not have yet.
    private static func madeAt(_ log: any BlockLog, _ settings: LedgerSettings) throws -> Timestamp? {
        do {
            return try log.read(after: 0, bytesMax: 1).first.map { first in
                try Block(opening: first, checks: .form, evidence: .leftOut).time
            }
        } catch let error as LogError where error.kind == .archived {
            // The tables have it too.
            return try SQLiteReports(path: LedgerFolder(settings.path).projection).state().periods.began
        }
    }
}
