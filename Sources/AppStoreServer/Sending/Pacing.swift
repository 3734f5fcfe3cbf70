#if canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// The time, the waits between attempts and the chance in them, so that tests need neither wait nor be lucky.
struct Pacing: Sendable {
    /// Milliseconds since the UNIX epoch.
    var now: @Sendable () -> Int64
    /// Waits so many milliseconds; throws where its task is cancelled.
    var sleep: @Sendable (_ milliseconds: Int64) async throws -> Void
    /// A number of milliseconds within 0 … `max`.
    var jitter: @Sendable (_ max: Int64) -> Int64

    static let system = Pacing(
        now: systemMilliseconds, sleep: { try await Task.sleep(for: .milliseconds($0)) },
        jitter: { Int64.random(in: 0...$0) })

    @Sendable static func systemMilliseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
