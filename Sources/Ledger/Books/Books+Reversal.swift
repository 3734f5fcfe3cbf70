extension Books {
    /// One currency that goes back, into its lots the newest drawn first.
    private struct Return {
        var currency: CurrencyID
        var parts: [LotPart]
    }

    /// What of a drawn lot can still go back.
    private struct Remainder {
        var currency: CurrencyCode
        var part: LotPart
    }

    /// Gives a spend, or a part of it, back into the lots it came from. Guards stand in the protocol's order of
    /// precedence.
    mutating func post(_ reversal: Reversal, at now: Timestamp) -> Result<KeyedAnswer, Refusal.Reason> {
        guard let spend = answers[reversal.spendKey]?.answer.spend(reversal.operation) else {
            return .failure(.unknownSpend)
        }
        let player = owner(of: spend.trace.player)
        settle(player, at: now)
        let returns: [Return]
        switch plan(reversal, spend.drawn, spend.trace) {
        case .success(let planned): returns = planned
        case .failure(let reason): return .failure(reason)
        }

        // Nothing below can fail.
        beginEntry(.reversal, at: now, key: reversal.key)
        var returned: [DrawnLot] = []
        for item in returns {
            for part in item.parts {
                post(
                    debit: .spent, credit: .wallet, part.units, lot: part.lot, player: player,
                    currency: item.currency, reference: spend.trace.first)
                self.returned[spend.trace.first, default: [:]][part.lot, default: 0] += part.units
                returned.append(drawnLot(part, item.currency))
            }
            settleReturned(item.parts[...], player, item.currency)
            assertInvariants(player, item.currency)
        }
        return .success(
            .reversal(
                ReversalReceipt(
                    entry: position.entry, replayed: false, returned: returned,
                    balances: balances(player, returns.lazy.map(\.currency)))))
    }

    /// What goes back where, or the first of the refusals. Whether the wallet has room is asked of what can go back.
    private func plan(
        _ reversal: Reversal, _ drawn: [DrawnLot], _ trace: KeyedAnswer.Trace
    ) -> Result<[Return], Refusal.Reason> {
        guard let first = drawn.first else { preconditionFailure("a spend has drawn something") }
        let left = remainders(drawn, of: trace.first)
        var wanted = reversal.debits ?? []
        if reversal.debits == nil {
            var units: [CurrencyCode: Int64] = [:]
            for item in left { units[item.currency, default: 0] += item.part.units }
            for item in drawn where !wanted.contains(where: { $0.currency == item.currency }) {
                guard let amount = units[item.currency].flatMap({ Amount($0) }) else { continue }
                wanted.append(CurrencyAmount(currency: item.currency, amount: amount))
            }
            if wanted.isEmpty { return .failure(.alreadyReversed(currency: first.currency, reversible: 0)) }
        }
        var returns: [Return] = []
        var short: Refusal.Reason?
        var unknown: Refusal.Reason?
        for debit in wanted {
            guard let currency = currencyID(debit.currency) else {
                unknown = unknown ?? .unknownCurrency(currency: debit.currency)
                continue
            }
            let own = left.filter { $0.currency == debit.currency }.map(\.part)
            let reversible = own.reduce(0) { $0 + $1.units }
            if debit.amount.units > reversible {
                short = short ?? .alreadyReversed(currency: debit.currency, reversible: reversible)
            }
            let units = min(debit.amount.units, reversible)
            if exceeds(units, currency, of: owner(of: trace.player)) {
                return .failure(.balanceLimit(currency: debit.currency))
            }
            returns.append(Return(currency: currency, parts: newest(units, of: own)))
        }
        if let reason = short ?? unknown { return .failure(reason) }
        return .success(returns)
    }

    /// What of each drawn lot did not go back yet, the newest drawn first.
    private func remainders(_ drawn: [DrawnLot], of spend: TransferID) -> [Remainder] {
        let before = returned[spend] ?? [:]
        return drawn.reversed().compactMap { item in
            let units = item.amount.units - (before[item.lot] ?? 0)
            if units == 0 { return nil }
            return Remainder(
                currency: item.currency, part: LotPart(lot: item.lot, units: units, transaction: item.transaction))
        }
    }

    /// The first `units` of the parts.
    private func newest(_ units: Int64, of parts: [LotPart]) -> [LotPart] {
        var left = units
        var taken: [LotPart] = []
        for var part in parts where left > 0 {
            part.units = min(part.units, left)
            left -= part.units
            taken.append(part)
        }
        return taken
    }
}
