import Ledger
import LedgerTestKit
import Testing

@testable import LedgerAudit

/// Books that are wrong, in blocks that are right: whatever a writer with a defect, or a thief with the writer's
/// rights, puts into a chain that fits by its hashes, the auditor finds.
@Suite struct MutationTests {
    @Test(arguments: 0..<UInt64(2))
    func whateverIsChangedInABlockIsFound(run: UInt64) async throws {
        try await apart {
            let seed = Seed.drawn() &+ run
            let ledger = try RandomLedger(seed: seed, commands: 1_000)
            var generator = SplitMix64(seed: seed ^ 0x5EED)
            for (name, change) in Mutation.all {
                // In blocks chosen at random, however few there are that can be changed so.
                var places = Array(1..<ledger.blocks.count).shuffled(using: &generator)
                var tried = 0
                while tried < 15, let place = places.popLast() {
                    guard let blocks = try Mutation.chain(ledger.blocks, place, change, &generator) else { continue }
                    tried += 1
                    let number = ledger.blocks[place].number
                    let findings = Replayed(blocks).findings
                    #expect(!findings.isEmpty, "seed \(seed): \(name) in block \(number) is not found")
                    if let first = findings.first?.block {
                        #expect(first >= number, "seed \(seed): \(name): \(findings[0])")
                    }
                }
                #expect(tried > 0, "seed \(seed): no block has \(name)")
            }
        }
    }
}

/// One change of one block's rows, and the chain made anew behind it.
enum Mutation {
    typealias Change = @Sendable (inout BlockRows, inout SplitMix64) -> Bool

    /// - Returns: `nil` where the block has no such rows; where no entry is before it, which what is too early could be
    ///   compared with; and where no block can have what comes of it.
    static func chain(
        _ blocks: [SealedBlock], _ index: Int, _ change: Change, _ generator: inout SplitMix64
    ) throws -> [SealedBlock]? {
        let before = position(before: blocks[index - 1])
        guard before.entry > 0 else { return nil }
        var block = try Block(opening: blocks[index], checks: .names(Workload.hash))
        guard change(&block.rows, &generator) else { return nil }
        // The names of accounts cannot be sealed again where they were erased.
        guard !block.rows.accounts.contains(where: { $0.name == nil }) else { return nil }
        block.position = before.after(block.rows)
        let accounts = block.rows.transfers.map(\.player) + block.rows.purchases.compactMap(\.account)
        guard accounts.allSatisfy({ $0 <= block.position.account }) else { return nil }
        var chain = Array(blocks[..<index])
        var salts = SplitMix64(seed: 1)
        chain.append(SealedBlock(sealing: block, salts: &salts, hash: Workload.hash))
        // What comes behind is as it was, but for the hash that it continues.
        for sealed in blocks[(index + 1)...] {
            let before = chain[chain.count - 1].hash
            chain.append(sealed.continuing(before, Workload.hash))
        }
        return chain
    }

    private static func position(before block: SealedBlock) -> LastNumbers {
        (try? Block(opening: block, checks: .bodyOnly))?.position ?? LastNumbers()
    }

