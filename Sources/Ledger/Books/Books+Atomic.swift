extension Books {
    /// What an atomic may change of the books, as it was before.
    private struct Snapshot {
        var players: [Player]
        var accounts: PlayerID
        var position: LastNumbers
        var totals: Totals
        var extent: BlockRows.Extent
        var returned: DividedDictionary<TransferID, [LotID: Int64]>
        var holdEnds: DividedDictionary<TransferID, HoldEnd>
    }

    /// Decides operations in their order on the books as they then stand, in one entry, all or none of them. The
    /// entry's note is the first that an operation has.
    mutating func post(_ atomic: Atomic, at now: Timestamp) -> KeyedAnswer {
        // What is due is posted as entries of its own, and stays posted where the atomic is refused.
        let known = atomic.operations.compactMap { player($0) }
        for player in known { settle(player, at: now) }
        let snapshot = snapshot(of: known)
        let first = rows.transfers.count
        let note = atomic.operations.lazy.compactMap(\.note).first
        beginEntry(.atomic, at: now, key: atomic.key, note: note)
        isInAtomic = true
        defer { isInAtomic = false }
        var results: [AtomicReceipt.Result] = []
        var traces: [KeyedAnswer.Trace?] = []
        for (index, operation) in atomic.operations.enumerated() {
            switch post(operation, at: now) {
            case .success(let answer):
                let (result, trace) = answer.atomicResult
                results.append(result)
                traces.append(trace)
            case .failure(let reason):
                restore(snapshot)
                return .refused(reason, operation: index)
            }
        }
        let touched = balances(touchedBy: rows.transfers[first...])
        let receipt = AtomicReceipt(
            entry: position.entry, replayed: false, results: results, balances: touched.map(\.balances))
        return .atomic(receipt, traces, players: touched.map(\.player))
    }

    mutating func post(_ operation: KeyedOperation, at now: Timestamp) -> Result<KeyedAnswer, Refusal.Reason> {
        switch operation {
        case .spend(let spend): post(spend, at: now)
        case .reverse(let reversal): post(reversal, at: now)
        case .grant(let grant): post(grant, at: now)
        case .hold(let hold): post(hold, at: now)
        case .capture(let capture): post(capture, at: now)
        case .release(let release): post(release, at: now)
        }
    }

    /// Whom an operation concerns, where they are known yet.
    private func player(_ operation: KeyedOperation) -> PlayerID? {
        switch operation {
        case .spend, .grant, .hold: operation.account.flatMap { account($0) }
        case .reverse(let reversal): owner(answers[reversal.spendKey]?.answer.spend(reversal.operation)?.trace)
        case .capture(let capture): owner(answers[capture.holdKey]?.answer.hold(capture.operation)?.trace)
        case .release(let release): owner(answers[release.holdKey]?.answer.hold(release.operation)?.trace)
        }
    }

    private func owner(_ trace: KeyedAnswer.Trace?) -> PlayerID? { trace.map { owner(of: $0.player) } }

    /// The wallets that transfers moved, by account in the order of their names.
    private func balances(
        touchedBy transfers: ArraySlice<Transfer>
    ) -> [(player: PlayerID, balances: AccountBalances)] {
        var touched: [PlayerID: Set<CurrencyID>] = [:]
        for transfer in transfers { touched[transfer.player, default: []].insert(transfer.debit.currency) }
        return touched.compactMap { id, currencies in
            players[id].map { player in
                let balances = balances(id, currencies).sorted { $0.currency < $1.currency }
                return (player: id, balances: AccountBalances(account: player.name, balances: balances))
            }
        }.sorted { $0.balances.account.text < $1.balances.account.text }
    }

    // MARK: All or nothing

    private func snapshot(of known: [PlayerID]) -> Snapshot {
        Snapshot(
            players: Set(known).compactMap { players[$0] }, accounts: position.account, position: position,
            totals: totals, extent: rows.extent, returned: returned, holdEnds: holdEnds)
    }

    private mutating func restore(_ snapshot: Snapshot) {
        let new = Int(position.account - snapshot.accounts)
        for row in rows.accounts.suffix(new) { forget(row.id) }
        for row in rows.actors.suffix(Int(position.actor - snapshot.position.actor)) { actorIDs[row.name] = nil }
        for player in snapshot.players {
            players.insert(player)
            // The item under which they stood may have been dropped meanwhile; one too many means nothing.
            if player.deadline < Timestamp.max { expect(player.id, at: player.deadline) }
        }
        position = snapshot.position
        totals = snapshot.totals
        rows.cut(to: snapshot.extent)
        returned = snapshot.returned
        holdEnds = snapshot.holdEnds
    }
}

extension KeyedOperation {
    /// What a support agent should read beside it.
    fileprivate var note: String? {
        switch self {
        case .spend(let spend): spend.note
        case .grant(let grant): grant.note
        case .reverse, .hold, .capture, .release: nil
        }
    }
}
