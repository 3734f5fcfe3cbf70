package import LedgerTypes
package import StrictJSON

/// The protocol's table of methods: name, roles, parameters, result.
///
/// A request is repeatable by its key, by the transaction or notification that it carries, or because it changes
/// nothing.
package enum Methods {
    // Game servers call some by the thousand, so these stand first where a name is looked for.
    package static let spend = TypedMethod(
        "spend", .roles([.game]), Spend.self, SpendReceipt.self, operation: { .spend($0) })
    package static let credit = TypedMethod(
        "credit", .roles([.purchases]), Credit.self, PurchaseReceipt.self, changes: true
    ) { .ledger(.credit($0)) }
    package static let balance = TypedMethod(
        "balance", .roles([.game, .purchases, .finance]), BalanceQuery.self, AccountBalances.self
    ) { .ledger(.balance($0)) }

    package static let ping = TypedMethod("ping", .everyone, NoParams.self, NoResult.self) { _ in .ping }
    package static let authenticate = TypedMethod("authenticate", .everyone, Authentication.self, Identity.self) {
        .authenticate($0)
    }
    package static let info = TypedMethod("info", .anyRole, NoParams.self, ServerInfo.self) { _ in .info }

    package static let notify = TypedMethod(
        "notify", .roles([.purchases]), Notify.self, NotificationReceipt.self, changes: true
    ) { .ledger(.notify($0)) }
    package static let purchase = TypedMethod(
        "purchase", .roles([.purchases, .finance]), PurchaseQuery.self, PurchaseView.self
    ) { .ledger(.purchase($0)) }
    package static let consumption = TypedMethod(
        "consumption", .roles([.purchases]), ConsumptionQuery.self, ConsumptionBody.self
    ) { .ledger(.consumption($0)) }

    package static let external = TypedMethod(
        "external", .roles([.purchases]), ExternalPurchase.self, PurchaseReceipt.self, changes: true
    ) { .ledger(.external($0)) }

    package static let link = TypedMethod(
        "link", .roles([.purchases]), Link.self, LinkReceipt.self, changes: true
    ) { .ledger(.link($0)) }
    /// Not repeatable: the token may have been linked to yet another account by now.
    package static let relink = TypedMethod(
        "relink", .roles([.admin]), Link.self, LinkReceipt.self, changes: true, isRepeatable: false
    ) { .ledger(.link(Link(token: $0.token, account: $0.account, moves: true))) }
    package static let consent = TypedMethod(
        "consent", .roles([.purchases, .game]), Consent.self, ConsentReceipt.self, changes: true
    ) { .ledger(.consent($0)) }

    package static let grant = TypedMethod(
        "grant", .roles([.game]), Grant.self, GrantReceipt.self, operation: { .grant($0) })
    package static let reverse = TypedMethod(
        "reverse", .roles([.game]), Reversal.self, ReversalReceipt.self, operation: { .reverse($0) })
    package static let hold = TypedMethod(
        "hold", .roles([.game]), Hold.self, HoldReceipt.self, operation: { .hold($0) })
    package static let capture = TypedMethod(
        "capture", .roles([.game]), Capture.self, CaptureReceipt.self, operation: { .capture($0) })
    package static let release = TypedMethod(
        "release", .roles([.game]), Release.self, ReleaseReceipt.self, operation: { .release($0) })
    package static let atomic = TypedMethod(
        "atomic", .roles([.game]), Atomic.self, AtomicReceipt.self, changes: true
    ) { .ledger(.atomic($0)) }

    package static let history = TypedMethod(
        "history", .roles([.game, .purchases, .finance]), HistoryQuery.self, HistoryPage.self
    ) { .ledger(.history($0)) }
    package static let lots = TypedMethod(
        "lots", .roles([.game, .purchases, .finance]), OpenItemsQuery.self, OpenItemsPage<OpenLot>.self
    ) { .ledger(.lots($0)) }
    package static let holds = TypedMethod(
        "holds", .roles([.game, .purchases, .finance]), OpenItemsQuery.self, OpenItemsPage<OpenHoldView>.self
    ) { .ledger(.holds($0)) }
    package static let report = TypedMethod("report", .roles([.finance]), ReportRequest.self, ReportPage.self) {
        .ledger(.report($0))
    }
    package static let journal = TypedMethod("journal", .roles([.finance]), JournalQuery.self, JournalPage.self) {
        .ledger(.journal($0))
    }
    package static let find = TypedMethod(
        "find", .roles([.game, .purchases, .finance]), FindQuery.self, Finding.self
    ) { .ledger(.find($0)) }
    package static let head = TypedMethod("head", .roles([.finance]), NoParams.self, ChainHead.self) { _ in
        .ledger(.head)
    }

    package static let adjust = TypedMethod(
        "adjust", .roles([.finance]), ApprovedAdjustment.self, AdjustmentReceipt.self, changes: true
    ) { .ledger(.adjust($0)) }

    package static let importLots = TypedMethod(
        "import", .roles([.admin]), LotImport.self, ImportReceipt.self, changes: true
    ) { .ledger(.importLots($0)) }

    /// Repeatable: the same period has the same answer.
    package static let close = TypedMethod(
        "close", .roles([.finance]), ClosePeriod.self, ClosingReceipt.self, changes: true
    ) { .ledger(.close($0)) }

    /// Not repeatable: another account may have the name by now.
    package static let forget = TypedMethod(
        "forget", .roles([.admin]), ForgetQuery.self, ForgetReceipt.self, changes: true, isRepeatable: false
    ) { .ledger(.forget($0.account)) }

    /// What a standby says that it has decides when others are answered.
    package static let blocks = TypedMethod(
        "blocks", .roles([.replica]), BlocksQuery.self, BlocksPage.self, changes: true
    ) { .ledger(.blocks($0)) }
    package static let promote = TypedMethod(
        "promote", .roles([.admin]), NoParams.self, Promotion.self, changes: true
    ) { _ in .ledger(.promote) }

    /// Not repeatable: the node that leads by then would give the lead back too.
    package static let stepDown = TypedMethod(
        "step_down", .roles([.admin]), NoParams.self, Handover.self, changes: true, isRepeatable: false
    ) { _ in .ledger(.stepDown) }

    /// Repeatable: what is read twice changes nothing the second time.
    package static let reload = TypedMethod(
        "reload", .roles([.admin]), NoParams.self, ReloadReport.self, changes: true
    ) { _ in .reload }

    package static let all: [Method] = [
        spend.method, credit.method, balance.method, ping.method, authenticate.method, info.method, notify.method,
        purchase.method, consumption.method, external.method, link.method, relink.method, consent.method, grant.method,
        reverse.method,
        hold.method, capture.method, release.method,
        atomic.method, history.method, lots.method, holds.method, report.method, journal.method, find.method,
        head.method, close.method, adjust.method, importLots.method, forget.method, blocks.method, promote.method,
        stepDown.method, reload.method,
    ]

    /// `nil` where there is no such method.
    package static func named(_ name: JSONText) -> Method? {
        all.first { name == $0.name }
    }

    /// `nil` where there is no such method.
    package static func named(_ name: String) -> Method? { all.first { $0.description == name } }
}
