import Glibc

/// A value under a lock, and the threads that wait for it to change. (POSIX's own lock and condition: waits can end by
/// time, and ThreadSanitizer knows them.)
final class Monitor<State>: @unchecked Sendable {
    private var state: State
    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    /// Whose lock it is instead, in a simulation.
    private let machine = SimulatedMachines.current

    init(_ state: State) {
        self.state = state
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // A wait of some milliseconds stays one when the wall clock is set.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        let isReady = pthread_mutex_init(lock, nil) == 0 && pthread_cond_init(changed, &attributes) == 0
        precondition(isReady, "the system has no more locks")
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(lock)
        changed.deallocate()
        lock.deallocate()
    }

    func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        acquire()
        defer { release() }
        return try body(&state)
    }

    /// Wakes one of the threads that wait, where it does not matter which.
    func wakeOne() {
        if let machine { machine.wake(ObjectIdentifier(self), all: false) } else { pthread_cond_signal(changed) }
    }

    /// Wakes every thread that waits: each looks again.
    func wakeAll() {
        if let machine { machine.wake(ObjectIdentifier(self), all: true) } else { pthread_cond_broadcast(changed) }
    }

    /// Waits until `body` gives something, which it is asked at the beginning and whenever the threads are woken.
    func wait<Result>(_ body: (inout State) -> Result?) -> Result {
        acquire()
        defer { release() }
        while true {
            if let result = body(&state) { return result }
            sleep(until: nil)
        }
    }

    /// What the body of ``waitOrUntil(_:)`` answers.
    enum Next<Result> {
        case ready(Result)
        /// Ask again when woken.
        case wait
        /// Ask again when woken, and at this time of the monotonic clock, in nanoseconds.
        case waitUntil(UInt64)
    }

    /// Waits until `body` is ready; it is asked again when the threads are woken, and at the time that it says.
    func waitOrUntil<Result>(_ body: (inout State) -> Next<Result>) -> Result {
        acquire()
        defer { release() }
        while true {
            switch body(&state) {
            case .ready(let result): return result
            case .wait: sleep(until: nil)
            case .waitUntil(let nanoseconds): sleep(until: nanoseconds)
            }
        }
    }

    private func acquire() {
        if let machine { machine.acquire(ObjectIdentifier(self)) } else { pthread_mutex_lock(lock) }
    }

    private func release() {
        if let machine { machine.release(ObjectIdentifier(self)) } else { pthread_mutex_unlock(lock) }
    }

    /// Gives the lock back, waits, and takes it again.
    /// - Parameter time: of the monotonic clock, in nanoseconds.
    private func sleep(until time: UInt64?) {
        if let machine { return machine.wait(ObjectIdentifier(self), until: time) }
        guard let time else {
            pthread_cond_wait(changed, lock)
            return
        }
        var end = timespec(tv_sec: Int(time / 1_000_000_000), tv_nsec: Int(time % 1_000_000_000))
        pthread_cond_timedwait(changed, lock, &end)
    }
}
