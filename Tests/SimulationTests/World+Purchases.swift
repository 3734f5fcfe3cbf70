import Ledger

/// What Apple signed of a purchase, as the simulation's App Store says it.
struct SignedItem: Sendable {
    var transaction: TransactionID
    var product: String
    var quantity: Int64
    var token: AccountName?
    var signedDate: Timestamp
    var revoked: Int64
    /// Of the notification that carries it; `nil` where it comes by itself.
    var notification: (type: String, uuid: String)?
    /// Whether a signature of it is not Apple's.
    var isForged = false
    var jws: [UInt8]
}

extension SignedItem: CustomStringConvertible {
    var description: String {
        "\(notification.map { "\($0.type) \($0.uuid) of " } ?? "")\(transaction) (\(product), \(quantity), "
            + "\(token?.text ?? "no token"), signed \(signedDate), revoked \(revoked)\(isForged ? ", forged" : ""))"
    }
}

extension World {
    mutating func take(_ item: SignedItem, named: AccountName?, at now: Timestamp) -> Outcome {
        let receipt: PurchaseReceipt
        do throws(Refusal.Reason) {
            receipt = try register(item, named: named, isCredit: item.notification == nil, at: now)
        } catch {
            return .refused(Refusal(error))
        }
        guard let (type, uuid) = item.notification else { return .purchase(receipt) }
        let isNew = notifications.insert(uuid).inserted
        return .notification(
            NotificationReceipt(type: type, subtype: nil, uuid: uuid, duplicate: !isNew, purchase: receipt))
    }

    static func standing(_ granted: Int64, _ revoked: Int64) -> Int64 {
        // Rounded up in the player's favour.
        (granted * (100_000 - revoked) + 99_999) / 100_000
    }

    private mutating func register(
        _ item: SignedItem, named: AccountName?, isCredit: Bool, at now: Timestamp
    ) throws(Refusal.Reason) -> PurchaseReceipt {
        let known = purchases[item.transaction]
        let name = item.token ?? named
        settle(known?.account.map { owner($0) } ?? name.flatMap { whose($0) }, at: now)
        guard known != nil || World.products[item.product] != nil else {
            throw .unknownProduct(product: item.product)
        }
        if isCredit && name == nil { throw .accountRequired }
        // What nobody is called claims nothing of a purchase that has an owner.
        let isNobodys = known?.account != nil && item.token.map { whose($0) == nil } ?? false
        if let token = item.token, let named, named != token, !isNobodys,
            whose(token) == nil || whose(token) != whose(named)
        {
            throw .accountMismatch
        }
        if let known {
            // A notification whose request names no account reaches the owner; and so does whoever comes after the
            // owner was forgotten. Else it is the token's word that counts, and the named account is the same as it is
            // now: a token that was linked to another account since still fits what was bought under it before.
            let claimed = isNobodys ? named : isCredit || named != nil ? name : nil
            if let owner = known.account.map({ owner($0) }), let claimed, !mayBe(claimed, owner),
                !names[owner].isErased
            {
                throw .accountMismatch
            }
            if known.product != item.product { throw .purchaseConflict(member: "productId") }
            if known.quantity != item.quantity { throw .purchaseConflict(member: "quantity") }
        }
        var purchase =
            known
            ?? Purchase(
                product: item.product, quantity: item.quantity,
                grants: World.products[item.product]!.map {
                    CurrencyAmount(currency: $0.0, amount: Amount($0.1 * item.quantity)!)
                }, signedDate: item.signedDate, revoked: item.revoked)
        let before = purchase.revoked
        let isNewer = (item.signedDate, item.revoked) > (purchase.signedDate, purchase.revoked)
        if isNewer { (purchase.signedDate, purchase.revoked) = (item.signedDate, item.revoked) }
        let wasAssigned = purchase.account != nil
        var posted: [PostedAmount] = []
        if !wasAssigned, let name {
            let account = current(open(name))
            purchase.account = account
            posted = openLots(&purchase, item.transaction, account, at: now)
        } else if wasAssigned && before != purchase.revoked {
            posted = adjust(&purchase, item.transaction, from: before, at: now)
        }
        purchases[item.transaction] = purchase
        let outcome: PurchaseOutcome
        if purchase.account == nil {
            outcome = .unassigned
        } else if known == nil {
            outcome = purchase.revoked == 0 ? .credited : .reversed
        } else if isNewer && purchase.revoked > before {
            outcome = .reversed
        } else if isNewer && purchase.revoked < before && wasAssigned {
            outcome = .reinstated
        } else if !wasAssigned && purchase.revoked < 100_000 {
            outcome = .credited
        } else {
            outcome = purchase.revoked == 0 ? .alreadyCredited : .alreadyReversed
        }
        return PurchaseReceipt(
            outcome: outcome, transaction: item.transaction, account: purchase.account.map { names[owner($0)] },
            posted: posted,
            balances: purchase.account.map { balances(owner($0), purchase.grants.map(\.currency)) } ?? [],
            entry: purchase.lastEntry, finish: purchase.account != nil)
    }

