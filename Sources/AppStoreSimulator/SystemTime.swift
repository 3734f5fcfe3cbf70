#if canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

enum SystemTime {
    /// Milliseconds since the UNIX epoch.
    static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
