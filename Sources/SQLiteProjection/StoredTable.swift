/// The tables that are computed from blocks, but for `projection`, which says what they hold. Rows are written and
/// summed (``TableSum``) with these columns in this order, the key first.
///
/// In the order in which a check compares them: what a purchase or a request could be posted twice for goes first.
enum StoredTable: Int, CaseIterable, Sendable {
    case request, purchase, event, notification, account, wallet, lot, hold, transfer, entry, currency, actor, header
    case total, block, walletPast, totalPast, expiryPast, link, consent, assignment, closing, external, adjustment,
        catalog

    var name: String {
        switch self {
        case .request: "request"
        case .purchase: "purchase"
        case .event: "purchase_event"
        case .notification: "notification"
        case .account: "account"
        case .wallet: "wallet"
        case .lot: "lot"
        case .hold: "hold"
        case .transfer: "transfer"
        case .entry: "entry"
        case .currency: "currency"
        case .actor: "actor"
        case .header: "jws_header"
        case .total: "total"
        case .block: "block"
        case .walletPast: "wallet_past"
        case .totalPast: "total_past"
        case .expiryPast: "expiry_past"
        case .link: "link"
        case .consent: "consent"
        case .assignment: "assignment"
        case .closing: "closing"
        case .external: "external"
        case .adjustment: "adjustment"
        case .catalog: "catalog"
        }
    }

    /// Their names with commas between them.
    var columns: String {
        switch self {
        case .request: "key, fingerprint, entry, answer"
        case .purchase:
            """
            transaction_id, account, entry, product, quantity, purchase_date, price, price_currency, source, storefront,
            offer_type, offer_id, offer_discount, original_id, ownership, grants, signed_date, revoked, revocation_date,
            time, evidence, block
            """
        case .event:
            """
            transaction_id, number, kind, record, time, signed_date, revoked, revocation_date, entry, reason, result,
            code, body, block
            """
        case .notification:
            "uuid, number, type, subtype, signed_date, reason, time, transaction_id, subject, entry, block"
        case .account: "id, name"
        case .wallet: StoredWallet.columns
        case .lot: StoredLot.columns
        case .hold: "id, entry, account, currency, amount, expires_at, state, ended"
        case .transfer:
            """
            id, entry, account, currency, debit, credit, amount, lot, debt_lot, previous, spend_order, reference,
            lot_previous, lot_left, lot_refunded, money_deferred, money_refunded
            """
        case .entry: "id, time, kind, first_transfer, transaction_id, key, note, actor"
        case .currency: "id, code"
        case .actor: "id, name"
        case .header: "id, digest, block"
        case .total: "currency, class, kind, debits, credits"
        case .block: "number, term, time, hash, entry, transfer"
        case .walletPast: StoredPastWallet.columns
        case .totalPast: "transfer, currency, class, kind, debits, credits"
        case .expiryPast: "transfer, expires_at"
        case .link: "token, number, account, entry, time, actor"
        case .consent: "id, account, consumption, time, actor"
        case .assignment: "id, transaction_id, account, entry, time"
        case .closing: "through, block, time, actor"
        case .external: "transaction_id, source, identifier"
        case .adjustment: "entry, class, reason, approver"
        case .catalog: "version, digest, time, block"
        }
    }

    /// The number of columns.
    var columnCount: Int32 { Int32(columns.split(separator: ",").count) }
}
