extension AppStoreServerClient {
    /// How often, and after which waits, a request is sent again by the client itself.
    ///
    /// Before repetition `n` the client waits a random time between nothing and `min(capMilliseconds, baseMilliseconds
    /// × 2^(n − 1))` ("full jitter"), so that services that lost Apple at the same moment do not come back at the same
    /// moment; and before that until the time that Apple names (`Retry-After`). A wait that would end after
    /// `totalMilliseconds` is not begun: the call throws at once, and its error says when to come again.
    public struct RetryPolicy: Hashable, Sendable {
        /// Times that one request is sent; at least 1.
        public var attemptsMax: Int
        /// Milliseconds up to which the first repetition waits.
        public var baseMilliseconds: Int64
        /// Milliseconds up to which any repetition waits, beside the time that Apple names.
        public var capMilliseconds: Int64
        /// Milliseconds from a call's beginning within which its last attempt begins.
        public var totalMilliseconds: Int64

        /// A policy of its own.
        public init(
            attemptsMax: Int, baseMilliseconds: Int64 = AppStoreServerLimits.retryBaseMilliseconds,
            capMilliseconds: Int64 = AppStoreServerLimits.retryCapMilliseconds,
            totalMilliseconds: Int64 = AppStoreServerLimits.retryTotalMilliseconds
        ) {
            precondition(attemptsMax >= 1, "a request is sent at least once")
            precondition(0 <= baseMilliseconds && baseMilliseconds <= capMilliseconds, "0 ≤ base ≤ cap")
            precondition(totalMilliseconds >= 0, "a time is no less than nothing")
            self.attemptsMax = attemptsMax
            self.baseMilliseconds = baseMilliseconds
            self.capMilliseconds = capMilliseconds
            self.totalMilliseconds = totalMilliseconds
        }

        /// Five attempts within two minutes, with waits of up to half a second, doubled each time.
        public static let standard = RetryPolicy(attemptsMax: AppStoreServerLimits.attemptsMax)

        /// One attempt: every failure is the caller's to see.
        public static let none = RetryPolicy(attemptsMax: 1)

        /// Milliseconds up to which repetition `number`, from 1, waits.
        func waitMaxMilliseconds(repetition number: Int) -> Int64 {
            precondition(number >= 1, "repetitions count from 1")
            // A shift of 62 keeps the sign; the cap is reached long before.
            let (product, overflow) = baseMilliseconds.multipliedReportingOverflow(by: 1 << Int64(min(number - 1, 62)))
            return overflow ? capMilliseconds : min(capMilliseconds, product)
        }
    }
}