    static let all: [(String, Change)] = [
        (
            "a transfer's amount",
            { rows, generator in
                change(&rows.transfers, &generator) { $0.amount += 1 }
            }
        ),
        (
            "a transfer's player",
            { rows, generator in
                let holds = Set(rows.holds.map(\.id))
                return change(&rows.transfers, &generator, where: { !holds.contains($0.id) }) { transfer in
                    let player = transfer.player % 3 + 1
                    transfer = transfer.with(player: player == transfer.player ? player + 1 : player)
                }
            }
        ),
        (
            "a transfer's accounts",
            { rows, generator in
                let holds = Set(rows.holds.map(\.id))
                return change(&rows.transfers, &generator, where: { !holds.contains($0.id) }) { transfer in
                    let others: [AccountKind] = [.spent, .expired, .refunded]
                    transfer = transfer.with(
                        credit: others.first { $0 != transfer.credit.kind && $0 != transfer.debit.kind })
                }
            }
        ),
        (
            "a transfer's lot",
            { rows, generator in
                change(&rows.transfers, &generator, where: { $0.lot != $0.id && $0.previous > 1 }) { transfer in
                    transfer.lot = transfer.lot == 1 ? 2 : transfer.lot - 1
                }
            }
        ),
        (
            "a transfer's predecessor",
            { rows, generator in
                change(&rows.transfers, &generator, where: { $0.lot == $0.id && $0.previous > 1 }) { $0.previous -= 1 }
            }
        ),
        (
            "a transfer's reference",
            { rows, generator in
                // The request says which spend it was, but among several operations, where it may be another one of
                // the same lot; what opened the lot drew nothing.
                let atomics = Set(rows.entries.filter { $0.kind == .atomic }.map(\.id))
                return change(&rows.transfers, &generator, where: { ($0.reference ?? 0) > 1 }) {
                    $0.reference = atomics.contains($0.entry) ? $0.lot : $0.reference! - 1
                }
            }
        ),
        (
            "a request's fingerprint",
            { rows, generator in
                let kinds: [EntryKind] = [.grant, .reversal, .hold, .capture, .release]
                let entries = Set(rows.entries.filter { kinds.contains($0.kind) }.map(\.id))
                return change(&rows.requests, &generator, where: { $0.entry.map(entries.contains) ?? false }) {
                    $0.fingerprint = .zero
                }
            }
        ),
        (
            "a link's account",
            { rows, generator in
                change(&rows.links, &generator, where: { $0.entry != nil }) { link in
                    link.account = [1, 2, 3].first { $0 != link.account && $0 != link.token } ?? 4
                }
            }
        ),
        (
            "a link without its entry",
            { rows, generator in change(&rows.links, &generator, where: { $0.entry != nil }) { $0.entry = nil } }
        ),
        (
            "what a link moves",
            { rows, generator in
                change(&rows.transfers, &generator, where: { $0.debit.kind == .moved }) { $0.amount += 1 }
            }
        ),
        (
            "a consent",
            { rows, generator in change(&rows.consents, &generator) { $0.consumption.toggle() } }
        ),
        (
            "whose a consent is",
            { rows, generator in
                change(&rows.consents, &generator) { $0.account = $0.account == 1 ? 2 : 1 }
            }
        ),
        (
            "the purchase of which Apple was told",
            { rows, generator in
                change(&rows.calls, &generator) {
                    $0.transaction = TransactionID(number: $0.transaction.number + 5_000)
                }
            }
        ),
        (
            "the purchase of which an answer is",
            { rows, generator in
                change(&rows.calls, &generator, where: { $0.notification != nil }) {
                    $0.transaction = TransactionID(number: $0.transaction.number ^ 1)
                }
            }
        ),
        (
            "what Apple was told once more",
            { rows, generator in
                guard let call = rows.calls.last else { return false }
                rows.calls.append(call)
                return true
            }
        ),
        (
            "a transfer without a reference",
            { rows, generator in
                change(&rows.transfers, &generator, where: { $0.reference != nil }) { $0.reference = nil }
            }
        ),
        (
            "a draw without an order",
            { rows, generator in
                change(&rows.transfers, &generator, where: { $0.spendOrder != nil }) { $0.spendOrder = nil }
            }
        ),
        (
            "an entry's time",
            { rows, generator in
                guard !rows.entries.isEmpty else { return false }
                for index in rows.entries.indices { rows.entries[index].time -= 100_000_000 }
                return true
            }
        ),
        (
            "an entry's kind",
            { rows, generator in
                change(&rows.entries, &generator) { $0.kind = $0.kind == .credit ? .reinstatement : .credit }
            }
        ),
        (
            "a lot's class",
            { rows, generator in
                change(&rows.lots, &generator, where: { $0.expiresAt == nil && $0.price == 0 }) {
                    $0.lotClass = $0.lotClass == .paid ? .free : .paid
                }
            }
        ),
        (
            "a lot's price",
            { rows, generator in
                change(&rows.lots, &generator) { $0.price += 1 }
            }
        ),
        (
            "a lot's expiry",
            // Of a grant among several operations nothing repeats when it expires.
            { rows, generator in
                let grants = Set(rows.entries.filter { $0.kind == .grant }.map(\.firstTransfer))
                return change(&rows.lots, &generator, where: { $0.expiresAt != nil && grants.contains($0.id) }) {
                    $0.expiresAt! -= 1
                }
            }
        ),
        (
            "a purchase's grant",
            { rows, generator in
                change(&rows.purchases, &generator, where: { $0.account != nil && !$0.grants.isEmpty }) {
                    $0.grants[0].units += 1
                }
            }
        ),
        (
            "a purchase's account",
            { rows, generator in
                // Whose a purchase was of which nothing was left stands in no other row of a block: in the tables only.
                change(&rows.purchases, &generator, where: { $0.account != nil && !$0.grants.isEmpty }) {
                    $0.account! += $0.account! > 1 ? -1 : 1
                }
            }
        ),
        (
            "an evidence's share",
            { rows, generator in
                // Of a purchase without an account nothing is posted, and what is posted in the end is what the last
                // one of the block says; of others it is the signature that says it.
                let last = Dictionary(rows.evidence.map { ($0.transaction, $0.id) }, uniquingKeysWith: max)
                return change(&rows.evidence, &generator, where: { $0.entry != nil && last[$0.transaction] == $0.id }) {
                    $0.revoked = $0.revoked == 50_000 ? 70_000 : 50_000
                }
            }
        ),
        (
            "an evidence's date",
            { rows, generator in
                change(&rows.evidence, &generator, where: { !$0.isFirst }) { $0.signedDate -= 1_000 }
            }
        ),
        (
            "an answer",
            { rows, generator in
                change(&rows.requests, &generator, where: { $0.entry != nil }) { row in
                    var answer = Array(row.answer)
                    answer[answer.count - 1] ^= 1
                    row.answer = answer[...]
                }
            }
        ),
        (
            "a key that is used",
            { rows, generator in
                guard rows.requests.count > 1 else { return false }
                rows.requests[1].key = rows.requests[0].key
                for index in rows.entries.indices where rows.entries[index].id == rows.requests[1].entry {
                    rows.entries[index].key = rows.requests[0].key
                }
                return true
            }
        ),
        (
            "a request's entry",
            { rows, generator in
                guard let index = rows.requests.indices.filter({ rows.requests[$0].entry != nil }).first else {
                    return false
                }
                for entry in rows.entries.indices where rows.entries[entry].id == rows.requests[index].entry {
                    rows.entries[entry].key = nil
                }
                rows.requests[index].entry = nil
                return true
            }
        ),
        (
            "a hold's amount",
            { rows, generator in
                change(&rows.holds, &generator) { $0.amount += 1 }
            }
        ),
        (
            "a hold's time",
            { rows, generator in
                change(&rows.holds, &generator) { $0.expiresAt += 1 }
            }
        ),
        (
            "an entry that is left out",
            { rows, generator in
                // What comes of itself, as what expires, nobody misses.
                guard let last = rows.entries.last, last.key != nil, rows.purchases.allSatisfy({ $0.entry != last.id }),
                    rows.assignments.allSatisfy({ $0.entry != last.id }),
                    rows.evidence.allSatisfy({ $0.entry != last.id }),
                    rows.holds.allSatisfy({ $0.entry != last.id })
                else { return false }
                rows.entries.removeLast()
                rows.transfers.removeAll { $0.entry == last.id }
                rows.lots.removeAll { $0.id >= last.firstTransfer }
                rows.adjustments.removeAll { $0.entry == last.id }
                for index in rows.requests.indices where rows.requests[index].entry == last.id {
                    rows.requests[index].entry = nil
                }
                return true
            }
        ),
        (
            "an entry that is there twice",
            { rows, generator in
                guard let last = rows.entries.last, last.kind == .spend, let end = rows.transfers.last?.id else {
                    return false
                }
                let own = rows.transfers.filter { $0.entry == last.id }
                var copy = last
                copy.id += 1
                copy.key = nil
                copy.firstTransfer = end + 1
                rows.entries.append(copy)
                for (index, transfer) in own.enumerated() {
                    var again = transfer
                    again.id = end + Int64(index) + 1
                    again.entry = copy.id
                    again.previous = end + Int64(index)
                    rows.transfers.append(again)
                }
                return true
            }
        ),
        (
            "a closed period",
            { rows, generator in
                guard let last = rows.entries.last, rows.closedThrough == nil else { return false }
                rows.closedThrough = last.time - 10_000_000
                return true
            }
        ),
        (
            "an imported purchase's product",
            { rows, generator in
                change(&rows.purchases, &generator, where: { $0.facts.source == .imported }) {
                    $0.facts.product += "!"
                }
            }
        ),
        (
            "an imported purchase's date",
            { rows, generator in
                change(&rows.purchases, &generator, where: { $0.facts.source == .imported }) {
                    $0.facts.purchaseDate += 1
                }
            }
        ),
        (
            "what an import was answered",
            { rows, generator in
                change(&rows.requests, &generator, where: { $0.answer.first == 11 }) {
                    $0.answer[$0.answer.endIndex - 1] += 1
                }
            }
        ),
        (
            "a correction's class",
            { rows, generator in
                change(&rows.adjustments, &generator) { $0.lotClass = $0.lotClass == .paid ? .free : .paid }
            }
        ),
        (
            "a correction's reason",
            { rows, generator in change(&rows.adjustments, &generator) { $0.reason += "!" } }
        ),
        (
            "a correction that nobody approved",
            { rows, generator in change(&rows.adjustments, &generator) { $0.approver = nil } }
        ),
        (
            "the version of a catalog",
            { rows, generator in change(&rows.catalogs, &generator) { $0.version += 1 } }
        ),
        (
            "a statement's share",
            { rows, generator in
                let last = Dictionary(rows.statements.map { ($0.transaction, $0.time) }, uniquingKeysWith: max)
                return change(
                    &rows.statements, &generator, where: { $0.entry != nil && last[$0.transaction] == $0.time }
                ) { $0.revoked = $0.revoked == 50_000 ? 70_000 : 50_000 }
            }
        ),
        (
            "another store's id",
            { rows, generator in
                change(&rows.externals, &generator) {
                    $0 = BlockRows.ExternalRow(
                        transaction: $0.transaction, source: $0.source, identifier: $0.identifier + "!")
                }
            }
        ),
        (
            "a period that was closed before, by name",
            { rows, generator in change(&rows.closings, &generator) { $0.through -= 100_000_000 } }
        ),
        (
            "a period that is not over, closed by name",
            { rows, generator in change(&rows.closings, &generator) { $0.through = $0.time + 1 } }
        ),
        (
            "a period that is closed by name twice",
            { rows, generator in
                guard let last = rows.closings.last else { return false }
                rows.closings.append(last)
                return true
            }
        ),
        (
            "an erasure of nobody",
            { rows, generator in
                rows.erasures.append(BlockRows.ErasureRow(account: 1 << 40, time: 0, actor: nil))
                return true
            }
        ),
    ]

