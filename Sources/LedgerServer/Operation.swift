import AppStore
import Ledger
import LedgerWire

/// What passes through the sequencer, in the order in which it takes effect.
enum Operation: Sendable {
    /// A JWS to be verified first.
    case signed(SignedObject, account: AccountName?, by: String? = nil)
    /// Apart, for it is moved from queue to queue, and a command has many texts that would each be retained.
    /// - by: the name of the token under which it came.
    indirect case command(Command, by: String? = nil)
    /// Fixes what a read sees: everything before it, and, where it asks for a time, that this time is over.
    case prepare(Query)
    /// Refused by verification; keeps its place in the order.
    case refused(WireError)

    var isSigned: Bool {
        switch self {
        case .signed: true
        case .command, .prepare, .refused: false
        }
    }
}

extension Operation {
    /// Whether it may add something to the journal.
    var mayWrite: Bool {
        switch self {
        case .signed: true
        case .prepare, .refused: false
        case .command(let command, _):
            switch command {
            case .credit, .notify, .keyed, .expire, .forget: true
            case .balance, .purchase, .consumption: false
            }
        }
    }
}

/// What became of an operation.
enum OperationResult: Sendable {
    case outcome(Outcome)
    case error(WireError)
    /// The read may be done now.
    case prepared(Query)
}

/// A request that the store answers beside the writer.
enum Query: Hashable, Sendable {
    case history(HistoryQuery)
    /// Its time is `nil` until it was fixed.
    case report(ReportRequest)
    /// As of a time that is past.
    case balances(BalanceQuery, asOf: Timestamp)
    /// Where nothing is newer, the connection waits before it is read.
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
    /// - Parameter mayClose: whether a period can be closed: it is the log that remembers it.
    mutating func perform(_ operation: Operation, at now: Timestamp, mayClose: Bool) -> OperationResult {
        switch operation {
        case .command(let command, let actor): return .outcome(decide(command, by: actor, at: now))
        case .prepare(let query): return prepare(query, at: now, mayClose: mayClose)
        case .refused(let error): return .error(error)
        case .signed: preconditionFailure("a JWS reached the books unverified")
        }
    }

    /// A time that a read counts up to is closed, so that its answer stays the same for ever.
    private mutating func prepare(_ query: Query, at now: Timestamp, mayClose: Bool) -> OperationResult {
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
            guard time <= latest else { return .error(Books.futureTime) }
            if mayClose { close(through: time) }
            request.asOf = time
            prepared = .report(request)
        case .balances(_, let asOf):
            guard asOf <= latest else { return .error(Books.futureTime) }
            if mayClose { close(through: asOf) }
        }
        if let currency = query.currency, currencyID(currency) == nil {
            return .outcome(.refused(Refusal(.unknownCurrency(currency: currency))))
        }
        return .prepared(prepared)
    }

    private static let futureTime = WireError.invalidParams(path: "asOf", "is in the future")
}
