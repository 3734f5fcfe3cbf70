import FileLog
import Ledger
import LedgerEngine

/// What commands do with a ledger's log in two places.
extension Composition {
    /// Copies a log.
    /// - Parameters:
    ///   - archives: where blocks of the source are that were archived.
    ///   - isFinal: whether no service may have the source open, nor open it meanwhile.
    /// - Returns: what was done, and whether a service had the source open at its end.
    static func migrate(
        _ source: LogPlace, _ archives: [LedgerFolder], to target: LogPlace, isFinal: Bool,
        progress: (BlockNumber, BlockNumber) -> Void
    ) throws -> (LogCopy.Summary, isLed: Bool) {
        guard let identity = try source.identity() else { throw Failure("there is no ledger in \(source)") }
        let from = isFinal ? try source.open(identity, archives) : try source.openForReading(identity, archives)
        defer { from.close() }
        // In a folder the lock says so, in PostgreSQL the lead.
        if isFinal { try from.settle() }
        if let there = try target.identity() {
            guard there == identity else {
                throw Failure(
                    "\(target) has another ledger than \(source): its bundle id or environment differs")
            }
        } else {
            try target.create(identity)
        }
        let to = try target.open(identity)
        defer { to.close() }
        let copy = LogCopy(from: .init(from, "\(source)"), to: .init(to, "\(target)"), hash: sha256)
        let summary = try copy.run(progress: progress)
        guard isFinal else { return (summary, try source.isLed(from)) }
        // It fails where another has led meanwhile: then the target may lack what that one appended.
        try source.note(movedTo: target, from)
        try target.note(movedTo: nil, to)
        return (summary, false)
    }
}
