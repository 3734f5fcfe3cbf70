/// Why a JSON text was not read: what, at which byte, and in which member.
package struct JSONError: Error, Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// Not RFC 8259, and what was wrong with it.
        case syntax(StaticText)
        case invalidUTF8
        case tooDeep
        case tooManyMembers
        case duplicateKey
        case wrongType(expected: JSONKind)
        case notAnInteger
        case outOfRange
        /// A member that the caller requires is not there.
        case missing
        /// The caller's own rule: "must be …".
        case invalid(String)
    }

    package var kind: Kind
    /// The byte of the text at which it was noticed.
    package var offset: Int
    /// The member, as in `debits[0].amount`; empty for the text as a whole.
    package var path: String

    package init(_ kind: Kind, offset: Int, path: String = "") {
        self.kind = kind
        self.offset = offset
        self.path = path
    }

    /// For people: what is wrong, without the member's name, and without any of the text.
    package var message: String {
        switch kind {
        case .syntax, .invalidUTF8: "\(rule) at byte \(offset)"
        case .tooDeep, .tooManyMembers, .duplicateKey, .wrongType, .notAnInteger, .outOfRange, .missing, .invalid: rule
        }
    }

    /// What is wrong, without any place: for who shows the place by itself (``JSONPlace``).
    package var rule: String {
        switch kind {
        case .syntax(let what): "is not JSON: \(what.value)"
        case .invalidUTF8: "is not UTF-8"
        case .tooDeep: "is nested deeper than \(JSONLimits.depthMax) levels"
        case .tooManyMembers: "has too many members"
        case .duplicateKey: "is given twice"
        case .wrongType(let expected): "must be \(expected.name)"
        case .notAnInteger: "must be an integer, without fraction and exponent"
        case .outOfRange: "is out of range"
        case .missing: "is missing"
        case .invalid(let rule): rule
        }
    }

    /// The member and what is wrong with it.
    package var description: String { path.isEmpty ? "the text \(message)" : "\(path) \(message)" }

    /// True where the text is not JSON at all, rather than JSON of another shape than the caller wants.
    package var isMalformedText: Bool {
        switch kind {
        case .syntax, .invalidUTF8, .tooDeep, .tooManyMembers, .duplicateKey: true
        case .wrongType, .notAnInteger, .outOfRange, .missing, .invalid: false
        }
    }
}

extension JSONError {
    /// A message that is known when the program is built: it costs nothing until it is shown.
    package struct StaticText: Equatable, Sendable, ExpressibleByStringLiteral {
        let text: StaticString
        package init(stringLiteral value: StaticString) { text = value }
        package var value: String { text.description }
        package static func == (a: Self, b: Self) -> Bool { a.value == b.value }
    }

    @usableFromInline func inside(_ key: JSONText) -> JSONError {
        let name = key.prefixForPath
        var outer = self
        outer.path = path.isEmpty ? name : path.utf8.first == UInt8(ascii: "[") ? name + path : "\(name).\(path)"
        return outer
    }

    @usableFromInline func inside(_ index: Int) -> JSONError {
        var outer = self
        let separator = path.isEmpty || path.utf8.first == UInt8(ascii: "[") ? "" : "."
        outer.path = "[\(index)]\(separator)\(path)"
        return outer
    }
}

extension JSONError: CustomStringConvertible {}
