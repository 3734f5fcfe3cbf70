public import LedgerWire

/// The entries of a ledger's journal, oldest first, each exactly once with all its transfers, without an end: when all
/// are read it waits for new ones.
///
/// It reads pages (``LedgerClient/journal(after:limit:wait:skipTransfers:)``) and has at most one in memory. Remember
/// the number of the last entry that was dealt with, and begin after it the next time: nothing is missed and nothing
/// comes twice.
///
/// While it waits, every later call on the same connection waits behind it, up to 30 seconds at a time: follow on a
/// client of its own. A cancelled task's iteration throws `CancellationError` before it asks for another page;
/// ``LedgerClient/close()`` ends a wait at once. What a call throws ends the iteration; begin a new one after the last
/// entry.
public struct JournalFollower: AsyncSequence, Sendable {
    /// Reads page after page.
    public struct Iterator: AsyncIteratorProtocol {
        private let client: LedgerClient
        private var after: EntryID
        private var page: ArraySlice<JournalEntry> = []

        fileprivate init(client: LedgerClient, after: EntryID) {
            self.client = client
            self.after = after
        }

        /// The next entry; waits for it.
        /// - Throws: what ``LedgerClient/journal(after:limit:wait:skipTransfers:)`` throws; `CancellationError`.
        public mutating func next() async throws -> JournalEntry? {
            while true {
                if let entry = page.popFirst() { return try await complete(entry) }
                try Task.checkCancellation()
                let read = try await client.journal(
                    after: after, limit: Limits.journalPageMax,
                    wait: .milliseconds(Limits.journalWaitMillisecondsMax))
                after = read.next
                page = read.entries[...]
            }
        }

        /// The entry with those of its transfers that had no place on its page.
        private func complete(_ entry: JournalEntry) async throws -> JournalEntry {
            var entry = entry
            while entry.transfersMore > 0 {
                try Task.checkCancellation()
                let read = try await client.journal(
                    after: entry.entry - 1, limit: 1, skipTransfers: entry.transfers.count)
                guard let rest = read.entries.first, !rest.transfers.isEmpty else { break }
                entry.transfers += rest.transfers
                entry.transfersMore = rest.transfersMore
            }
            return entry
        }
    }

    private let client: LedgerClient
    private let after: EntryID

    init(client: LedgerClient, after: EntryID) {
        self.client = client
        self.after = after
    }

    /// Begins after the entry that was given.
    public func makeAsyncIterator() -> Iterator { Iterator(client: client, after: after) }
}