    private static func change<Row>(
        _ rows: inout [Row], _ generator: inout SplitMix64, where fits: (Row) -> Bool = { _ in true },
        _ body: (inout Row) -> Void
    ) -> Bool {
        guard let index = rows.indices.filter({ fits(rows[$0]) }).randomElement(using: &generator) else { return false }
        body(&rows[index])
        return true
    }
}

extension Transfer {
    fileprivate func with(player: PlayerID? = nil, credit: AccountKind? = nil) -> Transfer {
        let owner = player ?? self.player
        return Transfer(
            id: id, entry: entry, player: owner,
            debit: LedgerAccount(debit.kind, debit.currency, player: owner),
            credit: LedgerAccount(credit ?? self.credit.kind, debit.currency, player: owner), amount: amount, lot: lot,
            debtLot: debtLot, previous: previous, spendOrder: spendOrder, reference: reference)
    }
}

extension LastNumbers {
    fileprivate func after(_ rows: BlockRows) -> LastNumbers {
        var end = self
        end.currency += Int64(rows.currencies.count)
        end.actor += Int64(rows.actors.count)
        end.account += Int64(rows.accounts.count)
        end.header += Int64(rows.headers.count)
        end.entry += Int64(rows.entries.count)
        end.transfer += Int64(rows.transfers.count)
        end.evidence += Int64(rows.evidence.count)
        end.assignment += Int64(rows.assignments.count)
        end.notification += Int64(rows.notifications.count)
        end.request += Int64(rows.requests.count)
        if let last = rows.entries.last { end.time = last.time }
        return end
    }
}
