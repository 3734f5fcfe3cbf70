import AppStore
import FileLog
import Ledger
import LedgerEngine
import LineServer
import Logging

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
            folder: LedgerFolder(settings.path), madeAt: { try madeAt(log) },
            consumptionDelay: { catalog.current.catalog.consumptionDelayMinutes * 60_000 },
            leads: { member.info().standby == nil },
            figures: figures, logger: logger)
    }

    /// When the ledger was made: the time of its first block, which a standby may not have yet.
    private static func madeAt(_ log: any BlockLog) throws -> Timestamp? {
        try log.read(after: 0, bytesMax: 1).first.map { first in
            try Block(opening: first, checks: .form, evidence: .leftOut).time
        }
    }
}
