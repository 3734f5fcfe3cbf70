public import AppStore

/// Every bound of the client, each with its reason.
public enum AppStoreServerLimits {
    /// Bytes of a reply. A page has at most 20 records, each with a JWS of at most 64 KiB, which is what a `Verifier`
    /// reads, and some hundred bytes beside it.
    public static let replyBytesMax = 2 << 20
    /// Bytes of a refusal that are read: it is a number and a sentence.
    static let refusalBytesMax = 16 << 10
    /// Bytes of what Apple wrote that an error repeats: it is for people.
    static let messageBytesMax = 512
    /// Bytes of an identifier or token in an address: Apple's have some fifty.
    public static let identifierBytesMax = 256
    /// Values of one filter of a transaction history: each is a part of the address, and servers refuse long ones.
    public static let filterValuesMax = 50
    /// Milliseconds until an attempt to connect is given up. TCP sends a lost SYN again after one second, three and
    /// seven (RFC 6298 §2).
    public static let connectTimeoutMilliseconds: Int64 = 10_000
    /// Milliseconds that one attempt may take, from the connection to the end of the reply.
    public static let requestTimeoutMilliseconds: Int64 = 30_000
    /// Connections to the host, where it speaks HTTP/1 only: Apple allows 50 requests a second of a kind, and each
    /// takes some tenths of a second.
    static let connectionsMax = 16
    /// Times that one request is sent.
    public static let attemptsMax = 5
    /// Milliseconds up to which the first repetition waits: some round trips to Apple.
    public static let retryBaseMilliseconds: Int64 = 500
    /// Milliseconds up to which any repetition waits, beside the time that Apple names.
    public static let retryCapMilliseconds: Int64 = 30_000
    /// Milliseconds after a call's beginning at which it is not sent again: with the last attempt, a call ends within
    /// two and a half minutes. What takes longer is for the caller to plan.
    public static let retryTotalMilliseconds: Int64 = 120_000
    /// Milliseconds from now up to which Apple's word when to come again is believed: it counts requests by the hour
    /// ("Identifying rate limits").
    public static let retryAfterMillisecondsMax: Int64 = 3_600_000
    /// Notifications on a page of their history ("Get Notification History").
    static let historyPageMax = 20
    /// Milliseconds of the notification history that are asked for at once: so a long time can be read in parts.
    static let historyPartMilliseconds: Int64 = 86_400_000
    /// Pages of one part of the history: two million notifications a day. A history with more does not end.
    static let historyPagesMax = 100_000
    /// Pages of one part after which each further one is asked for only when this many milliseconds are over: Apple
    /// allows 50 requests a second.
    static let historyPagesAtOnce = 100
    static let historyPageMilliseconds: Int64 = 20
    /// Milliseconds before the end of what was read that are read again: Apple lists a notification within moments, and
    /// clocks differ by less.
    public static let historyOverlapMilliseconds: Int64 = 3_600_000
    /// Milliseconds by which a ``HistoryCatchUp`` stays within what Apple keeps. Apple refuses to be asked for more;
    /// clocks differ, and a request takes a while.
    static let historyMarginMilliseconds: Int64 = 3_600_000
    /// Notifications that wait for the next run of a ``HistoryCatchUp``, of up to 64 KiB each. More are read again from
    /// the history: in each run those of a day, and all of them when half of these are done with.
    static let postponedMax = 1_000

    /// Milliseconds for which Apple keeps notifications: 180 days, in the sandbox 30.
    public static func historyMilliseconds(_ environment: Environment) -> Int64 {
        86_400_000 * (environment == .production ? 180 : 30)
    }

    /// Seconds that a token is good for. Apple takes 3,600 at most ("Generating JSON Web Tokens for API requests").
    public static let tokenSeconds: Int64 = 1_200
    /// Seconds before its end at which a token is replaced: longer than an attempt takes, and than clocks differ.
    static let tokenRenewalSeconds: Int64 = 300
}
