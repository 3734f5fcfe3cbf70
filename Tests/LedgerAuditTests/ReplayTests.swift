import Ledger
import LedgerTestKit
import SQLiteProjection
import Synchronization
import Testing

@testable import LedgerAudit

/// The books that an auditor computes from blocks are those that deciding left, and what the tables have.
@Suite struct ReplayTests {
    @Test(arguments: 0..<UInt64(4))
    func whatWasDecidedHolds(run: UInt64) async throws {
        try await apart {
            let seed = Seed.drawn() &+ run
            let ledger = try RandomLedger(seed: seed, commands: 1_500)
            let replayed = Replayed(ledger.blocks)
            #expect(replayed.findings == [], "seed \(seed)")
            #expect(replayed.replay.holds.count > 10 && replayed.replay.purchases.count > 20)
        }
    }

    @Test(arguments: 0..<UInt64(4))
    func theTablesHaveTheRowsThatTheBlocksSay(run: UInt64) async throws {
        try await apart {
            let seed = Seed.drawn() &+ run
            let ledger = try RandomLedger(seed: seed, commands: 1_000)
            let replayed = Replayed(ledger.blocks)
            let tables = try SQLiteTables(path: ledger.tables, connections: 2)
            #expect(tables.head == ledger.blocks.last?.head)
            #expect(try tables.check() == [])
            let scanned = TableScan(tables, []).sums(jobs: 2)
            #expect(scanned.unread.isEmpty && scanned.rows > 1_000)
            #expect(replayed.sums.differences(from: scanned.sums).isEmpty, "seed \(seed)")
        }
    }

    /// A name leads to the account of its last link, and from there over the first links of accounts that were linked.
    @Test func linksOfLinksHold() async throws {
        try await apart {
            func link(_ token: Int, _ account: String, moves: Bool = false) -> Command {
                .link(Link(token: Workload.token(token), account: AccountName(account)!, moves: moves))
            }
            func consent(_ key: String, _ token: Int) -> Command {
                .consent(Consent(key: RequestKey(key)!, account: Workload.token(token).account, consumption: true))
            }
            let (second, third) = (Workload.token(1).account.text, Workload.token(2).account.text)
            let web = [
                link(0, second), link(1, "a"), link(1, "b", moves: true), consent("c", 0), link(0, "b", moves: true),
                consent("d", 0), link(2, "a"), link(2, second, moves: true), consent("e", 2), link(3, third),
                link(3, "a", moves: true), consent("f", 3), link(1, "c", moves: true), consent("g", 2),
            ]
            let ledger = try RandomLedger(seed: Seed.drawn(), beginning: web)
            let replayed = Replayed(ledger.blocks)
            #expect(replayed.findings == [])
            #expect(replayed.replay.links.values.map(\.count).reduce(0, +) > 8)
        }
    }

    private static func words(_ blocks: [SealedBlock], later: [SealedBlock]) throws -> [String] {
        let openings = Mutex(0)
        let identity = Digest(
            of: BlockRows.LedgerRow(bundleID: "com.example.game", environment: "Sandbox"), Workload.hash)
        let audit = Audit(Audit.Configuration(jobs: 2), hash: Workload.hash) {
            let count = openings.withLock { count in
                count += 1
                return count
            }
            return Steps(count == 1 ? blocks : later, identity: identity)
        } openTables: {
            nil
        }
        var words: [String] = []
        _ = try audit.run(progress: { _, _ in }) { words.append("\($0)") }
        return words.filter { $0.contains("erases that name") }
    }

    /// The chain's hashes do not cover whether a name is there.
    @Test func aNameThatNoBlockErasesIsFound() async throws {
        try await apart {
            let seed = Seed.drawn()
            var blocks = try RandomLedger(seed: seed, commands: 400).blocks
            #expect(try Self.words(blocks, later: blocks) == [])
            let rows = try blocks.map { try Block(opening: $0, checks: .form).rows }
            let place = try #require(rows.firstIndex { $0.accounts.contains { $0.name != nil } })
            let account = try #require(rows[place].accounts.first { $0.name != nil }).id
            blocks[place].redactable = try blocks[place].redactable(erasing: [account])
            let words = try Self.words(blocks, later: blocks)
            #expect(words.count == 1 && words[0].contains("the name of account \(account) is erased"), "\(words)")
            #expect(words.allSatisfy { $0.contains("block \(blocks[place].number)") }, "\(words)")
            // A service erases one while the audit reads: the block that says so came behind what it reads.
            let erasing = try #require(rows.firstIndex { !$0.erasures.isEmpty })
            let other = rows[erasing].erasures[0].account
            let adding = try #require(rows.firstIndex { $0.accounts.contains { $0.id == other } })
            if adding < erasing {
                let early = Array(blocks[..<erasing])
                #expect(try !Self.words(early, later: early).filter { $0.contains("account \(other) ") }.isEmpty)
                #expect(try Self.words(early, later: blocks).filter { $0.contains("account \(other) ") }.isEmpty)
            }
        }
    }

