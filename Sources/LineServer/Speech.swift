import LedgerWire

/// What clients speak at an address.
enum Speech {
    /// The line protocol.
    case lines
    case http

    /// What a client is told that is not served at all.
    func refusal(_ error: WireError) -> [UInt8] {
        switch self {
        case .lines:
            var writer = ReplyWriter()
            writer.write(.error(error), id: .null)
            return writer.bytes
        case .http:
            let refusal = HTTPRefusal(error.retryable ? .serviceUnavailable : .badRequest, error)
            return HTTPResponse(refusal, isKeptAlive: false).bytes
        }
    }
}
