package import AppStore

/// What a simulator is told.
package struct SimulatorConfiguration: Sendable {
    /// The app whose purchases it sells.
    package var bundleID: String
    /// Its App Store id; notifications name it where it is given.
    package var appAppleID: Int64?
    /// The environment that everything it signs names.
    package var environment: Environment
    /// Where notifications are posted at first; `nil` where none are made.
    package var webhook: String?
    /// The products for sale; `nil` where every product is.
    package var products: [StoreKitProduct]?
    /// The storefront of purchases, in three letters.
    package var storefront = "USA"
    /// The currency of prices (ISO 4217).
    package var currency = "USD"
    /// How many times faster than the clock the schedule of notifications, and the hour of the rate limit, runs.
    package var speed: Int64 = 1
    /// Notifications that are never posted.
    package var lost = Share.none
    /// Notifications that are posted twice.
    package var doubled = Share.none
    /// Whether first posts wait for a random time, so that they come in another order.
    package var isShuffled = false
    /// Requests of the API that fail.
    package var failing = Share.none
    /// Requests of each kind that are answered within an hour; `nil` for any number.
    package var requestsPerHour: Int?
    /// What all chance follows from.
    package var seed: UInt64

    package init(bundleID: String, environment: Environment, seed: UInt64) {
        self.bundleID = bundleID
        self.environment = environment
        self.seed = seed
    }

    /// Real milliseconds of so many simulated ones, rounded up.
    func real(_ milliseconds: Int64) -> Int64 { (milliseconds + speed - 1) / speed }
}

/// A share of many, in thousandths of a percent: 0 … 100,000.
package struct Share: Hashable, Sendable {
    package static let none = Share(thousandths: 0)

    package let thousandths: Int64

    private init(thousandths: Int64) { self.thousandths = thousandths }

    /// A share as people write it: `20%`, `0.5%` or `20`; `nil` where it is none, or above 100.
    package init?(_ text: String) {
        let number = text.hasSuffix("%") ? String(text.dropLast()) : text
        guard let thousandths = Decimals.thousandths(number), (0...AppStoreLimits.wholeShare).contains(thousandths)
        else { return nil }
        self.thousandths = thousandths
    }

    /// Whether a draw falls into it.
    func draw(_ random: inout SeededGenerator) -> Bool {
        // Nothing is drawn of what never or always happens.
        if thousandths == 0 || thousandths == AppStoreLimits.wholeShare { return thousandths > 0 }
        return Int64.random(in: 0..<AppStoreLimits.wholeShare, using: &random) < thousandths
    }
}

/// Decimal numbers as people and Xcode write them.
package enum Decimals {
    /// `0.99` as 990: digits with at most three behind a point; `nil` where it is anything else, or above what JSON
    /// numbers hold.
    package static func thousandths(_ text: String) -> Int64? {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let fraction = parts.count == 2 ? parts[1] : "0"
        guard (1...13).contains(parts[0].utf8.count), (1...3).contains(fraction.utf8.count),
            [parts[0], fraction].allSatisfy({ $0.utf8.allSatisfy { $0 &- UInt8(ascii: "0") < 10 } }),
            let whole = Int64(parts[0]), let part = Int64(fraction)
        else { return nil }
        let value = whole * 1_000 + part * [100, 10, 1][fraction.utf8.count - 1]
        return value <= AppStoreLimits.numberMax ? value : nil
    }
}
