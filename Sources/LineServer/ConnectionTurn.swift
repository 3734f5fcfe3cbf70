import LedgerEngine

/// A connection's turns on its event loop (``LoopShares``): how much it may accept in this one, whether it needs
/// another, and what came of it.
struct ConnectionTurn {
    /// How much may be read and accepted: lines, and requests of a batch's line, which count twice, when they are read
    /// and when they are accepted. Outside of turns nothing is.
    private(set) var linesLeft = 0
    /// Whether what came has a turn to come. Nothing more is read until then.
    private(set) var isAwaited = false
    /// Whether only a turn was missing when lines were last to be accepted.
    var isLacking = false
    private var yield = LoopShares.Yield()

    /// Whether something could be accepted if it had a turn, and it has none to come.
    var isNeeded: Bool { isLacking && !isAwaited }

    /// Has a turn come.
    /// - Returns: whether it has to be asked for; where not, it was before.
    mutating func ask() -> Bool {
        defer { isAwaited = true }
        return !isAwaited
    }

    mutating func begin(lines: Int) {
        isAwaited = false
        linesLeft = lines
    }

    /// - Returns: what was accepted and answered since the last one ended. In vain is what is no request, what its
    ///   client may not ask, what is not looked at, and what of a batch is refused for want of room.
    mutating func end() -> LoopShares.Yield {
        linesLeft = 0
        return takeYield()
    }

    /// - Returns: the same, and the turn goes on.
    mutating func takeYield() -> LoopShares.Yield {
        defer { yield = LoopShares.Yield() }
        return yield
    }

    /// Requests of a batch's line were read, which takes as long as to accept them.
    mutating func spend(_ requests: Int) { linesLeft = max(0, linesLeft - requests) }

    /// A line is accepted, or a request of a batch's line.
    mutating func countLine() {
        linesLeft -= 1
        yield.lines += 1
    }

    /// Something was sent in vain.
    mutating func noteInVain() { yield.inVain += 1 }

    /// The ledger has answered these. Those are in vain for whose pages there was no room.
    mutating func note(_ answers: [Answer]) {
        yield.lines += answers.count
        for case .failure(.noRoom) in answers { yield.inVain += 1 }
    }
}
