/// How a request of the API fails, where the simulator is told that some do.
enum RequestFault: CaseIterable {
    /// Status 500 with Apple's number 5000001.
    case internalError
    /// Status 503, as a gateway answers.
    case unavailable
    /// The connection is closed, and nothing is carried out.
    case droppedBefore
    /// The connection is closed after the request was carried out.
    case droppedAfter
}

/// Chooses the requests that fail, and how: the same ones for the same seed and order of requests.
struct FaultInjection {
    private let share: Share
    private var random: SeededGenerator

    init(_ share: Share, seed: UInt64) {
        self.share = share
        // Chance of its own: what is asked does not change what becomes of notifications.
        random = SeededGenerator(seed: ~seed)
    }

    mutating func next() -> RequestFault? {
        share.draw(&random) ? RequestFault.allCases.randomElement(using: &random) : nil
    }
}
