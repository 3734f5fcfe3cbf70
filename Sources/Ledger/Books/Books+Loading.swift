/// How state comes into the books and goes out of them: whoever keeps them loads what a batch needs, and takes or
/// forgets what was loaded or added. Nothing is decided here. The books are a value without a lock: one thread at a
/// time, that of whoever keeps them.
extension Books {
    /// What loads have brought into the books, by its names: whoever keeps the books decides when it goes.
    package struct Loaded {
        package fileprivate(set) var keys: [RequestKey] = []
        package fileprivate(set) var transactions: [TransactionID] = []
        package fileprivate(set) var notifications: [String] = []
        package fileprivate(set) var calls: [CallKey] = []
        /// Spends and holds, by their first transfer.
        package fileprivate(set) var references: [TransferID] = []
        /// Players to whom a lot was loaded that may be used up.
        package fileprivate(set) var borrowers: [PlayerID] = []
        /// How many lots.
        package fileprivate(set) var lots = 0

        /// Whether nothing came but players with what is open of them.
        package var isEmpty: Bool {
            keys.isEmpty && transactions.isEmpty && notifications.isEmpty && calls.isEmpty && references.isEmpty
                && borrowers.isEmpty
        }
    }

    /// What requests left in the books beside players: keys with their answers, purchases, notifications, and what
    /// became of spends and holds. Found again by whoever loads.
    package struct Records: Sendable {
        package fileprivate(set) var purchases = DividedDictionary<TransactionID, PurchaseRegister>()
        package fileprivate(set) var answers = DividedDictionary<RequestKey, Answered>()
        package fileprivate(set) var notifications = DividedDictionary<String, RecordedNotification>()
        package fileprivate(set) var calls = DividedDictionary<CallKey, AppStoreCall.End>()
        package fileprivate(set) var returned = DividedDictionary<TransferID, [LotID: Int64]>()
        package fileprivate(set) var holdEnds = DividedDictionary<TransferID, HoldEnd>()

        package var isEmpty: Bool {
            purchases.isEmpty && answers.isEmpty && notifications.isEmpty && calls.isEmpty && returned.isEmpty
                && holdEnds.isEmpty
        }
    }

    // MARK: Loading

    /// Has place for so many players in memory.
    package mutating func reserve(players count: Int) { players.reserve(count) }

    /// Loads a player as the projection has them.
    package mutating func load(_ player: Player) {
        var player = player
        player.deadline = player.exactDeadline
        playerIDs[player.name] = player.id
        players.insert(player)
        if !player.links.isEmpty { hasLinks = true }
        loaded.lots += player.lotCount
        if player.deadline < Timestamp.max { expect(player.id, at: player.deadline) }
    }

    package mutating func load(_ register: PurchaseRegister) {
        purchases[register.facts.transaction] = register
        loaded.transactions.append(register.facts.transaction)
    }

    /// Adds lots that their wallet no longer keeps; those that it has stay as they are. Of lots that came over with a
    /// token, all of them used up by then, the account may have no wallet yet.
    package mutating func load(_ lots: [Lot], player: PlayerID, currency: CurrencyID) {
        guard let slot = players.slot(of: player) else {
            preconditionFailure("lots of player \(player) were loaded before them")
        }
        _ = players[slot: slot].openWallet(currency)
        guard let place = place(player, currency) else { preconditionFailure("a wallet was opened") }
        let missing = lots.filter { self[place].index($0.id) == nil }
        if missing.isEmpty { return }
        loaded.lots += missing.count
        loaded.borrowers.append(player)
        if missing.count == 1 { self[place].insert(missing[0]) } else { self[place].insert(missing) }
    }

    /// The wallets of a loaded player whose lots were left in the store.
    package func walletsWithoutLots(of player: PlayerID) -> [CurrencyID] {
        guard let slot = players.slot(of: player) else { return [] }
        // Almost always none, which must cost nothing.
        guard players[slot: slot].wallets.contains(where: { !$0.hasAllLots }) else { return [] }
        return players[slot: slot].wallets.filter { !$0.hasAllLots }.map(\.currency)
    }

