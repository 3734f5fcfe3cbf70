/// Every bound of the simulator, each with its reason. Those of Apple name where Apple says it.
package enum SimulatorLimits {
    /// Records of a page ("a maximum of 20", `NotificationHistoryResponse`, `HistoryResponse`).
    package static let pageSize = 20
    /// How far back a notification history goes in the sandbox: 30 days ("Get Notification History").
    static let sandboxHistoryMilliseconds: Int64 = 30 * 86_400_000
    /// How far back it goes in production: 180 days.
    static let productionHistoryMilliseconds: Int64 = 180 * 86_400_000
    /// Milliseconds within which a consumption request is to be answered: 12 hours.
    static let consumptionMilliseconds: Int64 = 12 * 3_600_000
    /// Milliseconds from one attempt to send a notification to the next ("Responding to App Store Server
    /// Notifications": 1, 12, 24, 48 and 72 hours after the previous one).
    static let retryMilliseconds: [Int64] = [1, 12, 24, 48, 72].map { $0 * 3_600_000 }
    /// Seconds that a caller's token may be good for ("Generating JSON Web Tokens for API requests").
    static let tokenSecondsMax: Int64 = 3_600
    /// Seconds that the clocks of two machines may differ by.
    static let clockSecondsMax: Int64 = 60
    /// Milliseconds of the time in which requests are counted: an hour ("Identifying rate limits").
    static let rateMilliseconds: Int64 = 3_600_000
    /// Milliseconds of simulated time that a notification waits at most where the order is shuffled: ten minutes, in
    /// which a player buys several times.
    static let shuffleMilliseconds: Int64 = 600_000
    /// How much faster than the clock the schedule of notifications runs at most: an hour takes 3.6 milliseconds.
    package static let speedMax: Int64 = 1_000_000
    /// Posts under way at a time: more than a webhook on the same machine takes at once.
    static let postsMax = 16
    /// Milliseconds that one post may take, from the connection to the end of the answer's head.
    static let postMilliseconds: Int64 = 30_000
    /// Purchases that are kept. Each takes about a kilobyte of memory.
    static let purchasesMax = 1_000_000
    /// Notifications that are kept. Each takes some 300 bytes of memory; what was signed stays in the file.
    static let notificationsMax = 5_000_000
    /// Connections at a time. More are closed at once.
    static let connectionsMax = 512
    /// Bytes of a request's body: Apple's bodies and the commands have some hundred.
    static let bodyBytesMax = 64 << 10
    /// Seconds for which a connection may be silent.
    static let idleSeconds: Int64 = 120
    /// Bytes of an answer of the simulator to a command. A state's line has about a kilobyte.
    static let answerBytesMax = 1 << 30
    /// Bytes of a line of the file: a notification's, with its JWS of at most 64 KiB.
    static let lineBytesMax = 256 << 10
    /// Bytes of a `.storekit` file: App Store Connect allows 10,000 products an app.
    package static let storeKitBytesMax = 64 << 20
    /// Milliseconds that a command waits for the simulator.
    static let commandMilliseconds: Int64 = 60_000
}
