import Ledger

/// What became of a submission in the one order.
struct Decision: Sendable {
    /// One for each operation, but for a read that may begin.
    var answers: [Answer] = []
    /// The read at its end, which may begin: what it is to see is fixed.
    var read: Query?

    /// How many operations were decided.
    var count: Int { answers.count + (read == nil ? 0 : 1) }
}

extension Books {
    /// Decides one operation, behind those that `decision` has.
    /// - Parameter mayClose: whether a period can be closed: it is the log that remembers it.
    mutating func perform(
        _ operation: LedgerOperation, at now: Timestamp, mayClose: Bool, into decision: inout Decision
    ) {
        precondition(decision.read == nil, "something was submitted behind a read")
        switch operation {
        case .command(let command, let actor):
            decision.answers.append(.success(decide(command, by: actor, at: now)))
        case .granting(let command, let actor, let allowance):
            decision.answers.append(grant(command, by: actor, within: allowance, at: now))
        case .query(let query):
            do throws(Fault) {
                decision.read = try prepare(query, at: now, mayClose: mayClose)
            } catch {
                return decision.answers.append(.failure(error))
            }
            if let refusal = refusal(of: query) {
                decision.read = nil
                decision.answers.append(.success(.refused(refusal)))
            }
        case .promote: preconditionFailure("a promotion is the store's")
        case .refused(let fault): decision.answers.append(.failure(fault))
        case .signed: preconditionFailure("a JWS reached the books unverified")
        }
    }

    /// A time that a read counts up to is closed, so that its answer stays the same for ever.
    private mutating func prepare(_ query: Query, at now: Timestamp, mayClose: Bool) throws(Fault) -> Query {
        let latest = latestTime(now)
        switch query {
        case .history(let history):
            // What has expired is not shown as available, so it is posted first, where anything can be.
            if mayClose { settle(history.account, at: now) }
            return query
        // What has run out is not told in any case, as of a balance; it is posted where anything can be.
        case .lots(let open, _):
            if mayClose { settle(open.account, at: now) }
            return .lots(open, at: now)
        case .holds(let open, _):
            if mayClose { settle(open.account, at: now) }
            return .holds(open, at: now)
        case .purchase(let purchase):
            if mayClose { settle(purchase.transaction, at: now) }
            return query
        case .journal, .find, .appStoreWork, .blocks, .head, .stepDown:
            return query
        case .report(var request):
            let time = request.asOf ?? latest
            guard time <= latest else { throw .futureTime(parameter: "asOf") }
            if let from = request.from, from > time { throw .futureTime(parameter: "from") }
            guard time >= periods.began || request.isOfTimeBeforeLedger else {
                throw .timeBeforeLedger(parameter: "asOf", began: periods.began)
            }
            if mayClose { close(through: time) }
            request.asOf = time
            return .report(request)
        case .closing(var closing):
            guard closing.through <= latest else { throw .futureTime(parameter: "through") }
            guard closing.through >= periods.began else {
                throw .timeBeforeLedger(parameter: "through", began: periods.began)
            }
            if closing.through > periods.closedThrough {
                // What cannot be made durable does not come here.
                precondition(mayClose, "a period is closed while nothing can be")
                closePeriod(through: closing.through, by: closing.actor, at: now)
            } else {
                closing.closedThrough = periods.closedThrough
            }
            return .closing(closing)
        case .balances(_, let asOf):
            guard asOf <= latest else { throw .futureTime(parameter: "asOf") }
            if mayClose { close(through: asOf) }
            return query
        }
    }

    private func refusal(of query: Query) -> Refusal? {
        if let currency = query.currency, currencyID(currency) == nil {
            return Refusal(.unknownCurrency(currency: currency))
        }
        if case .purchase(let purchase) = query, purchases[purchase.transaction] == nil {
            return Refusal(.unknownPurchase)
        }
        return nil
    }
}
