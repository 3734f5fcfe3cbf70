extension Books {
    /// Brings the register of a purchase up to a verified JWS. Guards stand in the protocol's order of precedence.
    /// - Parameter named: the account that the request names.
    mutating func register(
        _ signed: SignedPurchase, named: AccountName?, requiresAccount: Bool, at now: Timestamp
    ) -> Result<PurchaseReceipt, Refusal> {
        let facts = signed.facts
        let known = purchases[facts.transaction]
        let owner = known?.account.map { self.owner(of: $0) }
        settle(owner ?? (facts.token ?? named).flatMap { account($0) }, at: now)
        let grants: [PurchaseRegister.Grant]
        if let known {
            grants = known.grants
        } else {
            do throws(Refusal) { grants = try self.grants(of: signed) } catch { return .failure(error) }
        }
        let former = formerName(of: facts.token, owner: owner)
        let named = former != nil && named == former ? facts.token : named
        // A token that names nobody claims nothing of a purchase that has an owner: it was set at Apple since, or its
        // name was erased.
        let isNobodys = owner != nil && former == nil && facts.token.map { playerIDs[$0] == nil } ?? false
        let name = facts.token ?? named
        if let known, signed.isFamilyShared, known.facts.ownership != facts.ownership {
            // What a member of the family is given, or loses, is not the purchase of who bought it.
            return .failure(Refusal(.familyShared(product: facts.product)))
        }
        if requiresAccount && name == nil { return .failure(Refusal(.accountRequired)) }
        if let token = facts.token, let named, !isNobodys, !isSame(token, named) {
            return .failure(Refusal(.accountMismatch))
        }
        if let known {
            // A notification that claims no account reaches the owner whatever token the JWS has by now: Apple lets a
            // token be set after the purchase, and a refund must not be lost for it.
            // Where the owner's name was erased nobody can say any more whose it was: whoever shows the purchase is
            // answered, and it stays where it is.
            let claimed = isNobodys ? named : requiresAccount || named != nil ? name : nil
            if let owner, let claimed, !mayBe(claimed, of: owner), former == nil,
                self.name(of: owner)?.isErased != true
            {
                return .failure(Refusal(.accountMismatch))
            }
            if let member = known.facts.conflict(with: facts) {
                return .failure(Refusal(.purchaseConflict(member: member)))
            }
        }
        let revoked = known.map { $0.isSuperseded(by: signed) } ?? true ? signed.revoked : nil
        if let currency = exceeded(by: revoked, grants, known, named: name) {
            return .failure(Refusal(.balanceLimit(currency: code(currency))))
        }

        // Nothing below can fail.
        guard var register = known else {
            return .success(record(signed, grants: grants, name: name, at: now))
        }
        return .success(advance(&register, signed, name: name, at: now))
    }

    /// Whether two names are one account's. A purchase's token may be linked to the account that a request names.
    private func isSame(_ left: AccountName, _ right: AccountName) -> Bool {
        if left == right { return true }
        guard hasLinks, let left = account(left), let right = account(right) else { return false }
        return left == right
    }

    /// The owner's name where that is the token in lower case, and not the token itself: until 2026-11-23 tokens were
    /// lower-cased that are no UUID, and whose a purchase was then it stays.
    private func formerName(of token: AccountName?, owner: PlayerID?) -> AccountName? {
        guard let token, let owner, playerIDs[token] != owner, let name = name(of: owner),
            AccountName(token.text.lowercased()) == name
        else { return nil }
        return name
    }

    /// The first JWS of a purchase.
    private mutating func record(
        _ signed: SignedPurchase, grants: [PurchaseRegister.Grant], name: AccountName?, at now: Timestamp
    ) -> PurchaseReceipt {
        let time = entryTime(now)
        var register = PurchaseRegister(
            facts: signed.facts, grants: grants, account: name.map { openAccount($0) }, signedDate: signed.signedDate,
            revoked: signed.revoked, lots: [], lastEntry: nil)
        var posted: [PostedAmount] = []
        if register.account != nil { posted = open(&register, at: now) }
        append(signed, isFirst: true, entry: register.lastEntry, time: time)
        rows.purchases.append(
            BlockRows.PurchaseRow(
                facts: register.facts, grants: grants, account: register.account, evidence: position.evidence,
                entry: register.lastEntry))
        assertPosted(register)
        let former = purchases.updateValue(register, forKey: signed.facts.transaction)
        precondition(former == nil, "a transaction id is recorded twice")
        let outcome: PurchaseOutcome =
            register.account == nil ? .unassigned : register.revoked == 0 ? .credited : .reversed
        return receipt(register, outcome, posted)
    }

    /// A further JWS of a purchase, or the first that names its account.
    private mutating func advance(
        _ register: inout PurchaseRegister, _ signed: SignedPurchase, name: AccountName?, at now: Timestamp
    ) -> PurchaseReceipt {
        let before = register.revoked
        let isNewer = register.isSuperseded(by: signed)
        let time = entryTime(now)
        if isNewer {
            register.signedDate = signed.signedDate
            register.revoked = signed.revoked
        }
        var posted: [PostedAmount] = []
        var entry: EntryID?
        let wasAssigned = register.account != nil
        if !wasAssigned, let name {
            let player = openAccount(name)
            register.account = player
            posted = open(&register, at: now)
            entry = register.lastEntry
            position.assignment += 1
            rows.assignments.append(
                BlockRows.AssignmentRow(
                    id: position.assignment, transaction: register.facts.transaction, account: player, time: time,
                    entry: position.entry))
        } else if wasAssigned && before != register.revoked {
            posted = adjust(&register, from: before, at: now)
            if !posted.isEmpty { entry = register.lastEntry }
        }
        if isNewer { append(signed, isFirst: false, entry: entry, time: time) }
        assertPosted(register)
        purchases[register.facts.transaction] = register

        let outcome: PurchaseOutcome
        if register.account == nil {
            outcome = .unassigned
        } else if isNewer && register.revoked > before {
            outcome = .reversed
        } else if isNewer && register.revoked < before && wasAssigned {
            outcome = .reinstated
        } else if !wasAssigned && register.revoked < Limits.wholeShare {
            outcome = .credited
        } else {
            outcome = register.revoked == 0 ? .alreadyCredited : .alreadyReversed
        }
        return receipt(register, outcome, posted)
    }

    /// Opens the lots of a purchase that has found its account. What is revoked already is taken back in the same
    /// entry: sales and refunds then stand in the books in full, whichever message came first.
    /// - Parameter key: of the request that asked for it, where one did.
    mutating func open(
        _ register: inout PurchaseRegister, key: RequestKey? = nil, at now: Timestamp
    ) -> [PostedAmount] {
        guard let player = register.account else { preconditionFailure("a purchase is opened for an account") }
        precondition(register.lots.isEmpty, "a purchase is opened twice")
        let facts = register.facts
        let isImported = facts.source == .imported
        precondition(!isImported || register.revoked == 0, "what was carried over was not refunded")
        beginEntry(
            isImported ? .imported : register.revoked == 0 ? .credit : .refund, at: now,
            transaction: facts.transaction, key: key)
        for (grant, price) in zip(register.grants, register.priceShares) {
            let id = position.transfer + 1
            register.lots.append(id)
            let lot = Lot(
                id: id, lotClass: facts.lotClass, transaction: facts.transaction, time: position.time, price: price,
                granted: grant.units, remaining: 0)
            post(
                debit: isImported ? .imported : .purchased, credit: .wallet, grant.units, lot: id, player: player,
                currency: grant.currency, opening: lot)
        }
        var posted: [PostedAmount] = []
        for (grant, lot) in zip(register.grants, register.lots) {
            let standing = PurchaseRegister.standing(of: grant.units, revoked: register.revoked)
            if standing < grant.units {
                post(
                    debit: .wallet, credit: .refunded, grant.units - standing, lot: lot, player: player,
                    currency: grant.currency)
            }
            if standing > 0 { posted.append(PostedAmount(currency: code(grant.currency), units: standing)) }
            recoverDebt(from: lot, player, grant.currency)
            assertInvariants(player, grant.currency)
        }
        register.lastEntry = position.entry
        return posted
    }

    /// Posts the difference between what the newest JWS leaves standing and what the one before left.
    mutating func adjust(
        _ register: inout PurchaseRegister, from before: Int64, at now: Timestamp
    ) -> [PostedAmount] {
        guard let player = register.account.map({ owner(of: $0) }) else {
            preconditionFailure("a purchase without an account posts nothing")
        }
        var changes: [(currency: CurrencyID, lot: LotID, units: Int64)] = []
        for (grant, lot) in zip(register.grants, register.lots) {
            let units =
                PurchaseRegister.standing(of: grant.units, revoked: register.revoked)
                - PurchaseRegister.standing(of: grant.units, revoked: before)
            if units != 0 { changes.append((grant.currency, lot, units)) }
        }
        if changes.isEmpty { return [] }
        beginEntry(
            register.revoked > before ? .refund : .reinstatement, at: now, transaction: register.facts.transaction)
        for (currency, lot, change) in changes {
            if change < 0 {
                takeBack(-change, lot, player, currency)
            } else {
                giveBack(change, lot, player, currency)
            }
            assertInvariants(player, currency)
        }
        register.lastEntry = position.entry
        return changes.map { PostedAmount(currency: code($0.currency), units: $0.units) }
    }

    /// Takes a refunded amount: first from the purchase's own lot, then from whatever else the wallet has (as a debt
    /// that is paid at once, so that each lot stays exact); the rest is owed, up to what a wallet can owe, or written
    /// off.
    private mutating func takeBack(_ amount: Int64, _ id: LotID, _ player: PlayerID, _ currency: CurrencyID) {
        guard let place = place(player, currency), let lot = self[place].lot(id) else {
            preconditionFailure("lot \(id) of a purchase is not loaded")
        }
        let available = self[place].available
        let own = min(amount, lot.remaining)
        if own > 0 {
            post(debit: .wallet, credit: .refunded, own, lot: id, player: player, currency: currency)
        }
        var short = amount - own
        let debtMax: Int64 =
            switch settings(currency).refundShortfall {
            case .debt: Limits.amountMax - self[place].debt
            case .writtenOff: 0
            }
        let borne = short - min(short, available - own) - debtMax
        if borne > 0 {
            post(debit: .writtenOff, credit: .refunded, borne, lot: id, player: player, currency: currency)
            short -= borne
        }
        if short > 0 {
            post(debit: .receivable, credit: .refunded, short, lot: id, player: player, currency: currency)
            recoverDebt(player, currency)
        }
    }

    /// Gives a reinstated amount back: what had been written off was never taken, so it goes first.
    private mutating func giveBack(_ amount: Int64, _ id: LotID, _ player: PlayerID, _ currency: CurrencyID) {
        let borne = min(amount, lot(id, player, currency).writtenOff)
        if borne > 0 {
            post(debit: .refunded, credit: .writtenOff, borne, lot: id, player: player, currency: currency)
        }
        if amount > borne {
            post(debit: .refunded, credit: .wallet, amount - borne, lot: id, player: player, currency: currency)
            recoverDebt(from: id, player, currency)
        }
    }

    private mutating func append(_ signed: SignedPurchase, isFirst: Bool, entry: EntryID?, time: Timestamp) {
        position.evidence += 1
        rows.evidence.append(
            BlockRows.EvidenceRow(
                id: position.evidence, transaction: signed.facts.transaction, isFirst: isFirst,
                signedDate: signed.signedDate, revoked: signed.revoked, time: time, entry: entry,
                header: headerID(of: signed.evidence), payload: signed.evidence.payload[...],
                signature: signed.evidence.signature[...]))
    }

    func receipt(
        _ register: PurchaseRegister, _ outcome: PurchaseOutcome, _ posted: [PostedAmount]
    ) -> PurchaseReceipt {
        let owner = register.account.map { self.owner(of: $0) }
        return PurchaseReceipt(
            outcome: outcome, transaction: register.facts.transaction, account: name(of: owner), posted: posted,
            balances: owner.map { balances($0, register.grants.lazy.map(\.currency)) } ?? [],
            entry: register.lastEntry, finish: register.account != nil)
    }

    /// The first currency whose balances a word on a purchase would take past the limit.
    /// - Parameter revoked: how much it says is revoked; `nil` where it says nothing new.
    func exceeded(
        by revoked: Int64?, _ grants: [PurchaseRegister.Grant], _ known: PurchaseRegister?, named: AccountName?
    ) -> CurrencyID? {
        if let known, let owner = known.account.map({ self.owner(of: $0) }) {
            guard let revoked else { return nil }
            return zip(grants, known.lots).first { grant, lot in
                let units =
                    PurchaseRegister.standing(of: grant.units, revoked: revoked)
                    - PurchaseRegister.standing(of: grant.units, revoked: known.revoked)
                guard units > 0 else { return false }
                if isReinstatedTooOften(lot, owner, grant.currency) { return true }
                // What had been written off does not come into the wallet.
                let entering = units - min(units, self.lot(lot, owner, grant.currency).writtenOff)
                return entering > 0 && exceeds(entering, grant.currency, of: owner)
            }?.0.currency
        }
        return grants.first { grant in
            // What is recorded without an account must fit a wallet as well.
            guard grant.units <= Limits.amountMax else { return true }
            guard let named else { return false }
            return exceeds(grant.units, grant.currency, of: account(named))
        }?.currency
    }

    /// Whether what a lot's refunds and reinstatements added up, ever, leaves no room for another round of them: a
    /// refund is never refused, so the reinstatement before it is.
    private func isReinstatedTooOften(_ id: LotID, _ player: PlayerID, _ currency: CurrencyID) -> Bool {
        let lot = lot(id, player, currency)
        return max(lot.indebted, lot.repaid) > Limits.lotSumMax
    }

    /// A lot of a purchase that was loaded.
    private func lot(_ id: LotID, _ player: PlayerID, _ currency: CurrencyID) -> Lot {
        guard let lot = place(player, currency).flatMap({ self[$0].lot(id) }) else {
            preconditionFailure("lot \(id) of a purchase is not loaded")
        }
        return lot
    }
}

extension PurchaseFacts {
    /// The first fact that differs between two words on one transaction id.
    func conflict(with other: PurchaseFacts) -> String? {
        if product != other.product { return "productId" }
        // Other books say what is left of a purchase, not how many were bought, and may round its date.
        if (source == .imported) != (other.source == .imported) {
            return source == .external || other.source == .external ? "source" : nil
        }
        if quantity != other.quantity { return "quantity" }
        if purchaseDate != other.purchaseDate { return "purchaseDate" }
        // A purchase of another store has a number of its own, which Apple never signs.
        if (source == .external) != (other.source == .external) { return "source" }
        return nil
    }
}
