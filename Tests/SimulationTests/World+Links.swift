import Ledger

/// Tokens that are an account's.
extension World {
    /// Whose everything is that comes under a name now.
    func current(_ account: Int) -> Int {
        links[account]?.last.map { owner($0) } ?? account
    }

    /// Whose everything is that an account ever had.
    func owner(_ account: Int) -> Int {
        var account = account
        while let next = links[account]?.first { account = next }
        return account
    }

    func whose(_ name: AccountName) -> Int? { account(name).map { current($0) } }

    /// Whether what came under a name may be an account's.
    func mayBe(_ name: AccountName, _ account: Int) -> Bool {
        guard let claimed = self.account(name) else { return false }
        return current(claimed) == account || (links[claimed] ?? []).contains { owner($0) == account }
    }

    mutating func take(_ link: Link, at now: Timestamp) -> Outcome {
        let known = account(link.token.account)
        let target = whose(link.account)
        settle(known, at: now)
        settle(target, at: now)
        if let known, current(known) == target { return .link(receipt(.alreadyLinked, known, [])) }
        if link.token.account == link.account {
            let token = open(link.account)
            return .link(receipt(.alreadyLinked, token, []))
        }
        let isLinked = known.map { links[$0] != nil } ?? false
        if isLinked && !link.moves { return .refused(Refusal(.accountMismatch)) }
        let token = open(link.token.account)
        let account = current(open(link.account))
        if isLinked {
            links[token]?.append(account)
            return .link(receipt(.relinked, token, []))
        }
        let moved = balances(token, World.currencies).filter {
            $0.balance.available > 0 || $0.balance.held > 0 || $0.balance.debt > 0
        }
        if !moved.isEmpty {
            begin(.link, at: now)
            linkEntries[token] = entries[entries.count - 1].id
        }
        let own = lots.indices.filter { lots[$0].place.account == token }
        for lot in own {
            let (remaining, held, owed) = (lots[lot].remaining, lots[lot].held, lots[lot].owed)
            move(.wallet, .moved, remaining, lot)
            move(.held, .moved, held, lot)
            move(.moved, .receivable, owed, lot, debtLot: lot)
            lots[lot].place.account = account
            move(.moved, .wallet, remaining, lot)
            move(.moved, .held, held, lot)
            move(.receivable, .moved, owed, lot, debtLot: lot)
        }
        for hold in holds.indices where holds[hold].account == token { holds[hold].account = account }
        links[token] = [account]
        for item in moved {
            let place = Place(account: account, currency: item.currency)
            pay(from: draw(place, min(debt(place), available(place))))
        }
        return .link(receipt(.linked, token, moved))
    }

    private func receipt(_ outcome: LinkOutcome, _ token: Int, _ moved: [CurrencyBalance]) -> LinkReceipt {
        let account = current(token)
        return LinkReceipt(
            outcome: outcome, account: names[account], entry: linkEntries[token], moved: moved,
            balances: balances(account, wallets(account)))
    }

    // MARK: Consent

    mutating func take(_ consent: Consent, at now: Timestamp) -> Outcome {
        if answers[consent.key] != nil && account(consent.account) == nil { return .refused(Refusal(.keyReused)) }
        let account = open(consent.account)
        if let again = repeated(consent.key, .consent(consent), [account]) { return again }
        let time = entryTime(now)
        consents.append(
            Spoken(account: current(account), consumption: consent.consumption, time: time, actor: actor))
        let outcome = Outcome.consent(
            ConsentReceipt(consumption: consent.consumption, time: time, replayed: false))
        answers[consent.key] = Answered(
            request: .consent(consent), accounts: [account], outcome: outcome, traces: [])
        return outcome
    }

    func finding(_ name: AccountName) -> Finding {
        guard let account = account(name) else { return .unknown }
        let current = current(account)
        let spoken = consents.last { owner($0.account) == current }
        return .account(
            Finding.Account(
                name: names[current], isLinked: current != account,
                consent: spoken.map {
                    Finding.Account.Consent(consumption: $0.consumption, time: $0.time, actor: $0.actor)
                }))
    }
}
