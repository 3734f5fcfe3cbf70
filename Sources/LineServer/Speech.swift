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
            return HTTPResponse(refusal, isKeptAlive: false).with(headers).bytes
        }
    }

    /// Of every response over HTTP at such an address.
    var headers: [(String, String)] {
        switch self {
        case .lines, .http, .watching: []
        case .console: ConsoleResponder.headers
        }
    }
}
