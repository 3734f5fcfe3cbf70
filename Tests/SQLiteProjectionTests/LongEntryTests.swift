import Ledger
import LedgerTestKit
import Testing

@testable import SQLiteProjection

/// Entries of more transfers than are shown at once, and pages of more bytes than are given at once.
@Suite struct LongEntryTests {
    private static let gems = CurrencyCode("gems")!
    private static let player = Workload.account(1)
    private static let now: Timestamp = 1_800_000_000_000

    /// So many lots of one unit, all of them spent by the last entry.
    private func ledger(lots: Int) throws -> Ledger {
        var store = try Ledger(TemporaryFolder())
        let grants = (1...lots).map { number in
            Command.grant(
                Grant(key: RequestKey("g\(number)")!, account: Self.player, currency: Self.gems, amount: Amount(1)!))
        }
        let debits = [CurrencyAmount(currency: Self.gems, amount: Amount(Int64(lots))!)]
        try store.run(grants, at: Self.now)
        try store.run(
            .spend(Spend(key: RequestKey("s")!, account: Self.player, debits: debits)), at: Self.now)
        return store
    }

    @Test func theRestOfALongEntryIsReadBySkippingItsBeginning() throws {
        let lots = 2_300
        let store = try ledger(lots: lots)
        let entry = EntryID(lots + 1)
        var history: [LotID] = []
        var journal: [TransferID] = []
        for (shown, more) in [(1_000, 1_300), (1_000, 300), (300, 0)] {
            let query = HistoryQuery(account: Self.player, limit: 1, before: entry + 1, skipTransfers: history.count)
            let page = try store.projection.history(query)
            #expect(page.entries.map(\.entry) == [entry] && page.next == entry)
            #expect(page.entries[0].transfers.count == shown && page.entries[0].transfersMore == more)
            #expect(page.entries[0].balances[0].balance.available == 0)
            history += page.entries[0].transfers.map(\.lot)

            let read = try store.projection.journal(
                JournalQuery(after: entry - 1, limit: 1, skipTransfers: journal.count))
            #expect(read.entries.map(\.entry) == [entry] && read.next == entry)
            #expect(read.entries[0].transfers.count == shown && read.entries[0].transfersMore == more)
            journal += read.entries[0].transfers.map(\.transfer)
        }
        #expect(history == (1...lots).map { LotID($0) })
        #expect(journal == (lots + 1...2 * lots).map { TransferID($0) })
        let beyond = try store.projection.journal(JournalQuery(after: entry - 1, limit: 1, skipTransfers: 9_999))
        #expect(beyond.entries.map(\.transfers.count) == [0])
        // Only the first entry of a page is cut at its beginning.
        let two = try store.projection.journal(JournalQuery(after: entry - 2, limit: 2, skipTransfers: 1))
        #expect(two.entries.map(\.transfers.count) == [0, 1_000])
        let found = try store.projection.find(.key(RequestKey("s")!))
        guard case .request(let request) = found, case .posted(let told) = request.answer else {
            return _ = Issue.record("\(found)")
        }
        #expect(told.transfers.count == 1_000 && told.transfersMore == 1_300)
    }

    @Test func aPageEndsBeforeTheEntryThatWouldMakeItTooLarge() throws {
        var store = try Ledger(TemporaryFolder())
        // Each has some 1,900 bytes: a note of control characters is escaped.
        let note = String(repeating: "\u{1}", count: Limits.noteBytesMax)
        let account = AccountName(String(repeating: "\"", count: Limits.accountBytesMax))!
        for batch in 0..<15 {
            let grants = (1...100).map { number in
                Command.grant(
                    Grant(
                        key: RequestKey("g\(batch).\(number)")!, account: account, currency: Self.gems,
                        amount: Amount(1)!, note: note))
            }
            try store.run(grants, at: Self.now)
        }
        var entries: [EntryID] = []
        var after: EntryID = 0
        while after < 1_500 {
            let page = try store.projection.journal(JournalQuery(after: after, limit: 1_000))
            let bytes = page.entries.reduce(0) { sum, entry in
                entry.transfers.reduce(sum + entry.resultBytes) { $0 + $1.resultBytes }
            }
            #expect(bytes <= Limits.pageBytesMax && page.entries.count < 1_000 && !page.entries.isEmpty)
            entries += page.entries.map(\.entry)
            after = page.next
        }
        #expect(entries == (1...1_500).map { EntryID($0) })

        entries = []
        var before: EntryID? = nil
        repeat {
            let page = try store.projection.history(HistoryQuery(account: account, limit: 1_000, before: before))
            #expect(page.entries.reduce(0) { $0 + $1.resultBytes } <= Limits.pageBytesMax)
            #expect(page.entries.count < 1_000)
            entries += page.entries.map(\.entry)
            before = page.next
        } while before != nil
        #expect(entries == (1...1_500).reversed().map { EntryID($0) })
    }
}
