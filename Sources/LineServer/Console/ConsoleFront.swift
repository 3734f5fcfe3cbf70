import NIOCore
import NIOHTTP1

/// What people's browsers are offered at the console's addresses, and nothing else is: pages, made of what the ledger
/// answers to requests of the line protocol that are handed on as any client's are.
struct ConsoleFront: HTTPApplication {
    let sessions: ConsoleSessions
    let responder: ConsoleResponder
    /// By which names it may be asked; `nil` where these are no matter.
    let hosts: LocalHosts?
    let limits: ServerLimits

    init(_ services: ConnectionServices, hosts: LocalHosts?, isTLS: Bool) {
        sessions = services.sessions
        responder = ConsoleResponder(isTLS: isTLS)
        self.hosts = hosts
        limits = services.limits
    }

    func begin(
        _ head: HTTPRequestHead, on connection: ConnectionHandler
    ) throws(HTTPRefusal) -> any HTTPExchange {
        try HTTPRoute.checkFraming(head)
        if let length = head.contentLength, length > limits.consoleBodyBytesMax { throw .longForAPage }
        let request = try ConsoleRequest(head, hosts: hosts, cookie: responder.cookieName)
        return ConsoleExchange(request, isKeptAlive: head.isFollowed, self)
    }
}
