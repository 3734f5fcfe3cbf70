/// Every bound of a run, each with its reason.
package enum LoadLimits {
    /// Half of the server's: two generators may share one.
    package static let connectionsMax = 512
    /// A ring of send times is kept for them.
    package static let inFlightMax = 1 << 20
    /// A request's id is ten digits, so that it has a fixed place in its line.
    package static let countMax = 100_000_000
    /// About a kilobyte each, in memory before the clock starts.
    package static let purchasesMax = 8_000_000
    /// An account's number has seven digits, for the same reason.
    package static let walletsMax = 1_000_000
    /// The last of a million wallets then still has seven digits.
    package static let firstWalletMax = 8_999_999
    /// An hour: a longer run is several.
    package static let durationSecondsMax = 3_600.0
    /// More than a core can write.
    package static let rateMax = 10_000_000.0
    /// Requests without a reply in a paced run: seconds of a stall are sent on time.
    package static let inFlightPaced = 16_384
    /// How often a paced run sends what has become due: a write for each request would take the generator, which
    /// shares the machine with the server, twenty times what the request takes it otherwise. A request waits for its
    /// tick, and that wait counts as its latency.
    package static let tickNanoseconds: Int64 = 250_000
    /// Units granted to each wallet, of which each spend takes one.
    package static let granted: Int64 = 100_000_000
    /// Grants of one line while wallets are prepared.
    package static let grantBatch = 100
    /// Bytes written ahead for one connection before its socket takes some.
    package static let unsentBytesMax = 256 << 10
    /// Error replies shown verbatim.
    package static let errorsShownMax = 5
    /// Bytes of an error reply shown.
    package static let errorBytesShown = 500
    /// Seconds without any reply after which a run is given up.
    package static let silenceSecondsMax = 30
    /// Seconds that a server may take to start.
    package static let startSecondsMax = 60
}