    /// The tables are of a later block than the audit reads, and between the two a name was erased that it has read.
    @Test func aNameThatIsErasedBeforeTheTablesAreReadIsNoFault() async throws {
        try await apart {
            let seed = Seed.drawn()
            let ledger = try RandomLedger(seed: seed, commands: 400)
            var tried = 0
            let (blocks, tables) = (ledger.blocks, ledger.tables)
            for early in ledger.beforeErasures where early.count < blocks.count - 1 {
                tried += 1
                let identity = Digest(
                    of: BlockRows.LedgerRow(bundleID: "com.example.game", environment: "Sandbox"), Workload.hash)
                let opened = Opened()
                let audit = Audit(Audit.Configuration(jobs: 2), hash: Workload.hash) {
                    Steps(opened.next() == 1 ? early : blocks, identity: identity)
                } openTables: {
                    try SQLiteTables(path: tables, connections: 2)
                }
                var own: [String] = []
                let summary = try audit.run(progress: { _, _ in }) { finding in
                    if finding.block == nil || "\(finding)".contains("name") { own.append("\(finding)") }
                }
                #expect(own == [], "seed \(seed): after block \(early.count)")
                #expect(summary.tables == blocks.last?.number)
            }
            #expect(tried > 0, "seed \(seed)")
        }
    }

    /// One block: two lots of 100, a spend of both (transfers 3 and 4) and one of the second (5), two holds of it
    /// (6 and 7), then what is to be changed: a reversal (8) of the spend 5, a release (9) of the hold 7, and among
    /// several operations a reversal (10) of the spend 3.
    private static func block(_ change: (inout BlockRows) -> Void) throws -> SealedBlock {
        let gems = try #require(CurrencyCode("gems"))
        let player = try #require(AccountName("player"))
        func key(_ text: String) throws -> RequestKey { try #require(RequestKey(text)) }
        func amount(_ units: Int64) throws -> CurrencyAmount {
            CurrencyAmount(currency: gems, amount: try #require(Amount(units)))
        }
        func grant(_ name: String, _ units: Int64) throws -> KeyedOperation {
            .grant(Grant(key: try key(name), account: player, currency: gems, amount: try amount(units).amount))
        }
        func spend(_ name: String, _ units: Int64) throws -> KeyedOperation {
            .spend(Spend(key: try key(name), account: player, debits: [try amount(units)]))
        }
        func hold(_ name: String) throws -> KeyedOperation {
            .hold(
                Hold(
                    key: try key(name), account: player, currency: gems, amount: try amount(10).amount,
                    timeoutMilliseconds: 60_000))
        }
        func reverse(_ name: String, _ spend: String) throws -> KeyedOperation {
            .reverse(Reversal(key: try key(name), spendKey: try key(spend), debits: [try amount(10)]))
        }
        var books = Books(
            catalog: Workload.catalog, known: [], position: LastNumbers(), totals: Totals(currencies: 0),
            hash: Workload.hash)
        let both = Atomic(key: try key("both"), operations: [try reverse("both", "one"), try grant("both", 1)])
        let commands: [Command] =
            try [
                grant("first", 100), grant("second", 100), spend("one", 110), spend("two", 10), hold("three"),
                hold("four"), reverse("back", "two"),
                .release(Release(key: try key("free"), holdKey: try key("four"))),
            ].map { .keyed($0) } + [.atomic(both)]
        for command in commands {
            let answer = books.decide(command, by: nil, at: 1_000)
            #expect(!"\(answer)".contains("refused"), "\(command)")
        }
        var rows = books.takeRows()
        rows.ledger = BlockRows.LedgerRow(bundleID: "com.example.game", environment: "Sandbox")
        #expect(rows.transfers.compactMap(\.reference) == [5, 7, 3])
        change(&rows)
        let block = Block(
            number: 1, term: 1, time: 1_000, previous: .zero, position: books.position, rows: rows)
        var salts = SplitMix64(seed: 1)
        return SealedBlock(sealing: block, salts: &salts, hash: Workload.hash)
    }

    @Test func whatIsGivenBackIsWhatTheRequestNamed() throws {
        #expect(Replayed([try Self.block { _ in }]).findings == [])
        // Whatever else fits by lot and amount: another spend, another hold, a part of a spend, a hold as a spend.
        let others: [(TransferID, TransferID, String)] = [
            (8, 4, "transfer 8 gives back 4, with which nothing begins"),
            (8, 3, "key back asked for something else than entry 7 did"),
            (9, 6, "key free asked for something else than entry 8 did"),
            (10, 6, "transfer 10 gives hold 6 back as if it were spent"),
        ]
        for (transfer, reference, words) in others {
            let block = try Self.block { $0.transfers[Int(transfer) - 1].reference = reference }
            let findings = Replayed([block]).findings.map(\.description)
            #expect(findings.contains { $0.contains(words) }, "\(transfer) of \(reference): \(findings)")
        }
    }
}
