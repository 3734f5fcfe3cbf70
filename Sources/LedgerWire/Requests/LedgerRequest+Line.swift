package import LedgerTypes

extension RequestWriter {
    /// A request that was read, as a client writes it.
    /// - Parameter ledger: the one of the service's ledgers that it is for; `nil` for the connection's.
    package mutating func write(_ request: LedgerRequest, id: RequestID?, ledger: LedgerName? = nil) {
        switch request {
        case .credit(let credit): write(Methods.credit, credit, id: id, ledger: ledger)
        case .notify(let notify): write(Methods.notify, notify, id: id, ledger: ledger)
        case .keyed(.spend(let spend)): write(Methods.spend, spend, id: id, ledger: ledger)
        case .keyed(.reverse(let reversal)): write(Methods.reverse, reversal, id: id, ledger: ledger)
        case .keyed(.grant(let grant)): write(Methods.grant, grant, id: id, ledger: ledger)
        case .keyed(.hold(let hold)): write(Methods.hold, hold, id: id, ledger: ledger)
        case .keyed(.capture(let capture)): write(Methods.capture, capture, id: id, ledger: ledger)
        case .keyed(.release(let release)): write(Methods.release, release, id: id, ledger: ledger)
        case .atomic(let atomic): write(Methods.atomic, atomic, id: id, ledger: ledger)
        case .link(let link): write(link.moves ? Methods.relink : Methods.link, link, id: id, ledger: ledger)
        case .consent(let consent): write(Methods.consent, consent, id: id, ledger: ledger)
        case .balance(let query): write(Methods.balance, query, id: id, ledger: ledger)
        case .purchase(let query): write(Methods.purchase, query, id: id, ledger: ledger)
        case .consumption(let query): write(Methods.consumption, query, id: id, ledger: ledger)
        case .history(let query): write(Methods.history, query, id: id, ledger: ledger)
        case .lots(let query): write(Methods.lots, query, id: id, ledger: ledger)
        case .holds(let query): write(Methods.holds, query, id: id, ledger: ledger)
        case .report(let request): write(Methods.report, request, id: id, ledger: ledger)
        case .journal(let query): write(Methods.journal, query, id: id, ledger: ledger)
        case .find(let query): write(Methods.find, query, id: id, ledger: ledger)
        case .head: write(Methods.head, NoParams(), id: id, ledger: ledger)
        case .external(let purchase): write(Methods.external, purchase, id: id, ledger: ledger)
        case .adjust(let approved): write(Methods.adjust, approved, id: id, ledger: ledger)
        case .importLots(let carried): write(Methods.importLots, carried, id: id, ledger: ledger)
        case .close(let period): write(Methods.close, period, id: id, ledger: ledger)
        case .forget(let account): write(Methods.forget, ForgetQuery(account), id: id, ledger: ledger)
        case .blocks(let query): write(Methods.blocks, query, id: id, ledger: ledger)
        case .promote: write(Methods.promote, NoParams(), id: id, ledger: ledger)
        case .stepDown: write(Methods.stepDown, NoParams(), id: id, ledger: ledger)
        }
    }
}

extension LedgerRequest {
    /// Whether it may be sent again where nobody knows whether it was carried out (``Method/isRepeatable``).
    package var isRepeatable: Bool {
        switch self {
        case .forget: Methods.forget.method.isRepeatable
        case .link(let link): link.moves ? Methods.relink.method.isRepeatable : Methods.link.method.isRepeatable
        case .stepDown: Methods.stepDown.method.isRepeatable
        case .credit, .notify, .keyed, .atomic, .consent, .balance, .purchase, .consumption, .history, .lots, .holds,
            .report,
            .journal, .find, .head, .external, .adjust, .importLots, .close, .blocks, .promote:
            true
        }
    }

    /// Whether it may change the ledger; a read shows what stands before it.
    package var changes: Bool {
        switch self {
        case .balance, .purchase, .consumption, .history, .lots, .holds, .report, .journal, .find, .head, .blocks:
            false
        case .credit, .notify, .keyed, .atomic, .consent, .link, .forget, .external, .adjust, .importLots, .close,
            .promote, .stepDown:
            true
        }
    }
}
