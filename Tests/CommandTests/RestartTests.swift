import Foundation
import Ledger
import LedgerClient
import LedgerWire
import Testing

/// What holds on a real file and real connections, whoever asks at the same time and whenever the service is killed.
@Suite(.serialized) struct RestartTests {
    private static func grant(_ key: String) throws -> Grant {
        Grant(
            key: try #require(RequestKey(key)), account: try #require(AccountName("player-1")),
            currency: try #require(CurrencyCode("gems")), amount: try #require(Amount(1)))
    }

    /// A follower under load, while the service is killed twice: every entry once, none missed.
    @Test func aFollowerMissesNothingAndSeesNothingTwiceAcrossKills() async throws {
        let count = 6_000
        let studio = try Studio()
        var service = try RunningService(studio.folder)
        var followed: [String] = []
        var last: EntryID = 0
        for turn in 0..<3 {
            let (running, isLast) = (service, turn == 2)
            let writer = try await running.client()
            let follower = try await running.client()
            let sent = Task {
                // Every turn sends all of it again: what was done before is answered from its key.
                try? await writer.pipeline(
                    count: count, inFlight: 200,
                    write: { index, id, line in
                        if let grant = try? Self.grant("grant-\(index)") { line.write(Methods.grant, grant, id: id) }
                    },
                    reply: { index, _ in if !isLast && index == (turn + 1) * count / 3 { running.kill() } })
            }
            do {
                for try await entry in follower.entries(after: last) {
                    #expect(entry.entry == last + 1)
                    last = entry.entry
                    followed.append(try #require(entry.key?.text))
                    if followed.count == count { break }
                }
            } catch is ClientError {
                #expect(!isLast)
            }
            await sent.value
            try? await writer.close()
            try? await follower.close()
            if !isLast {
                running.kill()
                service = try RunningService(studio.folder)
            }
        }
        #expect(followed.count == count && Set(followed).count == count && last == EntryID(count))
        let client = try await service.client()
        #expect(try await client.journal(after: last).entries.isEmpty)
        let balance = try await client.balance(try #require(AccountName("player-1")))
        #expect(balance.balances.first?.balance.available == Int64(count))
        try await client.close()
        #expect(service.stop() == 0)
    }

    /// One key in flight on several connections at once has one answer, and a refusal stays one when the state has
    /// changed.
    @Test func aKeyInFlightOnSeveralConnectionsHasOneAnswer() async throws {
        let studio = try Studio()
        let service = try RunningService(studio.folder)
        var clients: [LedgerClient] = []
        for _ in 0..<8 { clients.append(try await service.client()) }
        let account = try #require(AccountName("player-1"))
        let debit = CurrencyAmount(
            currency: try #require(CurrencyCode("gems")), amount: try #require(Amount(1)))
        for round in 0..<50 {
            _ = try await clients[0].grant(try Self.grant("funds-\(round)"))
            let spend = Spend(
                key: try #require(RequestKey("spend-\(round)")), account: account, debits: [debit])
            let receipts = try await withThrowingTaskGroup(of: SpendReceipt.self) { group in
                for client in clients { group.addTask { try await client.spend(spend) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(receipts.map(\.entry)).count == 1 && receipts.count { !$0.replayed } == 1)
            #expect(receipts.allSatisfy { $0.balances == receipts[0].balances && $0.drawn == receipts[0].drawn })
        }
        let refused = Spend(key: try #require(RequestKey("too-much")), account: account, debits: [debit])
        await #expect(throws: WireError.self) { _ = try await clients[0].spend(refused) }
        _ = try await clients[0].grant(try Self.grant("late funds"))
        let again = await #expect(throws: WireError.self) { _ = try await clients[1].spend(refused) }
        #expect(again?.reason == "insufficient_funds")
        for client in clients { try await client.close() }
        #expect(service.stop() == 0)
    }

    /// Another program has a write transaction on the tables, and keeps it.
    @Test func aStartDoesNotWaitForALockThatSomebodyKeeps() async throws {
        let studio = try Studio()
        var service = try RunningService(studio.folder)
        var client = try await service.client()
        for number in 0..<20 { _ = try await client.grant(try Self.grant("g\(number)")) }
        service.kill()
        try? await client.close()
        // As SQLite does it: the lock that keeps the index of the write-ahead log alive, and that for writing
        // (https://sqlite.org/walformat.html, "WAL Locks"; all of them from byte 120 of the file on).
        let index = open(studio.folder.path("ledger/projection.sqlite-shm"), O_RDWR)
        #expect(index >= 0)
        for (kind, byte) in [(F_RDLCK, 128), (F_WRLCK, 120)] {
            var lock = flock()
            lock.l_type = Int16(kind)
            lock.l_whence = Int16(SEEK_SET)
            lock.l_start = byte
            lock.l_len = 1
            #expect(fcntl(index, F_SETLK, &lock) == 0)
        }
        service = try RunningService(studio.folder)
        client = try await service.client()
        let account = try #require(AccountName("player-1"))
        // On a slow machine it listens before it has the tables.
        let isServed = try await eventually {
            do {
                return try await client.balance(account).balances.first?.balance.available == 20
            } catch let error as WireError where error.reason == "storage_unavailable" {
                return false
            }
        }
        #expect(isServed)
        _ = try await client.grant(try Self.grant("late"))
        #expect(try await client.history(HistoryQuery(account: account, limit: 100)).entries.count == 21)
        #expect(try service.said.contains("another process keeps a lock"))
        try await client.close()
        #expect(service.stop() == 0)
        close(index)
    }
}
