import LedgerClient

/// The shop of a game server. One client serves all players and all tasks of the process.
struct Shop {
    /// What became of an order.
    enum Outcome: Equatable {
        /// The gems are gone, once, and so many are left: hand out the item.
        case bought(left: Int64)
        /// Nothing was spent. The key has had its answer: when the player has more gems, the new attempt is a new
        /// order.
        case tooExpensive(available: Int64)
        /// No answer came. Call `buy` again with the same order, as soon as you like: it is never charged twice.
        case undecided
    }

    let ledger: LedgerClient
    let gems: CurrencyCode

    static func open(_ address: String, token: String) async throws -> Shop? {
        guard let gems = CurrencyCode("gems") else { return nil }
        return Shop(ledger: try await LedgerClient.connect(to: try ServerAddress(address), token: token), gems: gems)
    }

    /// Buys an item. The order's key is made with `RequestKey.timeOrdered()` and stored with the order in the game's
    /// own database first, so that whoever finds the order undecided, after a crash too, can call this again.
    func buy(_ item: String, for price: Amount, player: AccountName, order: RequestKey) async throws -> Outcome {
        do {
            let receipt = try await ledger.spend(
                account: player, debits: [CurrencyAmount(currency: gems, amount: price)], note: item, key: order)
            return .bought(left: receipt.balances.first?.balance.available ?? 0)
        } catch let error as WireError where error.reason == "insufficient_funds" {
            guard case .integer(let available) = error["available"] else { throw error }
            return .tooExpensive(available: available)
        } catch let error as WireError where error.reason == "outcome_unknown" {
            return .undecided
        } catch is ClientError {
            // By now the client itself has reconnected and sent it again as often as its policy and the timeout allow.
            return .undecided
        }
    }

    /// Gives a reward. Without a key of the caller's, the client makes one: this call is carried out once, however
    /// often the client has to send it; but a second call is a second reward.
    func reward(_ player: AccountName, _ amount: Amount, for what: String) async throws {
        _ = try await ledger.grant(account: player, currency: gems, amount: amount, note: what)
    }

    /// What a player can spend now.
    func available(_ player: AccountName) async throws -> Int64 {
        try await ledger.balance(player, currency: gems).balances.first?.balance.available ?? 0
    }

    /// What a support agent sees: the player's latest entries, with their notes.
    func latest(_ player: AccountName) async throws -> [String] {
        let page = try await ledger.history(HistoryQuery(account: player, currency: gems, limit: 20))
        return page.entries.map { "\($0.kind): \($0.note ?? "")" }
    }
}
