import LedgerWire

/// What clients speak at an address.
enum Speech {
    /// The line protocol.
    case lines
    case http
    /// HTTP, for people's browsers alone: the console.
    case console
    /// HTTP, for an operator's programs alone: metrics and health.
    case watching

    /// What a client is told that is not served at all.
    func refusal(_ error: WireError) -> [UInt8] {
        switch self {
        case .lines:
            var writer = ReplyWriter()
            writer.write(.error(error), id: .null)
            return writer.bytes
        case .http, .console, .watching:
            let refusal = HTTPRefusal(error.retryable ? .serviceUnavailable : .badRequest, error)
            let headers = self == .console ? ConsoleDesk.headers : []
            return HTTPResponse(refusal, headers: headers, isKeptAlive: false).bytes
        }
    }
}
