import GRDBSQLite
import Ledger
import LedgerTestKit
import Synchronization
import Testing

@testable import SQLiteProjection

private let gems = CurrencyCode("gems")!
private let player = Workload.account(1)
private let now: Timestamp = 1_800_000_000_000

/// A player who is credited while not in memory: their lots stay in the tables where a credit can do without them.
@Suite struct LeftLotsTests {
    /// What makes a wallet need its lots.
    enum Need: CaseIterable, CustomTestStringConvertible {
        case free, held, owed

        var testDescription: String { "\(self)" }

        var commands: [Command] {
            let key = RequestKey("k")!
            switch self {
            case .free:
                return [.grant(Grant(key: key, account: player, currency: gems, amount: Amount(7)!))]
            case .held:
                return [
                    .hold(
                        Hold(key: key, account: player, currency: gems, amount: Amount(7)!, timeoutMilliseconds: 60_000)
                    )
                ]
            case .owed:
                return [
                    LeftLotsTests.spend("s", 1_500),
                    .credit(Workload.purchase(1, signedDate: 2, revoked: 100_000), account: player),
                ]
            }
        }
    }

    /// Their index has them by their expiry.
    @Test func lotsAreReadInTheOrderOfTheirNumbersAndSQLiteSortsNothing() throws {
        var store = try Ledger(TemporaryFolder())
        for (number, expiresAt) in ([nil, 900, 300, nil, 600] as [Timestamp?]).enumerated() {
            let grant = Grant(
                key: RequestKey("k\(number)")!, account: player, currency: gems, amount: Amount(7)!,
                expiresAt: expiresAt)
            try store.run(.grant(grant), at: 1)
        }
        let state = try store.projection.state()
        let plans = try plans(of: store.folder) { db in
            var books = Books(
                catalog: Workload.catalog, known: state.currencies, position: state.position, totals: state.totals,
                hash: Workload.hash)
            var needs = Needs()
            needs.accounts = [player]
            try BooksLoader(db, UsedKeys(), SuspectTables()).load(needs, into: &books)
            #expect(books.players[1]?.wallets.first?.lots.map(\.id) == [1, 2, 3, 4, 5])
        }
        let lots = plans.filter { $0.key.contains("FROM lot") }
        #expect(!lots.isEmpty && lots.values.joined().allSatisfy { !$0.contains("TEMP B-TREE") }, "\(lots)")
        try store.projection.close()
    }

    private static func spend(_ key: String, _ amount: Int64) -> Command {
        .spend(
            Spend(
                key: RequestKey(key)!, account: player,
                debits: [CurrencyAmount(currency: gems, amount: Amount(amount)!)]))
    }

    private static func credit(_ number: Int) -> Command {
        .credit(Workload.purchase(number, signedDate: 1), account: player)
    }

    /// A ledger just opened, of a player with two purchases, of 1,000 and 500 gems, and whatever `more` did.
    private func reopened(_ more: [Command] = []) throws -> Ledger {
        var store = try Ledger(TemporaryFolder())
        try store.run([Self.credit(1), Self.credit(2)] + more, at: now)
        try store.restart()
        return store
    }

    private func wallet(_ store: Ledger) throws -> Wallet {
        let loaded = store.books.playerIDs[player].flatMap { store.books.players[$0] }
        return try #require(loaded?.wallets.first)
    }

    private func drawn(_ outcome: Outcome) throws -> [Int64] {
        guard case .spend(let receipt) = outcome else { Issue.record("\(outcome)"); return [] }
        return receipt.drawn.map(\.amount.units)
    }

    @Test func aCreditAndABalanceDoWithoutThem() throws {
        var store = try reopened()
        let before = try store.balances(player).first?.balance
        #expect(before?.available == 1_500)
        #expect(try wallet(store).lots.isEmpty)
        guard case .purchase(let receipt) = try store.run(Self.credit(4), at: now) else {
            Issue.record("refused")
            return
        }
        #expect(receipt.outcome == .credited && receipt.balances.first?.balance.available == 2_000)
        #expect(try wallet(store).lots.map(\.granted) == [500])
        #expect(try !wallet(store).hasAllLots)
        try store.project()
        #expect(try view(store) == [2_000, 2_000, 0, 0, 0])
    }

    @Test func aSpendDrawsTheOldestThoughNewerOnesCameFirstIntoMemory() throws {
        var store = try reopened()
        _ = try store.run(Self.credit(4), at: now)
        #expect(try drawn(store.run(Self.spend("s", 1_200), at: now)) == [1_000, 200])
        #expect(try wallet(store).open.map(\.remaining) == [300, 500])
        try store.project()
        #expect(try view(store) == [800, 800, 0, 0, 0])
    }

