/// The token by which an app tells the App Store whose a purchase is: a UUID.
public struct AppAccountToken: Hashable, Sendable, CustomStringConvertible {
    /// The UUID in lower case, as the App Store gives it back.
    public let text: String

    /// `nil` unless `text` is a UUID, in any letter case: 8, 4, 4, 4 and 12 hexadecimal digits, with `-` between them.
    public init?(_ text: String) {
        guard AccountName.isUUID(text) else { return nil }
        self.text = text.lowercased()
    }

    /// The account to which the token's purchases belong while it is not linked: the one of its name.
    public var account: AccountName { AccountName(stored: text) }

    /// The UUID.
    public var description: String { text }
}
