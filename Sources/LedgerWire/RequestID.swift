/// What the caller named its request, given back with the reply.
///
/// JSON-RPC 2.0 §4: "An identifier established by the Client that MUST contain a String, Number, or NULL value if
/// included."
package enum RequestID: Hashable, Sendable {
    case null
    case integer(Int64)
    case string(String)
    /// A number that is not an integer of 64 bits, as it was written.
    case number(String)
}
