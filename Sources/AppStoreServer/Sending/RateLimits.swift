internal import Synchronization

/// When each endpoint may be asked again. Apple counts requests by endpoint; after one was refused for its number,
/// further ones would only be refused too, so they are not sent before the time that Apple named.
final class RateLimits: Sendable {
    private let notBefore = Mutex<[Endpoint: Int64]>([:])

    /// The time before which the endpoint is not to be asked; `nil` where it may be asked now.
    func wait(for endpoint: Endpoint, now: Int64) -> Int64? {
        notBefore.withLock { times in
            guard let time = times[endpoint] else { return nil }
            // One beyond what is believed was noted before the clock was set back.
            if now < time, time - now <= AppStoreServerLimits.retryAfterMillisecondsMax { return time }
            times[endpoint] = nil
            return nil
        }
    }

    /// Notes what Apple said.
    func note(_ time: Int64, for endpoint: Endpoint) {
        // Of several that were refused at once each names a time.
        notBefore.withLock { $0[endpoint] = max($0[endpoint] ?? time, time) }
    }

    /// The header `Retry-After` of a reply, in milliseconds since the UNIX epoch, an hour from now at most.
    ///
    /// Apple gives "a UNIX time, in milliseconds" ("Identifying rate limits"). A proxy may give seconds from now (RFC
    /// 9110 §10.2.3). A number below 100,000,000,000 is taken for seconds: as a UNIX time it would lie in or before
    /// 1973. Anything else says nothing.
    static func time(ofHeader text: String, now: Int64) -> Int64? {
        guard let number = Int64(text), number >= 0 else { return nil }
        let latest = now + AppStoreServerLimits.retryAfterMillisecondsMax
        if number >= firstTime { return min(number, latest) }
        let (milliseconds, overflow) = number.multipliedReportingOverflow(by: 1_000)
        return overflow ? latest : min(now + min(milliseconds, AppStoreServerLimits.retryAfterMillisecondsMax), latest)
    }

    /// The least number that is taken for a UNIX time.
    private static let firstTime: Int64 = 100_000_000_000
}