    private mutating func openLots(
        _ purchase: inout Purchase, _ transaction: TransactionID, _ account: Int, at now: Timestamp
    ) -> [PostedAmount] {
        begin(purchase.revoked == 0 ? .credit : .refund, at: now, transaction: transaction)
        note(&purchase)
        for grant in purchase.grants {
            purchase.lots.append(
                openLot(
                    Place(account: account, currency: grant.currency), grant.amount.units, from: .purchased,
                    transaction: transaction))
        }
        var posted: [PostedAmount] = []
        for (grant, lot) in zip(purchase.grants, purchase.lots) {
            let standing = World.standing(grant.amount.units, purchase.revoked)
            move(.wallet, .refunded, grant.amount.units - standing, lot)
            if standing > 0 { posted.append(PostedAmount(currency: grant.currency, units: standing)) }
            pay(from: [Part(lot: lot, units: lots[lot].remaining)])
        }
        return posted
    }

    private mutating func note(_ purchase: inout Purchase) {
        let entry = entries[entries.count - 1]
        purchase.lastEntry = entry.id
        if entry.kind == .refund { purchase.refundedSince = purchase.refundedSince ?? entry.time }
    }

    private mutating func adjust(
        _ purchase: inout Purchase, _ transaction: TransactionID, from before: Int64, at now: Timestamp
    ) -> [PostedAmount] {
        var changes: [(lot: Int, change: PostedAmount)] = []
        for (grant, lot) in zip(purchase.grants, purchase.lots) {
            let units =
                World.standing(grant.amount.units, purchase.revoked) - World.standing(grant.amount.units, before)
            if units != 0 { changes.append((lot, PostedAmount(currency: grant.currency, units: units))) }
        }
        if changes.isEmpty { return [] }
        begin(purchase.revoked > before ? .refund : .reinstatement, at: now, transaction: transaction)
        note(&purchase)
        for (lot, change) in changes {
            if change.units < 0 { takeBack(-change.units, lot) } else { giveBack(change.units, lot) }
        }
        return changes.map(\.change)
    }

    /// First what is left of the purchase itself; then whatever else the wallet has, as a debt that is paid at once.
    /// The rest is owed, or written off.
    private mutating func takeBack(_ units: Int64, _ lot: Int) {
        let place = lots[lot].place
        let others = available(place) - lots[lot].remaining
        let own = min(units, lots[lot].remaining)
        move(.wallet, .refunded, own, lot)
        var short = units - own
        if World.settings[place.currency]!.isWrittenOff {
            let borne = max(short - others, 0)
            move(.writtenOff, .refunded, borne, lot)
            short -= borne
        }
        if short == 0 { return }
        move(.receivable, .refunded, short, lot)
        pay(from: draw(place, min(debt(place), available(place))))
    }

    /// What had been written off was never taken, so it goes first.
    private mutating func giveBack(_ units: Int64, _ lot: Int) {
        let borne = min(units, lots[lot].writtenOff)
        move(.refunded, .writtenOff, borne, lot)
        if units == borne { return }
        move(.refunded, .wallet, units - borne, lot)
        pay(from: [Part(lot: lot, units: lots[lot].remaining)])
    }
}
