import Foundation
import Logging
import Synchronization

/// Where the service's log goes, and what of it: the standard error stream, a line an event.
///
/// Lines are written by a thread that does nothing else. So nobody who logs, and no event loop, waits for whoever reads
/// the log. What that has not taken waits, up to a bound; lines over it are lost, and counted, and the log says how
/// many where it goes on.
final class LogOutput: Sendable {
    /// How a line is written.
    enum Format: String, CaseIterable, Sendable {
        /// For people.
        case text
        /// An object of JSON, for programs.
        case json
    }

    let format: Format
    private let levelNumber: Atomic<Int>
    private let waiting = Mutex(Waiting())
    /// On which they are written, in their order.
    private let queue = DispatchQueue(label: "log")
    private let descriptor: Int32

    /// Bytes of lines that wait to be written: what a service in trouble says in some minutes.
    static let waitingBytesMax = 4 << 20
    /// How long ``flush()`` waits for who reads the log: who takes nothing for so long will not have the rest.
    private static let flushSecondsMax = 5

    /// Lines that are not written yet.
    private struct Waiting {
        var lines: [[UInt8]] = []
        var bytes = 0
        /// Those behind them that are lost. Until that is said, no more are taken.
        var lost = 0
        /// Whether somebody is writing them.
        var isBeingWritten = false
    }

    /// - Parameter descriptor: where it is written.
    init(_ format: Format = .text, level: Logger.Level = .info, descriptor: Int32 = STDERR_FILENO) {
        self.format = format
        self.descriptor = descriptor
        levelNumber = Atomic(LogOutput.number(of: level))
    }

    /// The least level that is written; it may change at any time.
    var level: Logger.Level {
        get { Logger.Level.allCases[levelNumber.load(ordering: .relaxed)] }
        set { levelNumber.store(LogOutput.number(of: newValue), ordering: .relaxed) }
    }

    private static func number(of level: Logger.Level) -> Int { Logger.Level.allCases.firstIndex(of: level) ?? 0 }

    /// A logger of this output.
    func logger(_ label: String) -> Logger { Logger(label: label) { LineLogHandler(label: $0, output: self) } }

    /// Has a line written; does not wait for it. Where nothing can be written, nobody can be told.
    func write(_ line: String) {
        let line = Array((line + "\n").utf8)
        let begins = waiting.withLock { waiting -> Bool in
            if waiting.lost > 0 || waiting.bytes + line.count > LogOutput.waitingBytesMax {
                waiting.lost += 1
            } else {
                waiting.lines.append(line)
                waiting.bytes += line.count
            }
            defer { waiting.isBeingWritten = true }
            return !waiting.isBeingWritten
        }
        if begins { queue.async { self.writeWaiting() } }
    }

    /// Waits until all lines are written that were logged before; five seconds at the most.
    func flush() {
        let done = DispatchSemaphore(value: 0)
        queue.async { done.signal() }
        _ = done.wait(timeout: .now() + .seconds(LogOutput.flushSecondsMax))
    }

    private func writeWaiting() {
        while true {
            let (lines, lost, isDone) = waiting.withLock { waiting -> ([[UInt8]], Int, Bool) in
                defer { (waiting.lines, waiting.bytes) = ([], 0) }
                if !waiting.lines.isEmpty { return (waiting.lines, 0, false) }
                defer { waiting.lost = 0 }
                waiting.isBeingWritten = waiting.lost > 0
                return ([], waiting.lost, waiting.lost == 0)
            }
            if isDone { return }
            for line in lines { try? File.write(line, to: descriptor, name: "the log") }
            if lost > 0 { try? File.write(Array((lineOfLoss(lost) + "\n").utf8), to: descriptor, name: "the log") }
        }
    }

    private func lineOfLoss(_ count: Int) -> String {
        LineLogHandler.line(
            format, .warning, "currency-ledger", "currency_ledger",
            "lines of the log were lost here: whoever reads it took none", [("lines", "\(count)")])
    }
}
