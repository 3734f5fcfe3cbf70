import AppStore
package import Ledger

#if canImport(Musl)
import Musl
#else
import Glibc
#endif

/// SHA-256, as the composition hands it to the books.
package let testSHA256: HashFunction = { AppStore.SHA256.hash($0, into: $1) }

/// Blocks the calling thread, which is a store's or a test's own.
package func pause(milliseconds: UInt32) { usleep(milliseconds * 1_000) }

extension Catalog {
    /// Gems, of which refunds become debt, and a grant may be as large as an amount; coins, of which refunds are
    /// written off; and tickets.
    package static let small: Catalog = {
        func code(_ text: String) -> CurrencyCode {
            guard let code = CurrencyCode(text) else { preconditionFailure("\(text) is no currency code") }
            return code
        }
        func grant(_ text: String, _ units: Int64) -> CurrencyAmount {
            guard let amount = Amount(units) else { preconditionFailure("\(units) is no amount") }
            return CurrencyAmount(currency: code(text), amount: amount)
        }
        return Catalog(
            currencies: [
                code("coins"): CurrencySettings(refundShortfall: .writtenOff),
                code("gems"): CurrencySettings(grantMax: Limits.amountMax),
                code("tickets"): CurrencySettings(),
            ],
            products: [
                "com.example.game.gems500": [Offer(from: 0, grants: [grant("gems", 500)])],
                "com.example.game.starter": [Offer(from: 0, grants: [grant("gems", 1_000), grant("tickets", 5)])],
                "com.example.game.coins100": [Offer(from: 0, grants: [grant("coins", 100)])],
            ])
    }()
}
