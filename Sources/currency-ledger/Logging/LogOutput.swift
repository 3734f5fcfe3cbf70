import Foundation
import Logging
import Synchronization

/// Where the service's log goes, and what of it: the standard error stream, a line an event.
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
    /// Held while a line is written, so that no two are mixed.
    private let writing = Mutex(())
    private let descriptor: Int32

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

    /// Writes a line. Where nothing can be written, nobody can be told.
    func write(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        writing.withLock { _ in try? File.write(bytes, to: descriptor, name: "the log") }
    }
}
