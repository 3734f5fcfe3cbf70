/// The invariants of ``Books``, by their numbers there. One that is broken is an error of this program: the process
/// ends before anything of the batch is durable, and the next start goes on from what is.
extension Books {
    /// 1 and 2, of one wallet. Sums only in debug builds, for a wallet may have many lots.
    func assertInvariants(_ player: PlayerID, _ currency: CurrencyID) {
        guard let place = place(player, currency) else { return }
        let wallet = self[place]
        precondition(wallet.available >= 0 && wallet.held >= 0 && wallet.debt >= 0, "a balance is negative")
        precondition(
            wallet.available + wallet.held <= Limits.amountMax && wallet.debt <= Limits.amountMax,
            "a wallet passes its bound")
        precondition(wallet.available == 0 || wallet.debt == 0, "a debt stands beside something available")
        precondition(wallet.paid >= 0 && wallet.paid <= wallet.available, "paid is not a part of available")
        precondition(wallet.hasAllLots || wallet.isCreditedWithoutLots, "a wallet lacks lots that it needs")
        assert(!wallet.hasAllLots || wallet.isSumOfLots, "a wallet is not the sum of its lots")
        assert(
            wallet.lots.allSatisfy {
                $0.remaining >= 0 && $0.owed >= 0
                    && $0.remaining == $0.granted - $0.spent - $0.held - $0.expired - $0.repaid
                        - $0.adjusted
                        - ($0.refunded - $0.indebted - $0.writtenOff)
            }, "a lot's parts are not its whole")
        assert(
            wallet.held == players[player]?.holds.reduce(0) { $0 + ($1.currency == currency ? $1.amount : 0) },
            "held is not the sum of the open holds")
        assert(AccountKind.allCases.reduce(0) { $0 + totals[currency, $1].balance } == 0, "the books do not balance")
    }
    /// 3, of a purchase whose lots are in memory.
    func assertPosted(_ register: PurchaseRegister) {
        precondition(
            register.lots.isEmpty == (register.account == nil || register.grants.isEmpty),
            "a purchase has lots and no account, or the reverse")
        guard let player = register.account.map({ owner(of: $0) }) else { return }
        for (grant, id) in zip(register.grants, register.lots) {
            guard let lot = place(player, grant.currency).flatMap({ self[$0].lot(id) }) else {
                preconditionFailure("lot \(id) of a purchase is not loaded")
            }
            let standing = PurchaseRegister.standing(of: grant.units, revoked: register.revoked)
            precondition(
                lot.granted == grant.units && lot.granted - lot.refunded == standing,
                "what a purchase has posted is not what its newest JWS says")
        }
    }

    /// 5 and 6: an entry has at least one transfer, and the numbers have no gap.
    func assertLastEntryIsWhole() {
        guard let last = rows.entries.last else { return }
        precondition(last.id == position.entry, "an entry's number is left out")
        precondition(last.firstTransfer <= position.transfer, "an entry has no transfer")
    }
}
