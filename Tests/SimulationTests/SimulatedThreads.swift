import Glibc
import LedgerEngine
import LedgerTestKit

/// A machine on which one thread runs at a time. Whenever a thread would take a lock, wait or end, a generator chooses
/// which of those that can run goes on; where none can, the clock goes forward to the first that waits for a time.
///
/// The threads are the system's, so that what they call (SQLite, OpenSSL) is what it is in operation, but only the one
/// whose turn it is does not sleep. All of the state is used by that thread.
final class SimulatedThreads: SimulatedMachine, @unchecked Sendable {
    private enum State: Equatable {
        case ready
        case blocked(ObjectIdentifier)
        case waiting(ObjectIdentifier, until: UInt64?)
        case sleeping(until: UInt64)
        case joining(Int)
        case ended

        var deadline: UInt64? {
            switch self {
            case .waiting(_, let time): time
            case .sleeping(let time): time
            case .ready, .blocked, .joining, .ended: nil
            }
        }
    }

    private final class Thread: @unchecked Sendable {
        let number: Int
        let name: String
        var state = State.ready
        let turn = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

        init(_ number: Int, _ name: String) {
            (self.number, self.name) = (number, name)
            sem_init(turn, 0, 0)
        }

        deinit {
            sem_destroy(turn)
            turn.deallocate()
        }

        func awaitTurn() { while sem_wait(turn) != 0 {} }
    }

    private var generator: SplitMix64
    private var salts: SplitMix64
    /// In so many of a hundred times another thread may go first where one takes a lock.
    private let preemptions: Int
    /// Those that have not ended.
    private var threads: [Thread]
    private var current: Thread
    private var begun = 1
    private var owners: [ObjectIdentifier: Int] = [:]
    private(set) var nanoseconds: UInt64 = 3_600_000_000_000
    /// A digest of every turn and everything that was noted: two runs of one seed have the same.
    private(set) var trace: UInt64 = 0xCBF2_9CE4_8422_2325

    private let seed: UInt64

    /// The calling thread is the machine's first.
    init(seed: UInt64, preemptions: Int) {
        self.seed = seed
        // Others than what the life itself draws.
        generator = SplitMix64(seed: seed ^ 0x7468_7265_6164_7321)
        salts = SplitMix64(seed: ~seed)
        self.preemptions = preemptions
        current = Thread(0, "driver")
        threads = [current]
    }

    /// Runs `body` as the machine's first thread; all others have ended when it returns.
    func run(_ body: () throws -> Void) rethrows {
        SimulatedMachines.current = self
        defer { SimulatedMachines.current = nil }
        try body()
        precondition(threads.count == 1, "threads were left: \(threads.map(\.name))")
    }

    /// Adds to the trace.
    func note(_ number: UInt64) { trace = (trace ^ number) &* 0x100_0000_01B3 }

    func note(_ text: String) {
        for byte in text.utf8 { note(UInt64(byte)) }
    }

    /// Lets others go first.
    func pass() {
        current.state = .ready
        giveTurn()
    }

    func sleep(microseconds: UInt64) {
        current.state = .sleeping(until: nanoseconds + microseconds * 1_000)
        giveTurn()
    }

    // MARK: The machine

    func random() -> UInt64 { salts.next() }

    func begin(_ name: String, _ body: @escaping @Sendable () -> Void) -> Int {
        let thread = Thread(begun, name)
        begun += 1
        threads.append(thread)
        Start(run: { [self] in
            thread.awaitTurn()
            SimulatedMachines.current = self
            body()
            SimulatedMachines.current = nil
            end(thread)
        }).begin()
        return thread.number
    }

    func join(_ number: Int) {
        guard threads.contains(where: { $0.number == number }) else { return }
        current.state = .joining(number)
        giveTurn()
    }

    func acquire(_ lock: ObjectIdentifier) {
        if generator.chance(preemptions) { pass() }
        take(lock)
    }

    func release(_ lock: ObjectIdentifier) {
        owners[lock] = nil
        for thread in threads where thread.state == .blocked(lock) { thread.state = .ready }
    }

    func wait(_ lock: ObjectIdentifier, until time: UInt64?) {
        release(lock)
        current.state = .waiting(lock, until: time)
        giveTurn()
        take(lock)
    }

    func wake(_ lock: ObjectIdentifier, all: Bool) {
        var waiting = threads.filter {
            if case .waiting(lock, _) = $0.state { return true }
            return false
        }
        if !all, let one = waiting.randomElement(using: &generator) { waiting = [one] }
        for thread in waiting { thread.state = .ready }
    }

    private func take(_ lock: ObjectIdentifier) {
        while let owner = owners[lock] {
            precondition(owner != current.number, "the thread \(current.name) takes a lock that it has")
            current.state = .blocked(lock)
            giveTurn()
        }
        owners[lock] = current.number
    }

    // MARK: Turns

    private func end(_ thread: Thread) {
        thread.state = .ended
        threads.removeAll { $0 === thread }
        for other in threads where other.state == .joining(thread.number) { other.state = .ready }
        begin(next())
    }

    private func giveTurn() {
        let own = current
        let next = next()
        if next === own {
            own.state = .ready
            return
        }
        begin(next)
        own.awaitTurn()
    }

    private func begin(_ thread: Thread) {
        thread.state = .ready
        current = thread
        sem_post(thread.turn)
    }

    private func next() -> Thread {
        nanoseconds += 1_000
        for thread in threads {
            if let deadline = thread.state.deadline, deadline <= nanoseconds { thread.state = .ready }
        }
        let ready = threads.filter { $0.state == .ready }
        if let thread = ready.randomElement(using: &generator) {
            note(UInt64(thread.number))
            return thread
        }
        let first = threads.min {
            ($0.state.deadline ?? .max, $0.number) < ($1.state.deadline ?? .max, $1.number)
        }
        guard let first, let deadline = first.state.deadline else {
            let states = threads.map { "\($0.name) \($0.state)" }
            preconditionFailure("LEDGER_SEED=\(seed): every thread waits for another: \(states)")
        }
        nanoseconds = deadline
        note(nanoseconds)
        note(UInt64(first.number))
        return first
    }
}

/// A thread of the system's, detached.
final class Start {
    private let run: @Sendable () -> Void

    init(run: @escaping @Sendable () -> Void) { self.run = run }

    func begin() {
        var thread = pthread_t()
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        defer { pthread_attr_destroy(&attributes) }
        let code = pthread_create(
            &thread, &attributes,
            { context in
                guard let context else { return nil }
                Unmanaged<Start>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, Unmanaged.passRetained(self).toOpaque())
        precondition(code == 0, "the system has no more threads")
    }
}
