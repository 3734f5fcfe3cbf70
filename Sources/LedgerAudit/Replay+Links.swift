import Ledger

/// A token's link to an account, as a block tells it.
struct LinkBook {
    let account: PlayerID
    let entry: EntryID?
    let block: BlockNumber
}

/// Links and consents. What a token had is of the account of its first link, from the entry on that moved it; of a
/// token that had nothing left, from some moment of the block on.
extension Replay {
    /// Notes a block's links, before its entries are applied.
    func link(_ block: Block) {
        for row in block.rows.links {
            let known = links[row.token] ?? []
            guard row.token != row.account, links[row.account] == nil else {
                // Not noted: links must lead to no circle.
                fault(
                    block.number, "account \(row.token) is linked to account \(row.account), which is linked itself")
                continue
            }
            expect(
                known.last.map { current($0.account) != row.account } ?? true, block.number,
                "account \(row.token) is linked to account \(row.account) again")
            if let name = accountNames[Int(row.token) - 1] {
                expect(AppAccountToken(name) != nil, block.number, "account \(row.token) is linked, and is no token")
            }
            if let entry = row.entry {
                let place = entry &- position.entry &- 1
                let isItsOwn =
                    known.isEmpty && place >= 0 && place < block.rows.entries.count
                    && block.rows.entries[Int(place)].kind == .link
                expect(isItsOwn, block.number, "the link of account \(row.token) names entry \(entry), which is none")
                let other = linkedBy.updateValue(row.token, forKey: entry)
                expect(other == nil, block.number, "entry \(entry) is of two links")
            }
            links[row.token, default: []].append(
                LinkBook(account: row.account, entry: row.entry, block: block.number))
            tokens[row.account, default: []].append(row.token)
            emit(.link) { table in
                table.add(row.token)
                table.add(Int64(known.count + 1))
                table.endKey()
                table.add(row.account)
                table.add(row.entry)
                table.add(row.time)
                table.add(row.actor)
            }
        }
    }

    /// After a block's entries: a token that was linked has nothing.
    func checkLinks(_ block: Block) {
        for token in Set(block.rows.links.map(\.token)) {
            for number in currencies.indices {
                guard let place = walletPlaces[Replay.key(token, CurrencyID(number + 1))] else { continue }
                let wallet = wallets[place]
                expect(
                    wallet.available == 0 && wallet.held == 0 && wallet.debt == 0, block.number,
                    "account \(token) is linked, and its wallet of \(currencies[number]) is not empty")
            }
        }
        linkedBy = [:]
    }

    /// An entry that a link made: whatever goes out of the token's wallets comes into the account's, lot by lot.
    func checkMoves(_ own: ArraySlice<Transfer>, _ posting: Posting) {
        let entry = posting.entry
        guard entry.kind == .link else { return }
        guard let token = linkedBy[entry.id], let account = links[token]?.first?.account else {
            return fault(posting.block, "entry \(entry.id) moves what no link names")
        }
        struct Part: Hashable {
            var lot: LotID
            var kind: AccountKind
        }
        var left: [Part: Int64] = [:]
        for transfer in own {
            let isOut = transfer.player == token
            expect(
                isOut || transfer.player == account, posting.block,
                "transfer \(transfer.id) is neither of the token nor of the account of its link")
            let isIntoMoved = transfer.credit.kind == .moved
            guard isIntoMoved || transfer.debit.kind == .moved else { continue }
            let kind = isIntoMoved ? transfer.debit.kind : transfer.credit.kind
            left[Part(lot: transfer.lot, kind: kind), default: 0] &+= isOut ? transfer.amount : -transfer.amount
            let comesOut = kind == .receivable ? !isIntoMoved : isIntoMoved
            expect(comesOut == isOut, posting.block, "transfer \(transfer.id) moves something the wrong way")
        }
        for part in left.keys.sorted(by: { ($0.lot, $0.kind.rawValue) < ($1.lot, $1.kind.rawValue) })
        where left[part] != 0 {
            fault(posting.block, "entry \(entry.id) moves not as much of lot \(part.lot) in as out")
        }
    }

    /// Whether an entry may post to a player's wallet what concerns an account's lots, holds or purchases.
    func may(_ entry: Entry, _ block: BlockNumber, postTo player: PlayerID, of account: PlayerID) -> Bool {
        var account = account
        while true {
            guard let link = links[account]?.first else { return account == player }
            // When the entry is of the same block as the link of a token that had nothing, nobody can say which was
            // first.
            let mayBeBefore = link.block == block && link.entry.map { entry.id <= $0 } ?? true
            if account == player && mayBeBefore { return true }
            let mayBeAfter = link.block < block || link.entry.map { entry.id >= $0 } ?? true
            if !mayBeAfter { return false }
            account = link.account
        }
    }

    /// Whose everything is that an account had.
    func owner(of account: PlayerID) -> PlayerID {
        var account = account
        while let link = links[account]?.first { account = link.account }
        return account
    }

    /// Whose everything is that comes under an account's name.
    private func current(_ account: PlayerID) -> PlayerID {
        links[account]?.last.map { owner(of: $0.account) } ?? account
    }

    /// An account, and the tokens under whose names it may be meant.
    func names(of account: PlayerID) -> [PlayerID] {
        var names = [account]
        var next = 0
        while next < names.count {
            names += tokens[names[next]] ?? []
            next += 1
        }
        return names
    }

    /// The accounts that a name may have meant while a block was decided: links of the block itself may have come
    /// before or after.
    private func meant(by name: PlayerID, in block: BlockNumber) -> Set<PlayerID> {
        var (meant, reached, next) = (Set<PlayerID>(), Set([name]), [name])
        while let account = next.popLast() {
            let known = links[account] ?? []
            let before = known.last { $0.block < block }
            if before == nil { meant.insert(account) }
            let possible = known.filter { $0.block == block }.map(\.account) + (before.map { [$0.account] } ?? [])
            next += possible.filter { reached.insert($0).inserted }
        }
        return meant
    }

    // MARK: Consents

    /// What a block records of consents is what its keys asked for.
    func checkConsents(_ block: Block, _ answers: [KeyedAnswer?]) {
        let rows = block.rows.consents
        let told = zip(block.rows.requests, answers).compactMap { request, answer in
            if case .consent(let receipt)? = answer { (request, receipt) } else { nil }
        }
        expect(rows.count == told.count, block.number, "its consents are not those that its keys asked for")
        for (row, (request, receipt)) in zip(rows, told) {
            expect(
                receipt.consumption == row.consumption && receipt.time == row.time, block.number,
                "key \(request.key) was answered another consent than it recorded")
            expect(
                links[row.account]?.contains { $0.block < block.number } != true, block.number,
                "key \(request.key) recorded a consent of account \(row.account), which is linked")
            let consent = Consent(
                key: request.key, account: AccountName.erased(row.account), consumption: row.consumption)
            let isAsked = names(of: row.account).contains { name in
                consent.fingerprint(of: name, hash) == request.fingerprint
                    && meant(by: name, in: block.number).contains(row.account)
            }
            expect(isAsked, block.number, "key \(request.key) asked for another consent than it recorded")
            emit(.consent) { table in
                table.add(request.id)
                table.endKey()
                table.add(row.account)
                table.add(Int64(row.consumption ? 1 : 0))
                table.add(row.time)
                table.add(row.actor)
            }
        }
    }
}
