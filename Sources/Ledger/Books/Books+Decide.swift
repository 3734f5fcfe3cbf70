extension Books {
    /// Decides one command: what it changes is in the books and their rows afterwards, and what it answers is
    /// given back. Pure but for this value; the caller has loaded what the command needs and passes the time in.
    /// - Parameter actor: the name of the token under which it was sent, which stands with what it posts.
    package mutating func decide(_ command: Command, by actor: String? = nil, at now: Timestamp) -> Outcome {
        self.actor = actor
        switch command {
        case .credit(let signed, let account):
            switch register(signed, named: account, requiresAccount: true, at: now) {
            case .success(let receipt): return .purchase(receipt)
            case .failure(let refusal): return .refused(refusal)
            }
        case .notify(let signed, let account):
            return decide(signed, account, at: now)
        case .keyed(let operation):
            return decide(operation, at: now)
        case .atomic(let atomic):
            return decide(atomic, at: now)
        case .external(let stated):
            switch register(stated, at: now) {
            case .success(let receipt): return .purchase(receipt)
            case .failure(let refusal): return .refused(refusal)
            }
        case .link(let link):
            return self.link(link, at: now)
        case .consent(let consent):
            return decide(consent, at: now)
        case .adjust(let adjustment, let approver):
            return decide(adjustment, approvedBy: approver, at: now)
        case .importLots(let carried):
            return decide(carried, at: now)
        case .record(let call):
            return record(call, at: now)
        case .expire:
            return expireDue(at: now)
        case .balance(let account, let currency):
            settle(self.account(account), at: now)
            return balance(account, currency)
        case .consumption(let query):
            settle(query.transaction, at: now)
            return consumption(query)
        case .forget(let account):
            return forget(account, at: now)
        }
    }

    /// Whether the key of a command has its answer, whatever was asked under it.
    package func isAnswered(_ command: Command) -> Bool {
        switch command {
        case .keyed(let operation): answers[operation.key] != nil
        case .atomic(let atomic): answers[atomic.key] != nil
        case .consent(let consent): answers[consent.key] != nil
        case .adjust(let adjustment, _): answers[adjustment.key] != nil
        case .importLots(let carried): answers[carried.key] != nil
        case .credit, .notify, .external, .link, .record, .expire, .balance, .consumption, .forget: false
        }
    }

    private mutating func decide(_ operation: KeyedOperation, at now: Timestamp) -> Outcome {
        var account: PlayerID?
        if let name = operation.account {
            guard let number = number(name, for: operation.key) else { return .refused(Refusal(.keyReused)) }
            account = number
        }
        return decide(operation.key, operation.fingerprint(of: account, hash)) {
            KeyedAnswer($0.post(operation, at: now))
        }
    }

    private mutating func decide(_ atomic: Atomic, at now: Timestamp) -> Outcome {
        var accounts: [PlayerID?] = []
        for operation in atomic.operations {
            guard let name = operation.account else {
                accounts.append(nil)
                continue
            }
            guard let account = number(name, for: atomic.key) else { return .refused(Refusal(.keyReused)) }
            accounts.append(account)
        }
        return decide(atomic.key, atomic.fingerprint(of: accounts, hash)) { $0.post(atomic, at: now) }
    }

    private mutating func decide(_ consent: Consent, at now: Timestamp) -> Outcome {
        guard let account = number(consent.account, for: consent.key) else { return .refused(Refusal(.keyReused)) }
        return decide(consent.key, consent.fingerprint(of: account, hash)) {
            $0.record(consent, of: account, at: now)
        }
    }

    private mutating func decide(_ adjustment: Adjustment, approvedBy approver: String, at now: Timestamp) -> Outcome {
        guard let account = number(adjustment.account, for: adjustment.key) else {
            return .refused(Refusal(.keyReused))
        }
        return decide(adjustment.key, adjustment.fingerprint(of: account, hash)) {
            KeyedAnswer($0.post(adjustment, approvedBy: approver, at: now))
        }
    }

    /// A refusal is no answer of the key: see ``refusal(of:at:)``.
    private mutating func decide(_ carried: LotImport, at now: Timestamp) -> Outcome {
        if answers[carried.key] == nil, let refusal = refusal(of: carried, at: now) { return .refused(refusal) }
        guard let account = number(carried.account, for: carried.key) else { return .refused(Refusal(.keyReused)) }
        return decide(carried.key, carried.fingerprint(of: account, hash)) { $0.post(carried, at: now) }
    }

    /// The number of the account that a keyed request names, which is made now where the name is new: a refusal is
    /// kept with its account as well. It is the named one's own number, also where that is linked, so that a link
    /// changes no fingerprint. `nil` where the key was used and the name is not known: it was used for another's.
    private mutating func number(_ account: AccountName, for key: RequestKey) -> PlayerID? {
        if let known = playerIDs[account] { return known }
        return answers[key] == nil ? openPlayer(account) : nil
    }

    /// One key, one answer, for ever: the first answer is recorded with the key, a refusal by state included.
    private mutating func decide(
        _ key: RequestKey, _ fingerprint: Digest, _ post: (inout Books) -> KeyedAnswer
    ) -> Outcome {
        if let answered = answers[key] {
            guard answered.fingerprint == fingerprint else { return .refused(Refusal(.keyReused)) }
            return answered.answer.outcome(replayed: true)
        }
        let answer = post(&self)
        position.request += 1
        rows.requests.append(
            BlockRows.RequestRow(
                id: position.request, key: key, fingerprint: fingerprint, entry: answer.entry,
                answer: answer.encoded[...]))
        let former = answers.updateValue(Answered(fingerprint: fingerprint, answer: answer), forKey: key)
        precondition(former == nil, "a key has two answers")
        return answer.outcome(replayed: false)
    }

    /// Records a notification once. Where its purchase is refused nothing is recorded, so that it can be sent again;
    /// but that of a product which has nothing to do with the game's currency is recorded without a purchase.
    private mutating func decide(
        _ signed: SignedNotification, _ account: AccountName?, at now: Timestamp
    ) -> Outcome {
        var signed = signed
        var receipt: PurchaseReceipt?
        if let purchase = signed.purchase {
            switch register(purchase, named: account, requiresAccount: false, at: now) {
            case .success(let done): receipt = done
            case .failure(let refusal):
                guard refusal.isOfOtherProducts else { return .refused(refusal) }
                signed.purchase = nil
            }
        }
        let isNew = notifications[signed.uuid] == nil
        if isNew {
            position.notification += 1
            notifications[signed.uuid] = RecordedNotification(
                number: position.notification, type: signed.type, transaction: signed.purchase?.facts.transaction)
            append(signed, at: entryTime(now))
        }
        return .notification(
            NotificationReceipt(
                type: signed.type, subtype: signed.subtype, uuid: signed.uuid, duplicate: !isNew, purchase: receipt))
    }

    /// The header segment of the transaction nested in its payload stands once in all blocks.
    private mutating func append(_ signed: SignedNotification, at time: Timestamp) {
        var payload = signed.evidence.payload[...]
        var nested: BlockRows.NotificationRow.Nested?
        if let evidence = signed.purchase?.evidence, let place = payload.firstPlace(of: evidence.header) {
            nested = BlockRows.NotificationRow.Nested(header: headerID(of: evidence), at: Int64(place.lowerBound))
            payload.removeSubrange(place)
        }
        rows.notifications.append(
            BlockRows.NotificationRow(
                id: position.notification, uuid: signed.uuid, type: signed.type, subtype: signed.subtype,
                signedDate: signed.signedDate, reason: signed.reason, time: time,
                transaction: signed.purchase?.facts.transaction,
                subject: signed.purchase == nil ? signed.subject : nil, header: headerID(of: signed.evidence),
                payload: payload, nested: nested, signature: signed.evidence.signature[...]))
    }

    /// The number of a JWS's header segment; one that no block has yet gets the next.
    mutating func headerID(of evidence: JWSParts) -> HeaderID {
        if let id = headerIDs[evidence.headerDigest] { return id }
        position.header += 1
        headerIDs[evidence.headerDigest] = position.header
        rows.headers.append(BlockRows.HeaderRow(id: position.header, text: evidence.header[...]))
        return position.header
    }

    /// Takes an account its name: its entries, lots and sums stay. Who appends the block then erases the name from
    /// the block that added the account.
    private mutating func forget(_ account: AccountName, at now: Timestamp) -> Outcome {
        guard let id = playerIDs[account] else { return .forgotten(false) }
        rows.erasures.append(BlockRows.ErasureRow(account: id, time: entryTime(now), actor: actorID()))
        rename(id, AccountName.erased(id))
        // Atomics that this batch answered, or loaded, show their accounts by name.
        for (key, answered) in answers {
            guard case .atomic(var receipt, let traces, let players) = answered.answer,
                let place = players.firstIndex(of: id)
            else { continue }
            receipt.balances[place].account = AccountName.erased(id)
            answers[key]?.answer = .atomic(receipt, traces, players: players)
        }
        return .forgotten(true)
    }

    private func balance(_ account: AccountName, _ currency: CurrencyCode?) -> Outcome {
        if let currency, currencyID(currency) == nil {
            return .refused(Refusal(.unknownCurrency(currency: currency)))
        }
        guard let id = self.account(account), let player = players[id] else {
            return .balance(AccountBalances(account: account, balances: []))
        }
        let balances = balances(player).filter { currency == nil || $0.currency == currency }
        return .balance(AccountBalances(account: account, balances: balances))
    }
}

extension KeyedAnswer {
    fileprivate init(_ result: Result<KeyedAnswer, Refusal.Reason>) {
        switch result {
        case .success(let answer): self = answer
        case .failure(let reason): self = .refused(reason)
        }
    }
}

extension Refusal {
    /// Whether the purchase grants nothing, and none of the game's currency is missing for it.
    fileprivate var isOfOtherProducts: Bool {
        switch reason {
        case .notConsumable, .familyShared: true
        default: false
        }
    }
}

extension ArraySlice<UInt8> {
    /// Where some bytes stand first; `nil` where they do not, or are none. `firstRange(of:)` takes a hundred times as
    /// long, which was half of what a notification costs.
    fileprivate func firstPlace(of part: [UInt8]) -> Range<Int>? {
        guard let first = part.first, part.count <= count else { return nil }
        let offset = withUnsafeBytes { bytes in
            part.withUnsafeBytes { part in
                (0...bytes.count - part.count).first { start in
                    bytes[start] == first && bytes[start..<start + part.count].elementsEqual(part)
                }
            }
        }
        return offset.map { startIndex + $0..<startIndex + $0 + part.count }
    }
}
