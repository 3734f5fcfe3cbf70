/// Requests of each kind within the running hour of simulated time.
struct RequestRates {
    private var hours: [Endpoint: (endsAt: Int64, count: Int)] = [:]

    /// Counts a request.
    /// - Parameter hour: real milliseconds of a simulated hour.
    /// - Returns: when the next hour begins, in milliseconds since the UNIX epoch, where there were `max` in this one;
    ///   `nil` where the request is within the limit.
    mutating func count(_ endpoint: Endpoint, max: Int, hour: Int64, now: Int64) -> Int64? {
        var current = hours[endpoint] ?? (endsAt: now + hour, count: 0)
        if now >= current.endsAt || current.endsAt - now > hour { current = (endsAt: now + hour, count: 0) }
        defer { hours[endpoint] = current }
        guard current.count < max else { return current.endsAt }
        current.count += 1
        return nil
    }
}
