import Glibc

/// A value under a lock, and the threads that wait for it to change. (POSIX's own lock and condition: waits can end by
/// time, and ThreadSanitizer knows them.)
final class Monitor<State>: @unchecked Sendable {
    private var state: State
    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

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
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return try body(&state)
    }

    /// Wakes one of the threads that wait, where it does not matter which.
    func wakeOne() { pthread_cond_signal(changed) }

    /// Wakes every thread that waits: each looks again.
    func wakeAll() { pthread_cond_broadcast(changed) }

    /// Waits until `body` gives something, which it is asked at the beginning and whenever the threads are woken.
    func wait<Result>(_ body: (inout State) -> Result?) -> Result {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        while true {
            if let result = body(&state) { return result }
            pthread_cond_wait(changed, lock)
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
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        while true {
            switch body(&state) {
            case .ready(let result): return result
            case .wait: pthread_cond_wait(changed, lock)
            case .waitUntil(let nanoseconds):
                var time = timespec(
                    tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
                pthread_cond_timedwait(changed, lock, &time)
            }
        }
    }
}

/// The monotonic clock, in nanoseconds.
func monotonicNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
