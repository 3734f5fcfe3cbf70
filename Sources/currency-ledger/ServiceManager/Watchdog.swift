import Dispatch
import Foundation
import Synchronization

/// Lets the service manager know that the service works, so that it restarts one that does not.
///
/// Four times in the time that the manager waits, on a thread that does nothing else, it looks whether all parts have
/// answered what it asked them before. The event loops have no excuse. The ledgers, and what runs on Swift's own
/// threads, have one: a thread of this process waits for the disk. A restart would not make that faster, and would read
/// the more from it.
final class Watchdog: Sendable {
    /// Parts that were asked, and have to answer all before they are asked again.
    private final class Question: Sendable {
        private let ask: @Sendable (@escaping @Sendable () -> Void) -> Int
        /// Those that have not answered; in the balance, for some answer before it is known how many were asked.
        private let missing = Atomic(0)

        init(_ ask: @escaping @Sendable (@escaping @Sendable () -> Void) -> Int) { self.ask = ask }

        /// Whether all have answered; then they are asked again.
        func isAnswered() -> Bool {
            guard missing.load(ordering: .relaxed) == 0 else { return false }
            let asked = ask { self.missing.subtract(1, ordering: .relaxed) }
            missing.add(asked, ordering: .relaxed)
            return true
        }
    }

    private let loops: Question
    private let others: Question
    private let waitsForDisk: @Sendable () -> Bool
    private let stopped = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - loops: asks those that must answer at once; it returns how many it asked, each of which calls what it is
    ///     given.
    ///   - others: the same of those that may wait for the disk.
    ///   - waitsForDisk: whether a thread does.
    init(
        loops: @escaping @Sendable (@escaping @Sendable () -> Void) -> Int,
        others: @escaping @Sendable (@escaping @Sendable () -> Void) -> Int,
        waitsForDisk: @escaping @Sendable () -> Bool = { ProcessThreads.anyWaitsForDisk() }
    ) {
        self.loops = Question(loops)
        self.others = Question(others)
        self.waitsForDisk = waitsForDisk
    }

    /// Whether the service works.
    func look() -> Bool {
        // Both are asked again where they have answered, whatever the other has to say.
        let (loops, others) = (loops.isAnswered(), others.isAnswered())
        return loops && (others || waitsForDisk())
    }

    /// Looks until ``stop()``.
    /// - Parameters:
    ///   - microseconds: within which the manager wants to hear something.
    ///   - works: called each time that the service works.
    func start(microseconds: UInt64, works: @escaping @Sendable () -> Void) {
        let interval = DispatchTimeInterval.microseconds(Int(min(microseconds, 86_400_000_000) / 4))
        Thread.detachNewThread { [self] in
            repeat { if look() { works() } } while stopped.wait(timeout: .now() + interval) == .timedOut
        }
    }

    func stop() { stopped.signal() }
}

/// The threads of this process, as the kernel sees them.
enum ProcessThreads {
    /// Whether one waits for a disk: it is in the state that proc_pid_stat(5) calls D.
    /// - Parameter folder: has a folder for each thread.
    static func anyWaitsForDisk(in folder: String = "/proc/self/task") -> Bool {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return threads.contains { thread in
            // The name, in brackets, may have brackets too.
            let line = (try? String(contentsOfFile: "\(folder)/\(thread)/stat", encoding: .utf8)) ?? ""
            return line[(line.lastIndex(of: ")") ?? line.startIndex)...].hasPrefix(") D ")
        }
    }
}
