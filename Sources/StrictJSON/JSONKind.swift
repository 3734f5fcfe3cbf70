/// The six kinds of a JSON value (RFC 8259 §3, with true and false as one).
package enum JSONKind: Sendable, Equatable {
    case object, array, string, number, bool, null
}
