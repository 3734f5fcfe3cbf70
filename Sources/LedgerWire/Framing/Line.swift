/// What a client sent on one line.
package enum Line: Hashable, Sendable {
    case single(Message)
    /// 1 … ``WireLimits/batchRequestsMax`` messages, answered by one line in the same order, without those that have
    /// no id; by no line where none has.
    case batch([Message])
    /// No request could be made out, or the batch as a whole is refused: answered with the id null.
    case invalid(WireError)
}

/// One request of a line, or what is wrong with it.
package struct Message: Hashable, Sendable {
    /// A request with the method by which it was asked.
    package struct Asked: Hashable, Sendable {
        package var method: Method
        package var request: Request

        package init(_ method: Method, _ request: Request) {
            self.method = method
            self.request = request
        }
    }

    /// `nil`: a notification in JSON-RPC's sense, carried out and not answered, whatever becomes of it.
    package var id: RequestID?
    package var body: Result<Asked, WireError>

    package init(id: RequestID?, body: Result<Asked, WireError>) {
        self.id = id
        self.body = body
    }
}

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
