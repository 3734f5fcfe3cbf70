/// One account of the books, as the number that transfers name: `player << 12 | currency << 4 | kind`.
package struct LedgerAccount: Hashable, Sendable {
    package let number: Int64

    package init(_ kind: AccountKind, _ currency: CurrencyID, player: PlayerID) {
        number = (kind.isPersonal ? player << 12 : 0) | Int64(currency) << 4 | kind.rawValue
    }

    /// `nil` where the number names no kind of account: the file was changed by other hands.
    package init?(number: Int64) {
        guard number >= 0, AccountKind(rawValue: number & 0xF) != nil else { return nil }
        self.number = number
    }

    package var player: PlayerID { number >> 12 }
    package var currency: CurrencyID { CurrencyID(truncatingIfNeeded: number >> 4) }
    package var kind: AccountKind {
        guard let kind = AccountKind(rawValue: number & 0xF) else {
            preconditionFailure("account number \(number) names no kind of account")
        }
        return kind
    }
}
