/// What is told of a purchase.
extension PurchaseRegister {
    /// All that is told of it.
    /// - Parameters:
    ///   - account: the name of its account.
    ///   - lots: its lots in the order of its grants; none while it has no account.
    ///   - events: a page of what it was told.
    ///   - next: where the page before that is.
    ///   - code: the code of each currency that it grants.
    package func view(
        account: AccountName?, lots: [Lot], events: [PurchaseView.Event], next: Int64?,
        code: (CurrencyID) -> CurrencyCode
    ) -> PurchaseView {
        PurchaseView(
            transaction: facts.transaction, source: facts.source, external: facts.external, state: state,
            account: account, product: facts.product,
            quantity: facts.statedQuantity, purchaseDate: facts.purchaseDate, price: facts.price,
            priceCurrency: facts.priceCurrency, revoked: revoked,
            grants: grants.enumerated().map { index, grant in
                let lot = lots.indices.contains(index) ? lots[index] : nil
                return PurchaseView.Grant(
                    lot: lot?.id, currency: code(grant.currency), granted: grant.units, spent: lot?.spent ?? 0,
                    held: lot?.held ?? 0, revoked: lot?.refunded ?? 0, debt: lot?.owed ?? 0,
                    writtenOff: lot?.writtenOff ?? 0, repaid: lot?.repaid ?? 0, adjusted: lot?.adjusted ?? 0,
                    remaining: lot?.remaining ?? 0)
            }, consumption: consumption(of: lots), events: events, next: next)
    }

    private var state: PurchaseView.State {
        if account == nil { return .unassigned }
        return revoked == 0 ? .standing : revoked == Limits.wholeShare ? .revoked : .partlyRevoked
    }

    /// Spent ÷ granted in thousandths of a percent, rounded down; several currencies weighted as the purchase keeps
    /// it.
    /// - Parameter lots: its lots in the order of its grants; none while it has no account.
    package func consumption(of lots: [Lot]) -> Int64 {
        // Of one that was carried over nothing was left.
        if grants.isEmpty { return account == nil ? 0 : Limits.wholeShare }
        // What was carried over is weighted by its money, where there is any.
        let isWeighted = grants.contains { $0.weight > 0 }
        func weight(_ grant: Grant) -> UInt128 { isWeighted ? UInt128(grant.weight) : 1 }
        let total = grants.reduce(0) { $0 + weight($1) }
        let weighted = zip(grants, lots).reduce(UInt128(0)) { sum, part in
            let (grant, lot) = part
            let spent = UInt128(min(max(lot.spent, 0), grant.units))
            // Parts of 10^12 of a thousandth of a percent: so little is missing of each share that is rounded down.
            let share = spent * UInt128(Limits.wholeShare) * 1_000_000_000_000 / UInt128(max(grant.units, 1))
            return sum + share * weight(grant)
        }
        // Less than one such part is missing of each share: with it a whole sum is not one too low.
        return Int64((weighted + total) / (total * 1_000_000_000_000))
    }
}
