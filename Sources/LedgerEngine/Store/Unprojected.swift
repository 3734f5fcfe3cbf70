import Dispatch
import Ledger

/// What is in memory because the projection does not have it yet, beside what the books hold: records of older blocks,
/// in generations. A generation goes whole when the projection has its last block, so that nothing is removed one by
/// one.
///
/// The newest version of a record is in the books, or else in the newest generation that has it, or else in the
/// projection.
struct Unprojected {
    private struct Generation: Sendable {
        /// The last block of which it has records, and the last numbers when it was begun: more may have become part of
        /// that block since.
        var block: BlockNumber
        var position: LastNumbers
        var records: Books.Records
        /// Players of whom a lot was used up.
        var closers: [PlayerID]
        /// Players of whom something changed that no transfer tells.
        var changed: Set<PlayerID>
    }

    /// One that is given back to memory, by whoever empties this. Whoever lets go of a generation last would do it
    /// otherwise: for a hundred thousand answers that takes fifty milliseconds.
    private final class Discarded: @unchecked Sendable {
        var generation: Generation?

        init(_ generation: consuming Generation) { self.generation = generation }
    }

    /// Oldest first; two at the most, so that a look-up is short.
    private var generations: [Generation] = []
    /// Players of whom lots were used up that are projected, up to which transfer. They are forgotten little by
    /// little: nobody's request waits for all of them.
    private var leaving: [(players: ArraySlice<PlayerID>, through: TransferID)] = []
    /// Of how many players used lots are forgotten with each batch; of more where many wait.
    private static let leavingPerBatchMin = 1_024
    /// Players of whom a lot was used up since the last generation.
    private var closers: [PlayerID] = []
    /// Players of whom something changed since then that no transfer tells.
    private var changed: Set<PlayerID> = []
    /// The last numbers that the projection has at least.
    private(set) var projected: LastNumbers
    /// Where generations are given back to memory, so that nobody waits for it.
    private static let bin = DispatchQueue(label: "ledger.forgotten", qos: .utility)

    /// - Parameter projected: the last numbers that the projection has.
    init(projected: LastNumbers) { self.projected = projected }

    /// Notes players of whom a batch used up lots.
    mutating func add(closers players: [PlayerID]) {
        if !players.isEmpty { closers += players }
    }

    /// Notes players of whom a batch changed what no transfer tells: a link, or a consent.
    mutating func add(changed players: [PlayerID]) {
        changed.formUnion(players)
    }

    /// Whether the projection lacks something of a player: they must stay in memory.
    func isLacked(_ player: Player) -> Bool {
        player.lastTransfer > projected.transfer || player.id > projected.account || changed.contains(player.id)
            || generations.contains { $0.changed.contains(player.id) }
    }

    /// Begins another generation where there is room for one.
    /// - Parameters:
    ///   - block: the last block that was decided.
    ///   - books: everything that their records have is of blocks up to it.
    ///   - isLast: whether the generation goes at once.
    mutating func turn(after block: BlockNumber, of books: inout Books, isLast: Bool = false) {
        guard generations.count < 2 || isLast, block > generations.last?.block ?? 0 else { return }
        let records = books.takeRecords()
        if records.isEmpty && closers.isEmpty && changed.isEmpty { return }
        generations.append(
            Generation(block: block, position: books.position, records: records, closers: closers, changed: changed))
        (closers, changed) = ([], [])
    }

    /// Forgets what the projection has by now.
    /// - Parameter decided: the last block that was decided.
    /// - Returns: how many lots went.
    mutating func release(
        through projected: BlockNumber, of decided: BlockNumber, from books: inout Books
    ) -> Int {
        if projected == decided { turn(after: decided, of: &books, isLast: true) }
        while let block = generations.first?.block, block <= projected {
            let oldest = generations.removeFirst()
            self.projected = oldest.position
            if !oldest.closers.isEmpty { leaving.append((oldest.closers[...], oldest.position.transfer)) }
            let discarded = Discarded(consume oldest)
            Unprojected.bin.async { discarded.generation = nil }
        }
        return forgetClosedLots(in: &books)
    }

    /// Of some who wait for that, the first ones first; and of so many that those who wait never become many.
    private mutating func forgetClosedLots(in books: inout Books) -> Int {
        var lots = 0
        let waiting = leaving.reduce(0) { $0 + $1.players.count }
        var rest = max(Unprojected.leavingPerBatchMin, waiting / 32)
        while rest > 0, let (players, transfer) = leaving.first {
            let first = players.prefix(rest)
            for player in first { lots += books.forgetClosedLots(of: player, through: transfer) }
            rest -= first.count
            leaving[0].players = players[first.endIndex...]
            if leaving[0].players.isEmpty { leaving.removeFirst() }
        }
        return lots
    }

    /// Whether it has something of spends that were given back, or of holds that were closed.
    var hasReferences: Bool {
        generations.contains { !$0.records.returned.isEmpty || !$0.records.holdEnds.isEmpty }
    }

    /// Puts what a batch needs into the books, where a generation has it.
    func load(_ needs: Needs, into books: inout Books) {
        for generation in generations.reversed() { load(needs, from: generation.records, into: &books) }
    }

    /// Puts what became of the spends and holds that a batch names into the books, where a generation has it. Their
    /// keys' answers are in the books.
    func loadReferences(_ needs: Needs, into books: inout Books) {
        let spends = needs.spends.flatMap { books.answers[$0]?.answer.spends.map(\.spend.trace.first) ?? [] }
        let holds = needs.holds.flatMap { books.answers[$0]?.answer.holds.map(\.hold.trace.first) ?? [] }
        for records in generations.reversed().map(\.records) {
            for spend in spends where books.returned[spend] == nil {
                if let lots = records.returned[spend] { books.load(returned: lots, of: spend) }
            }
            for hold in holds where books.holdEnds[hold] == nil {
                if let end = records.holdEnds[hold] { books.load(end, of: hold) }
            }
        }
    }

    private func load(_ needs: Needs, from records: Books.Records, into books: inout Books) {
        if !records.answers.isEmpty {
            for keys in [needs.keys, needs.spends, needs.holds] {
                for key in keys where books.answers[key] == nil {
                    if let answered = records.answers[key] { books.load(key, answered) }
                }
            }
        }
        if !records.purchases.isEmpty {
            for transaction in needs.transactions where books.purchases[transaction] == nil {
                if let register = records.purchases[transaction] { books.load(register) }
            }
        }
        if !records.notifications.isEmpty {
            for uuid in needs.notifications where books.notifications[uuid] == nil {
                if let recorded = records.notifications[uuid] { books.load(notification: uuid, recorded) }
            }
        }
        if !records.calls.isEmpty {
            for call in needs.calls where books.calls[call] == nil {
                if let end = records.calls[call] { books.load(end, of: call) }
            }
        }
    }
}
