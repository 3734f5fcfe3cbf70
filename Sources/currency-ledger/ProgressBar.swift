import Foundation
import Ledger
import LedgerWire
import Synchronization

/// A line on a terminal that says how far something is; nothing where standard error is no terminal.
///
/// Nothing is shown in the first second, and then it changes ten times a second at most.
final class ProgressBar: Sendable {
    private let what: String
    private let start = ContinuousClock.now
    /// When it was shown last, and what then; `nil` where it was not.
    private let shown = Mutex<(time: ContinuousClock.Instant, line: String)?>(nil)

    init(_ what: String) { self.what = what }

    /// - Parameter all: how many there are; nothing is shown where there are none.
    func show(_ done: Int64, of all: Int64) {
        if all > 0 { show(ProgressBar.line(what, "\(done) of \(all)", done, of: all), isLast: done == all) }
    }

    /// - Parameters:
    ///   - rows: how many were written.
    ///   - done: how far the report is.
    ///   - all: how far it goes; 0 where nothing says so.
    func show(rows: Int, _ done: Int64, of all: Int64) {
        show(ProgressBar.line(what, "\(rows) rows", done, of: all), isLast: false)
    }

    func end() {
        shown.withLock { shown in
            if shown != nil { FileHandle.standardError.write(Data("\n".utf8)) }
            shown = nil
        }
    }

    private func show(_ line: String, isLast: Bool) {
        guard Console.errorIsTerminal else { return }
        let now = ContinuousClock.now
        shown.withLock { shown in
            guard now - start > .seconds(1), isLast || shown.map({ now - $0.time > .milliseconds(100) }) ?? true else {
                return
            }
            // What was longer before is written over.
            let rest = String(repeating: " ", count: max(0, (shown?.line.count ?? 0) - line.count))
            shown = (now, line)
            FileHandle.standardError.write(Data("\r\(line)\(rest)".utf8))
        }
    }

    static func line(_ what: String, _ words: String, _ done: Int64, of all: Int64) -> String {
        guard all > 0 else { return "\(what): \(words)" }
        let width = 40
        let filled = Int(Int64(width) * min(max(0, done), all) / all)
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled)
        return "\(what) [\(bar)] \(words)"
    }
}

/// How far a report is that is read from its beginning to its end, by the times of its rows. Reports whose rows are not
/// in the order of times do not say it.
struct ReportReach {
    private var first: Timestamp?
    private var newest: Timestamp?
    private let last: Timestamp

    init(_ request: ReportRequest) {
        first = request.from
        last = request.asOf ?? Clock.now()
    }

    mutating func add(_ rows: [ReportRow]) {
        guard case .line(let line)? = rows.last else { return }
        switch line.kind {
        case .lots, .spends, .purchases, .journal: break
        case .balances, .trial, .debts, .notifications, .consumptionRequests, .rollforward, .sales, .revenue, .deferred,
            .unassigned, .closings:
            return
        }
        if first == nil, case .line(let line)? = rows.first { first = line.integer("time") }
        newest = line.integer("time")
    }

    /// Milliseconds of the report's time.
    var done: Int64 { newest.flatMap { newest in first.map { newest - $0 } } ?? 0 }
    /// Milliseconds of all of it; 0 where that is not known.
    var all: Int64 { newest == nil ? 0 : first.map { max(0, last - $0) } ?? 0 }
}

extension Duration {
    /// In seconds, as people read how long something took.
    var rounded: String { "\((self / .milliseconds(100)).rounded() / 10)" }
}
