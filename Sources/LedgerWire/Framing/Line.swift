package import LedgerTypes

/// What a client sent on one line.
package enum Line: Hashable, Sendable {
    case single(Message)
    /// 1 … ``WireLimits/batchRequestsMax`` messages, answered by one line in the same order, without those that have
    /// no id; by no line where none has.
    case batch([Message])
    /// No request could be made out, or the batch as a whole is refused: answered with the id null.
    case invalid(WireError)
}

extension Line {
    /// Bytes that its values take beside those of its text: many small ones take more than that.
    package var valueBytes: Int {
        switch self {
        case .single(let message): message.operationBytes
        case .batch(let messages):
            messages.reduce(messages.count * MemoryLayout<Message>.stride) { $0 + $1.operationBytes }
        case .invalid: 0
        }
    }

    /// The largest reply, but for its id and for the page of a read; of a batch none, for its requests are accepted one
    /// by one.
    package var firstReplyBytesMax: Int {
        switch self {
        case .single(let message): message.replyBytesMax
        case .batch: 0
        case .invalid(let error): error.replyBytesMax
        }
    }

    /// The same line, with each request of it answered by an error.
    package func failing(_ error: WireError) -> Line {
        switch self {
        case .single(let message): .single(message.failing(error))
        case .batch(let messages): .batch(messages.map { $0.failing(error) })
        case .invalid: self
        }
    }
}

/// One request of a line, or what is wrong with it.
package struct Message: Hashable, Sendable {
    /// A request with the method by which it was asked.
    package struct Asked: Hashable, Sendable {
        package var method: Method
        package var request: Request
        /// The one of the service's ledgers that it names; `nil` where it names none.
        package var ledger: LedgerName?

        package init(_ method: Method, _ request: Request, ledger: LedgerName? = nil) {
            self.method = method
            self.request = request
            self.ledger = ledger
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

extension Message {
    /// Of the operations of an `atomic`.
    fileprivate var operationBytes: Int {
        guard case .success(let asked) = body, case .ledger(.atomic(let atomic)) = asked.request else { return 0 }
        return atomic.operations.count * MemoryLayout<KeyedOperation>.stride
    }

    fileprivate func failing(_ error: WireError) -> Message { Message(id: id, body: .failure(error)) }
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