    @Test func aCreditAndASpendOfOneBatchSeeThemAll() throws {
        var store = try reopened()
        let outcomes = try store.run([Self.credit(4), Self.spend("s", 1_700)], at: now)
        #expect(try drawn(outcomes[1]) == [1_000, 500, 200])
    }

    @Test func aLotThatTheFileHasMeanwhileIsNotTakenTwice() throws {
        var store = try reopened()
        _ = try store.run(Self.credit(4), at: now)
        _ = try store.run(Self.credit(7), at: now)
        #expect(try !wallet(store).hasAllLots)
        #expect(try drawn(store.run(Self.spend("s", 2_500), at: now)) == [1_000, 500, 500, 500])
        #expect(try wallet(store).balance.available == 500)
        try store.project()
        #expect(try view(store) == [500, 500, 0, 0, 0])
    }

    @Test func aRefundTakesFromThemWhatItsOwnLotHasNoMore() throws {
        var store = try reopened([Self.spend("s", 800)])
        _ = try store.run(Self.credit(4), at: now)
        let refund = Workload.purchase(1, signedDate: 2, revoked: 100_000)
        guard case .purchase(let receipt) = try store.run(.credit(refund, account: player), at: now) else {
            Issue.record("refused")
            return
        }
        // 200 of its own 1,000, 500 of the second purchase, 300 of the third.
        #expect(receipt.outcome == .reversed && receipt.balances.first?.balance.available == 200)
        #expect(try wallet(store).open.map(\.remaining) == [200])
    }

    @Test(arguments: Need.allCases) func aWalletThatNeedsThemHasThem(_ need: Need) throws {
        var store = try reopened(need.commands)
        let before = try store.balances(player).first?.balance
        let loaded = try wallet(store)
        #expect(loaded.hasAllLots && loaded.isSumOfLots && !loaded.lots.isEmpty)
        #expect(loaded.balance == before)
        _ = try store.run(Self.credit(4), at: now)
        #expect(try wallet(store).isSumOfLots)
    }

    @Test func lotsThatAreNotTheirWalletAreNoticedAsSoonAsTheyAreNeeded() throws {
        var store = try reopened()
        let folder = store.folder
        try store.restart {
            try folder.change(
                "UPDATE lot SET granted = granted + 1, remaining = remaining + 1 WHERE granted = 500")
        }
        let before = try store.balances(player).first?.balance
        #expect(before?.available == 1_500)
        let error = #expect(throws: StoreError.self) { try store.decide([Self.spend("s", 1)], at: now) }
        #expect(error?.description.contains("is not the sum of its lots") == true)
    }

    @Test func aWalletThatIsEmptyThoughItsLotsAreNotIsNoticedToo() throws {
        var store = try reopened()
        let folder = store.folder
        try store.restart { try folder.change("UPDATE wallet SET available = 0, paid = 0") }
        _ = try store.run(Self.credit(4), at: now)
        let error = #expect(throws: StoreError.self) { try store.decide([Self.spend("s", 1)], at: now) }
        #expect(error?.description.contains("is not the sum of its lots") == true)
    }

    /// What the view shows of the player's gems.
    private func view(_ store: Ledger) throws -> [Int64]? { try store.viewed()["\(player) gems"] }

    // MARK: Reads

    private static func grant(_ key: String, to account: AccountName, expiresAt: Timestamp?) throws -> Command {
        .grant(
            Grant(
                key: try #require(RequestKey(key)), account: account, currency: gems, amount: try #require(Amount(7)),
                expiresAt: expiresAt))
    }

    /// Holds 7 gems for a minute.
    private static func hold(_ key: String, of account: AccountName) throws -> Command {
        .hold(
            Hold(
                key: try #require(RequestKey(key)), account: account, currency: gems, amount: try #require(Amount(7)),
                timeoutMilliseconds: 60_000))
    }

    /// How many players are in memory when what has expired of an account by a time is to be posted.
    private func loaded(_ store: inout Ledger, _ account: AccountName, by time: Timestamp) throws -> Int {
        var needs = Needs()
        needs.expiring = [account]
        needs.time = time
        try store.load(needs)
        return store.books.players.count
    }

    /// A history costs the writer nothing, however many lots its player has.
    @Test func aReadLoadsNobodyWhileNothingIsDue() throws {
        var store = try reopened([Self.grant("g", to: player, expiresAt: now + 1_000)])
        #expect(try loaded(&store, player, by: now + 999) == 0)
        #expect(try loaded(&store, player, by: now + 1_000) == 1)
        #expect(try wallet(store).lots.count == 3)
        store.settle(player, at: now + 1_000)
        #expect(try wallet(store).balance.available == 1_500)
        try store.projection.close()
    }

