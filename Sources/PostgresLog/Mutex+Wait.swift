#if Postgres
import Synchronization

extension Mutex where Value: ~Copyable {
    /// Does something with the value once the lock is free, where that comes in time: a session's lock is held while
    /// its server does not answer.
    /// - Returns: what `body` does; `nil` where the lock did not become free.
    borrowing func withLock<Result, Failure: Error>(
        withinMilliseconds milliseconds: Int, _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        let end = boottimeNanoseconds() + UInt64(milliseconds) * 1_000_000
        while true {
            if let result = try withLockIfAvailable(body) { return result }
            if boottimeNanoseconds() >= end { return nil }
            pause(milliseconds: 1)
        }
    }
}
#endif
