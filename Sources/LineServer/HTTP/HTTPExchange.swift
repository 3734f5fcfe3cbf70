import NIOCore
import NIOHTTP1

/// What an address offers over HTTP: what becomes of a request by its head.
protocol HTTPApplication {
    /// - Throws: why a request is not looked at any further.
    func begin(
        _ head: HTTPRequestHead, on connection: ConnectionHandler
    ) throws(HTTPRefusal) -> any HTTPExchange
}

/// A request from behind its head to its response. Its server (``HTTPServerHandler``) has one at a time, and tells it
/// what comes, all of it on the connection's event loop.
protocol HTTPExchange: AnyObject {
    var method: HTTPMethod { get }
    /// Whether the connection goes on behind it.
    var isKeptAlive: Bool { get }
    /// What its client is told where the body does not end in time.
    var tooSlow: HTTPRefusal { get }

    /// Takes a part of the body.
    /// - Throws: why it is refused in the middle of it.
    func receive(_ bytes: ByteBuffer, _ server: HTTPServerHandler) throws(HTTPRefusal)

    /// All of it has come: asks the ledger, has a response prepared, or finishes it at once.
    func serve(_ server: HTTPServerHandler)

    /// The ledger has answered what it was asked.
    /// - Parameters:
    ///   - reply: all that it has answered.
    ///   - ends: whether the connection does.
    func answered(_ reply: ByteBuffer, _ outcome: HTTPBody.Outcome, ends: Bool, _ server: HTTPServerHandler)
}