    /// Much of others may be due: a sweep was late, or is kept from it by a player who cannot be read.
    @Test func aReadLoadsNobodyWhileSomethingIsDueOfOthers() throws {
        let (other, third) = (Workload.account(2), Workload.account(3))
        var store = try reopened([
            Self.grant("g", to: other, expiresAt: now + 1_000), Self.grant("h", to: third, expiresAt: nil),
            Self.hold("i", of: third), Self.grant("j", to: player, expiresAt: nil),
        ])
        #expect(try loaded(&store, player, by: now + 100_000) == 0)
        #expect(try loaded(&store, try #require(AccountName("nobody")), by: now + 100_000) == 0)
        #expect(try loaded(&store, third, by: now + 100_000) == 1)
        #expect(try loaded(&store, other, by: now + 100_000) == 2)
        try store.projection.close()
    }

    /// What is held of it expires when the hold ends.
    @Test func aReadPostsWhatAHoldGivesBackAndNotALotThatIsHeld() throws {
        let other = Workload.account(2)
        var store = try reopened([Self.grant("g", to: other, expiresAt: now + 1_000), Self.hold("h", of: other)])
        #expect(try loaded(&store, other, by: now + 59_999) == 0)
        #expect(try loaded(&store, other, by: now + 60_000) == 1)
        store.settle(other, at: now + 60_000)
        let id = try #require(store.books.playerIDs[other])
        let balance = try #require(store.books.players[id]?.wallets.first?.balance)
        #expect(balance.available == 0 && balance.held == 0, "\(balance)")
        try store.projection.close()
    }

    /// The lot stays the token's in the tables, and the wallet is the account's.
    @Test func aReadOfATokenPostsWhatIsDueOfItsAccount() throws {
        let token = Workload.token(9)
        var store = try Ledger(TemporaryFolder())
        try store.run(
            [
                Self.grant("g", to: token.account, expiresAt: now + 1_000), .link(Link(token: token, account: player)),
            ], at: now)
        for name in [token.account, player] {
            try store.restart()
            #expect(try loaded(&store, name, by: now + 999) == 0)
            #expect(try loaded(&store, name, by: now + 1_000) > 0)
            let last = store.books.position.entry
            store.settle(name, at: now + 1_000)
            #expect(store.books.position.entry == last + 1, "\(name)")
        }
        try store.projection.close()
    }

    /// Whatever others have in the same tables, and wherever what they have stands.
    @Test func whetherAnythingIsDueOfAnAccountIsReadFromTheIndexesOfItsOwn() throws {
        let store = try reopened([Self.grant("g", to: player, expiresAt: now + 1_000)])
        let state = try store.projection.state()
        let plans = try plans(of: store.folder) { db in
            var books = Books(
                catalog: Workload.catalog, known: state.currencies, position: state.position, totals: state.totals,
                hash: Workload.hash)
            var needs = Needs()
            needs.expiring = [player]
            needs.time = now
            try BooksLoader(db, UsedKeys(), SuspectTables()).load(needs, into: &books)
        }
        #expect(plans.keys.contains { $0.contains("FROM lot") && $0.contains("FROM hold") }, "\(plans)")
        for (query, steps) in plans where query.contains("FROM lot") || query.contains("FROM hold") {
            #expect(steps.contains { $0.contains("lot_open (account=? AND currency=? AND expires_at<?)") }, "\(steps)")
            #expect(steps.contains { $0.contains("hold_open (account=?)") }, "\(steps)")
        }
        try store.projection.close()
    }

    /// What is warned of when tables are opened.
    private static func warnings() throws -> [String] {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let warnings = Mutex<[String]>([])
        try open(folder) { warning in warnings.withLock { $0.append(warning) } }.close()
        return warnings.withLock { $0 }
    }

    /// Each connection would wait for the others' lock whenever it takes memory. SQLite can be told so only before it
    /// is in use, so this is a process of its own, and so is the next.
    @Test func sqliteCountsNoMemory() async {
        await #expect(processExitsWith: .success) {
            let warnings = try LeftLotsTests.warnings()
            precondition(warnings.isEmpty && sqlite3_memory_highwater(0) == 0, "\(warnings)")
        }
    }

    @Test func itIsSaidWhereSQLiteCountsItsMemory() async {
        await #expect(processExitsWith: .success) {
            precondition(sqlite3_initialize() == SQLITE_OK)
            let warnings = try LeftLotsTests.warnings()
            precondition(warnings.count == 1 && warnings[0].contains("counts its memory"), "\(warnings)")
            precondition(sqlite3_memory_highwater(0) > 0)
        }
    }
}
