package import Ledger
package import LedgerWire

/// A token as the configuration has it: its name, what it opens, and what it may at most. A client may also show by its
/// certificate that it is the one of that name.
package struct Token: Sendable, Equatable {
    /// What it may at most; without any it may all that its roles may.
    package struct Limits: Sendable, Equatable {
        /// Whether it may only call what changes nothing.
        package var isReadOnly = false
        /// The currencies that it may spend, hold and grant; `nil`: all.
        package var currencies: Set<CurrencyCode>?
        /// Requests in a second, of all its connections together.
        package var requestsPerSecond: Int64?
        /// What it may grant of a currency in a day of UTC; of those that are not named, any amount.
        package var grantsPerDay: [CurrencyCode: Int64] = [:]
        /// Where more is asked than can be done: how much all its connections together are given of it for what a token
        /// of share 1 is given; at least 1. `nil`: by its roles.
        package var share: Int?

        package init(share: Int? = nil) { self.share = share }
    }

    /// The entries that it asks for keep it.
    package var name: String
    package var roles: Roles
    /// The SHA-256 of what a client sends; of the old one and the new one while a token is changed.
    package var digests: [Digest]
    /// Names in certificates of clients (a host name of the subject's alternative names, or a common name), which TLS
    /// has verified.
    package var certificates: [String]
    package var limits: Limits
    /// The only one of the service's ledgers that it opens; `nil`: all.
    package var ledger: LedgerName?

    package init(
        name: String, roles: Roles, digests: [Digest], certificates: [String] = [], limits: Limits = Limits(),
        ledger: LedgerName? = nil
    ) {
        self.name = name
        self.roles = roles
        self.digests = digests
        self.certificates = certificates
        self.limits = limits
        self.ledger = ledger
    }
}
