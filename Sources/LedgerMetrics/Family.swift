/// All figures of one name: what it is, and how it is to be read.
package struct Family: Hashable, Sendable {
    package enum Kind: String, Sendable {
        /// It only grows, but for a start of the process.
        case counter
        /// As it is now.
        case gauge
        case histogram
    }

    package let name: String
    package let kind: Kind
    /// For people: one sentence.
    package let help: String

    package init(_ name: String, _ kind: Kind, _ help: String) {
        precondition(Family.isName(name), "\(name) is no name of a metric")
        self.name = name
        self.kind = kind
        self.help = help
    }

    /// `[a-zA-Z_:][a-zA-Z0-9_:]*`
    private static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, !isDigit(first) else { return false }
        return text.utf8.allSatisfy { isDigit($0) || isLetter($0) || "_:".utf8.contains($0) }
    }

    fileprivate static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

    fileprivate static func isLetter(_ byte: UInt8) -> Bool {
        let small = byte | 0x20
        return small >= UInt8(ascii: "a") && small <= UInt8(ascii: "z")
    }
}

/// By what figures of one family are told apart.
package struct Label: Hashable, Sendable {
    package let name: String
    package let value: String

    /// - Parameter name: letters, digits and `_`, not beginning with a digit.
    package init(_ name: String, _ value: String) {
        let isName = name.utf8.allSatisfy { Family.isDigit($0) || Family.isLetter($0) || $0 == UInt8(ascii: "_") }
        precondition(isName && name.utf8.first.map { !Family.isDigit($0) } == true, "\(name) is no name of a label")
        self.name = name
        self.value = value
    }
}
