import HeadSigning
package import Ledger

/// Which period is to be closed.
package struct ClosingQuery: Hashable, Sendable {
    /// The last millisecond of the period.
    package var through: Timestamp
    /// The name of the token under which it came.
    package var actor: String?
    /// The end of the last period that was closed by name, where that is not earlier, so that nothing was closed when
    /// the read was prepared.
    package var closedThrough: Timestamp?

    package init(through: Timestamp, actor: String? = nil, closedThrough: Timestamp? = nil) {
        self.through = through
        self.actor = actor
        self.closedThrough = closedThrough
    }
}

/// A read, which the store answers beside the writer.
package enum Query: Hashable, Sendable {
    case history(HistoryQuery)
    /// Without what has run out by a time, which is `nil` until it was fixed.
    case lots(OpenItemsQuery, at: Timestamp? = nil)
    /// The same.
    case holds(OpenItemsQuery, at: Timestamp? = nil)
    /// Its time is `nil` until it was fixed.
    case report(ReportRequest)
    /// As of a time that is past.
    case balances(BalanceQuery, asOf: Timestamp)
    /// Where nothing is newer, the lane waits before it is read.
    case journal(JournalQuery)
    /// Of a purchase that was recorded.
    case purchase(PurchaseQuery)
    case find(FindQuery)
    /// The service's own: no client asks it.
    case appStoreWork(AppStoreWorkQuery)
    /// Not of the books but of the log. Where nothing is newer, the lane waits, and it is read again.
    case blocks(BlocksQuery)
    case head
    /// Of a period that was closed, or is closed when the read is prepared.
    case closing(ClosingQuery)
    /// Not a read, but done as one: when everything before it is answered, and beside the writer.
    case stepDown

    var currency: CurrencyCode? {
        switch self {
        case .history(let query): query.currency
        case .lots(let query, _), .holds(let query, _): query.currency
        case .report(let request): request.currency
        case .balances(let query, _): query.currency
        case .journal, .purchase, .find, .appStoreWork, .blocks, .head, .closing, .stepDown: nil
        }
    }

    /// Whether it adds something to the ledger when it is prepared.
    var mayWrite: Bool {
        switch self {
        case .closing: true
        case .history, .lots, .holds, .report, .balances, .journal, .purchase, .find, .appStoreWork, .blocks, .head,
            .stepDown:
            false
        }
    }

    var isOfBlocks: Bool {
        switch self {
        case .blocks: true
        case .history, .lots, .holds, .report, .balances, .journal, .purchase, .find, .appStoreWork, .head, .closing,
            .stepDown:
            false
        }
    }

    /// The largest result.
    var resultBytesMax: Int {
        switch self {
        case .history, .lots, .holds, .report, .journal, .purchase, .find, .appStoreWork, .balances, .head, .closing,
            .stepDown:
            Limits.pageBytesMax
        // In base 64. A block that is larger is told alone.
        case .blocks(let query): query.bytesMax / 3 * 4 + Limits.pageBytesMax
        }
    }

    /// The same, to be answered with what there is.
    var withoutWait: Query {
        switch self {
        case .journal(var query):
            query.waitMilliseconds = 0
            return .journal(query)
        case .blocks(var query):
            query.waitMilliseconds = 0
            return .blocks(query)
        case .history, .lots, .holds, .report, .balances, .purchase, .find, .appStoreWork, .head, .closing, .stepDown:
            return self
        }
    }

    /// Blocks; for a reader's thread.
    /// - Parameter signer: signs heads; where there is none they are given without a signature.
    /// - Throws: ``StoreError``, or a ``Fault``.
    func answer(from store: any Store, signer: HeadSigner?) throws -> Outcome {
        switch self {
        case .history(let query):
            return .history(try store.history(query))
        case .lots(let query, let time): return .lots(try store.lots(query, at: fixed(time)))
        case .holds(let query, let time): return .holds(try store.holds(query, at: fixed(time)))
        case .report(let request):
            return .report(try store.report(request.query(asOf: fixed(request.asOf))))
        case .balances(let query, let asOf):
            let balances = try store.balances(query.account, currency: query.currency, asOf: asOf)
            return .balance(AccountBalances(account: query.account, balances: balances))
        case .journal(let query):
            return .journal(try store.journal(query))
        case .purchase(let query):
            return .purchaseView(try store.purchase(query))
        case .find(let query):
            return .finding(try store.find(query))
        case .appStoreWork(let query):
            return .appStoreWork(try store.appStoreWork(query))
        case .blocks(let query):
            return .blocks(try store.blocks(query))
        case .head:
            let state = try store.projectedState()
            guard let head = state.head else { throw StoreError("the ledger has no block yet") }
            return .head(
                ChainHead(
                    block: head.number, hash: head.hash.hexadecimal, entry: state.position.entry, time: state.time,
                    signature: try signer?.sign(state)))
        case .stepDown: return .steppedDown(try store.stepDown())
        case .closing(let query):
            if let closing = try store.closing(through: query.through) {
                return .closed(
                    ClosingReceipt(through: closing.through, block: closing.block, hash: closing.hash))
            }
            guard let closed = query.closedThrough else {
                throw StoreError(
                    .corrupt, "the period through \(query.through) was closed, and the tables do not say so")
            }
            return .refused(Refusal(.periodClosed(closedThrough: closed)))
        }
    }

    private func fixed(_ time: Timestamp?) -> Timestamp {
        guard let time else { preconditionFailure("something is read before its time was fixed") }
        return time
    }
}
