package import Ledger

/// What a token has granted in this day of UTC, and what it may grant at most. What has no limit is counted too, for it
/// may be given one in the middle of a day, which then holds for what still waits. The count begins anew with the
/// process.
package final class GrantAllowance: Sendable {
    private struct Granted {
        /// The day, by its number.
        var day: Int64 = 0
        var amounts: [CurrencyCode: Int64] = [:]
        /// Of each currency that has a limit, in units a day.
        var max: [CurrencyCode: Int64] = [:]
    }

    private let granted = Monitor(Granted())

    private static let millisecondsOfDay: Int64 = 86_400_000

    /// Without a limit.
    package init() {}

    /// Sets the limits, in units a day; a currency that is not among them has none.
    package func limit(to max: [CurrencyCode: Int64]) { granted.withLock { $0.max = max } }

    /// Takes amounts out of what is left, all or none of them.
    /// - Returns: `nil` where they were taken, else a currency of which too little is left, and what is.
    func take(_ amounts: [CurrencyCode: Int64], at time: Timestamp) -> (currency: CurrencyCode, remaining: Int64)? {
        granted.withLock { granted in
            let day = time / GrantAllowance.millisecondsOfDay
            if day > granted.day { (granted.day, granted.amounts) = (day, [:]) }
            for (currency, amount) in amounts {
                guard let max = granted.max[currency] else { continue }
                let remaining = Swift.max(0, max - granted.amounts[currency, default: 0])
                if amount > remaining { return (currency, remaining) }
            }
            // Sums of what has no limit may grow beyond all bounds.
            for (currency, amount) in amounts {
                let sum = granted.amounts[currency, default: 0].addingReportingOverflow(amount)
                granted.amounts[currency] = sum.overflow ? .max : sum.partialValue
            }
            return nil
        }
    }

    /// Gives back what was taken at the same time, and not granted.
    func giveBack(_ amounts: [CurrencyCode: Int64]) {
        granted.withLock { granted in
            for (currency, amount) in amounts {
                let sum = granted.amounts[currency, default: 0] - amount
                // Currencies that there are not are refused: however many a client names, none of them is kept.
                granted.amounts[currency] = sum > 0 ? sum : nil
            }
        }
    }
}

extension Books {
    /// Decides a command that grants. A repeat gets its first answer, whatever is left; what is granted and then cannot
    /// be made durable counts all the same.
    mutating func grant(
        _ command: Command, by actor: String?, within allowance: GrantAllowance, at now: Timestamp
    ) -> Answer {
        let grants = isAnswered(command) ? [:] : command.grants
        if let (currency, remaining) = allowance.take(grants, at: latestTime(now)) {
            return .failure(.grantsOfDay(currency, remaining: remaining))
        }
        let outcome = decide(command, by: actor, at: now)
        if case .refused = outcome { allowance.giveBack(grants) }
        return .success(outcome)
    }
}

extension Command {
    /// What it asks to be granted, by currency; empty where that is nothing.
    var grants: [CurrencyCode: Int64] {
        let operations: [KeyedOperation]
        switch self {
        case .keyed(.grant(let grant)): return [grant.currency: grant.amount.units]
        case .atomic(let atomic): operations = atomic.operations
        case .keyed, .credit, .notify, .external, .link, .consent, .adjust, .importLots, .record, .expire, .balance,
            .consumption,
            .forget:
            return [:]
        }
        var grants: [CurrencyCode: Int64] = [:]
        for case .grant(let grant) in operations {
            let sum = grants[grant.currency, default: 0].addingReportingOverflow(grant.amount.units)
            grants[grant.currency] = sum.overflow ? .max : sum.partialValue
        }
        return grants
    }
}
