import NIOConcurrencyHelpers

/// The requests that a token has sent of those that it may in a second, over all its connections.
final class RequestAllowance: Sendable {
    /// Nanoseconds of a clock that never goes back, up to which its requests have used its time up.
    private let busyUntil: NIOLockedValueBox<UInt64>
    private let nanosecondsEach: UInt64
    let perSecond: Int64

    private static let second: UInt64 = 1_000_000_000

    /// - Parameters:
    ///   - perSecond: as many may come at once.
    ///   - former: what there was before. Who had used it up has none left of the new one either.
    init(perSecond: Int64, after former: RequestAllowance?) {
        self.perSecond = perSecond
        busyUntil = NIOLockedValueBox(former?.busyUntil.withLockedValue { $0 } ?? 0)
        nanosecondsEach = RequestAllowance.second / UInt64(perSecond)
    }

    /// Takes one request.
    /// - Parameter now: nanoseconds of a clock that never goes back.
    /// - Returns: whether there was one left.
    func take(now: UInt64) -> Bool {
        busyUntil.withLockedValue { busyUntil in
            let end = max(busyUntil, now) + nanosecondsEach
            if end > now + RequestAllowance.second { return false }
            busyUntil = end
            return true
        }
    }
}
