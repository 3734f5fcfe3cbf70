package import LedgerTypes

/// How large a reply can be: known before a request is carried out, so that what is carried out can be answered.
///
/// Each is the reply's line without its id, which is as long as in the request. A bound is by the request's kind, and
/// where it is cheap to know by what it names: the texts of the request have their length, all others the largest.
package enum ReplyBytes {
    /// `{"jsonrpc":"2.0","id":…,"result":{…}}` with `entry`, `replayed` and `ledger`, and a comma or a line's end.
    static let envelope = 124 + Limits.standbyNameBytesMax
    /// An error of the ledger or the server: a message of some lines, and what `data` has.
    package static let error = 1_024
    /// A lot that a receipt names, of a currency with the longest code.
    static let lot = 112 + Limits.codeBytesMax
    /// The lots of one receipt, and how many more they are.
    static let lots = 50 + Limits.lotsPerReceiptMax * lot
    static let balance = CurrencyBalance.resultBytesMax()
    /// The name of an account, with escapes.
    static let account = 2 * Limits.accountBytesMax + 4
    /// The result of one purchase.
    static let purchase =
        330 + account + Limits.currenciesPerOperationMax * (balance + 45 + Limits.codeBytesMax)
    /// A notification has three texts of Apple's besides, of 255 bytes that may each be escaped.
    static let notification = purchase + 150 + 3 * 6 * 255
    /// Of one ledger: all currencies, and what is known of the standbys.
    static let info = 8_192 + Limits.currenciesMax * (Limits.codeBytesMax + 3) + 16 * 1_024
    /// One of the two lists is full at the most, and each byte may be escaped.
    static let reload = envelope + 60 + ReloadReport.linesMax * (6 * ReloadReport.lineBytesMax + 3)
}

extension Request {
    /// The largest reply, but for the page of a read: that is reserved when it is read.
    package var replyBytesMax: Int {
        switch self {
        case .ping, .authenticate: ReplyBytes.error
        case .info: ReplyBytes.info
        case .reload: ReplyBytes.reload
        case .ledger(let request): max(request.replyBytesMax, ReplyBytes.error)
        }
    }
}

extension LedgerRequest {
    /// Whether it is answered with a page of a read.
    package var readsPage: Bool {
        switch self {
        case .purchase, .history, .lots, .holds, .report, .journal, .find, .blocks, .head, .close, .stepDown: true
        case .balance(let query): query.asOf != nil
        case .credit, .notify, .external, .keyed, .atomic, .link, .consent, .adjust, .importLots, .consumption, .forget,
            .promote:
            false
        }
    }

    fileprivate var replyBytesMax: Int {
        switch self {
        case .credit, .external: ReplyBytes.envelope + ReplyBytes.purchase
        case .notify: ReplyBytes.envelope + ReplyBytes.notification
        case .keyed(let operation): ReplyBytes.envelope + operation.resultBytesMax
        case .adjust: ReplyBytes.envelope + 70 + ReplyBytes.balance
        case .atomic(let atomic):
            // An operation touches one account, whose name is with the balances.
            atomic.operations.reduce(ReplyBytes.envelope) { $0 + 60 + ReplyBytes.account + $1.resultBytesMax }
        // What the token had, and what the account has then.
        case .link: ReplyBytes.envelope + ReplyBytes.account + 70 + 2 * Limits.currenciesMax * ReplyBytes.balance
        case .balance(let query) where query.asOf == nil:
            ReplyBytes.envelope + ReplyBytes.account
                + (query.currency == nil ? Limits.currenciesMax : 1) * ReplyBytes.balance
        case .importLots, .consent, .consumption, .forget, .promote, .stepDown, .head, .close: ReplyBytes.error
        case .balance, .purchase, .history, .lots, .holds, .report, .journal, .find, .blocks: ReplyBytes.error
        }
    }
}

extension KeyedOperation {
    /// Of its result, without `entry` and `replayed`.
    fileprivate var resultBytesMax: Int {
        switch self {
        case .spend(let spend): ReplyBytes.lots + 30 + spend.debits.count * ReplyBytes.balance
        case .reverse: ReplyBytes.lots + 30 + Limits.currenciesPerOperationMax * ReplyBytes.balance
        case .capture: ReplyBytes.lots + 30 + ReplyBytes.balance
        case .hold, .grant, .release: 70 + ReplyBytes.balance
        }
    }
}

extension WireError {
    /// Of a reply that says this: as long as it is, with escapes.
    package var replyBytesMax: Int {
        var bytes = ReplyBytes.envelope + 6 * message.utf8.count + 150
        for detail in details {
            bytes += detail.name.utf8.count + 26
            switch detail.value {
            case .string(let text): bytes += 6 * text.utf8.count
            case .json(let text): bytes += text.utf8.count
            case .integer, .bool, .null: break
            }
        }
        return bytes
    }
}

extension Message {
    /// Whether it is answered with a page of a read.
    package var readsPage: Bool {
        if case .success(let asked) = body, case .ledger(let request) = asked.request {
            request.readsPage
        } else {
            false
        }
    }

    /// The largest reply to it, but for its id and for the page of a read.
    package var replyBytesMax: Int {
        switch body {
        case .success(let asked): asked.request.replyBytesMax
        case .failure(let error): error.replyBytesMax
        }
    }
}
