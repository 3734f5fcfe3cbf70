import Foundation

/// The clocks of a run.
enum LoadClock {
    /// Nanoseconds of a clock that is never set.
    static func nanoseconds() -> Int64 { now(CLOCK_MONOTONIC) }

    /// Milliseconds since the UNIX epoch.
    static func milliseconds() -> Int64 { now(CLOCK_REALTIME) / 1_000_000 }

    private static func now(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
