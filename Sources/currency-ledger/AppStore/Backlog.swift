import Ledger

/// How far Apple was told of an order of rows, and which of them it could not be told of: these are tried again, each
/// after its own wait, and hold up no other.
///
/// Each look goes on behind ``place``, and then through those that ``due(at:)`` names. So many wait here at most;
/// what fails beyond that is not kept, but from where on: the order is read from there again when there is room, or
/// some time later, and nothing is left out.
struct Backlog: Sendable {
    /// A row of the order.
    struct Row: Hashable, Sendable {
        var number: Int64
        /// When the ledger recorded it.
        var time: Timestamp
    }

    /// Rows that wait, of some 50 bytes each.
    static let waitingMax = 10_000
    /// Milliseconds from one time that the order is read again, for rows that are not kept, to the next.
    static let rereadMilliseconds: Int64 = 900_000

    /// Up to here each row was told, or waits, or is not kept.
    private(set) var place: Int64 = 0
    /// Behind this number there are rows that failed and are not kept; `nil` where there are none.
    private(set) var unkeptFrom: Int64?
    private var waiting: [Int64: Timestamp] = [:]
    private(set) var attempts = Attempts()
    private var rereadNotBefore: Timestamp = 0
    private let waitingMax: Int

    init(waitingMax: Int = waitingMax) { self.waitingMax = waitingMax }

    /// How many wait here.
    var count: Int { waiting.count }

    /// A look begins.
    /// - Parameter earliest: rows before it are not told of any more.
    mutating func begin(at now: Timestamp, earliest: Timestamp) {
        for (number, time) in waiting where time < earliest { forget(number) }
        guard let from = unkeptFrom, waiting.count <= waitingMax / 2 || now >= rereadNotBefore else { return }
        place = min(place, from)
        unkeptFrom = nil
        rereadNotBefore = now + Backlog.rereadMilliseconds
    }

    /// Whether the row is among those that wait, so that it is not told of where the order has it.
    func isWaiting(_ number: Int64) -> Bool { waiting[number] != nil }

    /// Rows that have waited, the one whose wait was over first before all others.
    func due(at now: Timestamp) -> [Row] {
        waiting.lazy.filter { attempts.isDue($0.key, at: now) }
            .map { Row(number: $0.key, time: $0.value) }
            .sorted { (wait($0), $0.number) < (wait($1), $1.number) }
    }

    private func wait(_ row: Row) -> Timestamp { attempts.waits[row.number]?.notBefore ?? 0 }

    /// All rows up to this number were told of, or were noted as failed, or have nothing to tell.
    mutating func pass(_ number: Int64) { place = max(place, number) }

    /// Apple was told of the row, or there is nothing to tell any more.
    mutating func settle(_ row: Row) { forget(row.number) }

    /// Apple was not asked, and is asked in the next look.
    mutating func keep(_ row: Row) {
        guard isWaiting(row.number) || waiting.count < waitingMax else { return leaveOut(row) }
        waiting[row.number] = row.time
    }

    private mutating func leaveOut(_ row: Row) { unkeptFrom = min(unkeptFrom ?? .max, row.number - 1) }

    /// Apple could not be told of the row.
    /// - Parameters:
    ///   - until: when Apple asks to be told again, where it says so.
    ///   - jitter: a random number within 0 … its argument.
    mutating func fail(
        _ row: Row, _ reason: String, at now: Timestamp, until: Timestamp? = nil, jitter: (Int64) -> Int64
    ) {
        guard isWaiting(row.number) || waiting.count < waitingMax else {
            leaveOut(row)
            if rereadNotBefore <= now { rereadNotBefore = now + Backlog.rereadMilliseconds }
            return
        }
        waiting[row.number] = row.time
        attempts.fail(row.number, reason, at: now, until: until, jitter: jitter)
    }

    private mutating func forget(_ number: Int64) {
        waiting[number] = nil
        attempts.settle(number)
    }
}
