package import Ledger

/// A read, which the store answers beside the writer.
package enum Query: Hashable, Sendable {
    case history(HistoryQuery)
    /// Its time is `nil` until it was fixed.
    case report(ReportRequest)
    /// As of a time that is past.
    case balances(BalanceQuery, asOf: Timestamp)
    /// Where nothing is newer, the lane waits before it is read.
    case journal(JournalQuery)
    case find(FindQuery)

    var currency: CurrencyCode? {
        switch self {
        case .history(let query): query.currency
        case .report(let request): request.currency
        case .balances(let query, _): query.currency
        case .journal, .find: nil
        }
    }

    /// Blocks; for a reader's thread.
    /// - Throws: ``StoreError``
    func answer(from store: any Store) throws -> Outcome {
        switch self {
        case .history(let query):
            return .history(try store.history(query))
        case .report(let request):
            guard let asOf = request.asOf else { preconditionFailure("a report is read before its time was fixed") }
            return .report(try store.report(request.query(asOf: asOf)))
        case .balances(let query, let asOf):
            let balances = try store.balances(query.account, currency: query.currency, asOf: asOf)
            return .balance(AccountBalances(account: query.account, balances: balances))
        case .journal(let query):
            return .journal(try store.journal(query))
        case .find(let query):
            return .finding(try store.find(query))
        }
    }
}

extension Books {
    /// What became of an operation in the one order.
    enum Performed {
        case answered(Answer)
        /// The read may begin: what it is to see is fixed.
        case prepared(Query)
    }

    /// - Parameter mayClose: whether a period can be closed: it is the log that remembers it.
    mutating func perform(_ operation: Operation, at now: Timestamp, mayClose: Bool) -> Performed {
        switch operation {
        case .command(let command, let actor): return .answered(.success(decide(command, by: actor, at: now)))
        case .query(let query): return prepare(query, at: now, mayClose: mayClose)
        case .refused(let fault): return .answered(.failure(fault))
        case .signed: preconditionFailure("a JWS reached the books unverified")
        }
    }

    /// A time that a read counts up to is closed, so that its answer stays the same for ever.
    private mutating func prepare(_ query: Query, at now: Timestamp, mayClose: Bool) -> Performed {
        let latest = latestTime(now)
        var prepared = query
        switch query {
        case .history(let query):
            // What has expired is not shown as available, so it is posted first, where anything can be.
            if mayClose { settle(query.account, at: now) }
        case .journal, .find:
            break
        case .report(var request):
            let time = request.asOf ?? latest
            guard time <= latest else { return .answered(.failure(.futureTime)) }
            if mayClose { close(through: time) }
            request.asOf = time
            prepared = .report(request)
        case .balances(_, let asOf):
            guard asOf <= latest else { return .answered(.failure(.futureTime)) }
            if mayClose { close(through: asOf) }
        }
        if let currency = query.currency, currencyID(currency) == nil {
            return .answered(.success(.refused(Refusal(.unknownCurrency(currency: currency)))))
        }
        return .prepared(prepared)
    }
}