    /// Gives a wallet that was loaded without its lots all open ones that the store has.
    /// - Returns: whether the wallet is their sum.
    package mutating func complete(_ player: PlayerID, _ currency: CurrencyID, with stored: [Lot]) -> Bool {
        guard let place = place(player, currency) else {
            preconditionFailure("lots of player \(player) were loaded before their wallet")
        }
        let before = self[place].lots.count
        self[place].complete(with: stored)
        loaded.lots += self[place].lots.count - before
        return self[place].isSumOfLots
    }

    /// Says what of a spend went back before.
    package mutating func load(returned: [LotID: Int64], of spend: TransferID) {
        self.returned[spend] = returned
        loaded.references.append(spend)
    }

    /// Says how a hold ended that is not open.
    package mutating func load(_ end: HoldEnd, of hold: TransferID) {
        holdEnds[hold] = end
        loaded.references.append(hold)
    }

    package mutating func load(_ key: RequestKey, _ answered: Answered) {
        answers[key] = answered
        loaded.keys.append(key)
    }

    package mutating func load(notification uuid: String, _ recorded: RecordedNotification) {
        notifications[uuid] = recorded
        loaded.notifications.append(uuid)
    }

    /// Says how the last call of a key ended.
    package mutating func load(_ end: AppStoreCall.End, of call: CallKey) {
        calls[call] = end
        loaded.calls.append(call)
    }

    /// What was loaded since it was asked for last.
    package mutating func takeLoaded() -> Loaded {
        defer { loaded = Loaded() }
        return loaded
    }

    // MARK: Handing over, and forgetting

    /// Hands over all records; the books have none then.
    package mutating func takeRecords() -> Records {
        var records = Records()
        swap(&records.purchases, &purchases)
        swap(&records.answers, &answers)
        swap(&records.notifications, &notifications)
        swap(&records.calls, &calls)
        swap(&records.returned, &returned)
        swap(&records.holdEnds, &holdEnds)
        return records
    }

    /// Players of whom a lot was used up since it was asked for last, perhaps more than once.
    package mutating func takeClosers() -> [PlayerID] {
        if closers.isEmpty { return [] }
        defer { closers = [] }
        return closers
    }

    /// Players of whom something changed that no transfer tells, since it was asked for last.
    package mutating func takeChangedAccounts() -> [PlayerID] {
        if changedAccounts.isEmpty { return [] }
        defer { changedAccounts = [] }
        return changedAccounts
    }

    /// Hands over the rows that were added since it was asked last.
    package mutating func takeRows() -> BlockRows {
        assertLastEntryIsWhole()
        let taken = rows
        rows = BlockRows()
        return taken
    }

    /// What is forgotten must be found by whoever loads: the caller knows what is projected.
    package mutating func forget(_ player: PlayerID) {
        guard let slot = players.slot(of: player) else { return }
        playerIDs[players[slot: slot].name] = nil
        players.remove(player)
    }

    /// Forgets a player's used lots that nothing after `transfer` has changed.
    /// - Returns: how many.
    @discardableResult
    package mutating func forgetClosedLots(of player: PlayerID, through transfer: TransferID) -> Int {
        guard let slot = players.slot(of: player) else { return 0 }
        var count = 0
        for index in players[slot: slot].wallets.indices {
            count += players[slot: slot].wallets[index].dropClosed(through: transfer)
        }
        return count
    }

    package mutating func forget(_ key: RequestKey) { answers[key] = nil }
    package mutating func forget(_ transaction: TransactionID) { purchases[transaction] = nil }
    package mutating func forget(notification uuid: String) { notifications[uuid] = nil }
    package mutating func forget(_ call: CallKey) { calls[call] = nil }
    /// What went back of a spend, and how a hold ended.
    package mutating func forget(reference: TransferID) {
        returned[reference] = nil
        holdEnds[reference] = nil
    }
}
