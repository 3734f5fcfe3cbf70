/// The six kinds of a JSON value (RFC 8259 §3, with true and false as one).
package enum JSONKind: Sendable, Equatable {
    case object, array, string, number, bool, null

    /// For people, with its article.
    package var name: String {
        switch self {
        case .object: "an object"
        case .array: "an array"
        case .string: "a string"
        case .number: "a number"
        case .bool: "true or false"
        case .null: "null"
        }
    }
}
