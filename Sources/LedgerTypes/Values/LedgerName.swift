/// What a service calls one of its ledgers: 1 … 64 letters, digits, `_`, `-` and `.`.
public struct LedgerName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The name.
    public let text: String

    /// `nil` where a character is not allowed, or there are too many or none.
    public init?(_ text: String) {
        guard StandbyName(text) != nil, !text.utf8.contains(UInt8(ascii: ":")), text != ".", text != ".." else {
            return nil
        }
        self.text = text
    }

    /// Names are ordered as text.
    public static func < (left: LedgerName, right: LedgerName) -> Bool { left.text < right.text }

    /// The name.
    public var description: String { text }
}
