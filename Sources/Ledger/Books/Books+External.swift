/// Purchases of other stores, in the same register as the App Store's. Nobody signed them: what was stated last counts.
extension Books {
    /// Brings the register of a purchase up to what was stated of it. Guards stand in the protocol's order of
    /// precedence.
    mutating func register(_ stated: StatedPurchase, at now: Timestamp) -> Result<PurchaseReceipt, Refusal> {
        let facts = stated.facts
        let known = purchases[facts.transaction]
        let owner = known?.account.map { self.owner(of: $0) }
        settle(owner ?? account(stated.account), at: now)
        if facts.purchaseDate > latestTime(now) { return .failure(Refusal(.futurePurchase)) }
        let grants: [PurchaseRegister.Grant]
        if let known {
            grants = known.grants
        } else {
            do throws(Refusal) { grants = try self.grants(of: facts) } catch { return .failure(error) }
        }
        if let known {
            // Of an owner whose name was erased nobody can say any more whose it was.
            guard let owner, mayBe(stated.account, of: owner) || name(of: owner)?.isErased == true else {
                return .failure(Refusal(.accountMismatch))
            }
            if let member = known.facts.statedConflict(with: facts) {
                return .failure(Refusal(.purchaseConflict(member: member)))
            }
        }
        let revoked = stated.revoked == known?.revoked ? nil : stated.revoked
        if let currency = exceeded(by: revoked, grants, known, named: stated.account) {
            return .failure(Refusal(.balanceLimit(currency: code(currency))))
        }

        // Nothing below can fail.
        guard var register = known else { return .success(record(stated, grants: grants, at: now)) }
        guard let revoked else {
            return .success(receipt(register, register.revoked == 0 ? .alreadyCredited : .alreadyReversed, []))
        }
        return .success(advance(&register, revoked: revoked, at: now))
    }

    /// The first statement of a purchase.
    /// - Parameter key: of the request that its entry is the first of.
    mutating func record(
        _ stated: StatedPurchase, grants: [PurchaseRegister.Grant], key: RequestKey? = nil, at now: Timestamp
    ) -> PurchaseReceipt {
        let time = entryTime(now)
        var register = PurchaseRegister(
            facts: stated.facts, grants: grants, account: openAccount(stated.account),
            signedDate: stated.facts.order(stated: time),
            revoked: stated.revoked ?? 0, lots: [], lastEntry: nil)
        // What grants nothing posts nothing.
        let posted = grants.isEmpty ? [] : open(&register, key: key, at: now)
        if let external = register.facts.external {
            rows.externals.append(
                BlockRows.ExternalRow(
                    transaction: register.facts.transaction, source: external.source, identifier: external.identifier))
        }
        rows.purchases.append(
            BlockRows.PurchaseRow(
                facts: register.facts, grants: grants, account: register.account, evidence: 0,
                entry: register.lastEntry))
        append(register, time: time)
        assertPosted(register)
        let former = purchases.updateValue(register, forKey: stated.facts.transaction)
        precondition(former == nil, "a transaction id is recorded twice")
        return receipt(register, register.revoked == 0 ? .credited : .reversed, posted)
    }

    /// Another share of a purchase is revoked than was stated before. Each statement is later than the one before it:
    /// so the newest is the one that came last, also of two in one millisecond.
    private mutating func advance(
        _ register: inout PurchaseRegister, revoked: Int64, at now: Timestamp
    ) -> PurchaseReceipt {
        let before = register.revoked
        let time = max(entryTime(now), register.signedDate + 1)
        register.signedDate = time
        register.revoked = revoked
        let posted = adjust(&register, from: before, at: time)
        append(register, time: time, hasEntry: !posted.isEmpty)
        assertPosted(register)
        purchases[register.facts.transaction] = register
        return receipt(register, revoked > before ? .reversed : .reinstated, posted)
    }

    private mutating func append(_ register: PurchaseRegister, time: Timestamp, hasEntry: Bool = true) {
        rows.statements.append(
            BlockRows.StatementRow(
                transaction: register.facts.transaction, revoked: register.revoked, time: time,
                entry: hasEntry ? register.lastEntry : nil, actor: actorID()))
    }
}

extension PurchaseFacts {
    /// The first fact that differs between two statements of one id. Nobody signed the price, so it counts too.
    fileprivate func statedConflict(with other: PurchaseFacts) -> String? {
        if external != other.external { return "transactionId" }
        if let member = conflict(with: other) { return member == "productId" ? "product" : member }
        if price != other.price { return "price" }
        if priceCurrency != other.priceCurrency { return "priceCurrency" }
        return nil
    }
}
