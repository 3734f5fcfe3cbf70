import LedgerConsole
import LedgerWire
import NIOCore
import NIOHTTP1
import NIOPosix

/// A browser's request for a page of the console: the ledger is asked what the page needs, perhaps more than once, and
/// then the page is drawn of its answers.
final class ConsoleExchange: HTTPExchange {
    let isKeptAlive: Bool
    let tooSlow = HTTPRefusal.slowForAPage
    private let front: ConsoleFront
    private var request: ConsoleRequest
    /// The page that is being made, and what was answered to it.
    private var view: ConsoleView?
    private var answers: [ConsoleAnswers] = []

    /// Draws pages, one after the other: whoever looks at many has other readers of the console wait, and nobody else.
    private static let drawing: NIOThreadPool = {
        let pool = NIOThreadPool(numberOfThreads: 1)
        pool.start()
        return pool
    }()

    init(_ request: ConsoleRequest, isKeptAlive: Bool, _ front: ConsoleFront) {
        self.request = request
        self.isKeptAlive = isKeptAlive
        self.front = front
    }

    var method: HTTPMethod { request.method }

    func receive(_ bytes: ByteBuffer, _ server: HTTPServerHandler) throws(HTTPRefusal) {
        request.body += bytes.readableBytesView
        if request.body.count > front.limits.consoleBodyBytesMax { throw .longForAPage }
    }

    func serve(_ server: HTTPServerHandler) {
        guard let connection = server.connection else { return }
        switch request.wanted {
        case .asset(let asset):
            server.finish(
                front.responder.response(asset, to: method, isKeptAlive: isKeptAlive), isKeptAlive: isKeptAlive)
        case .mistake(let mistake): show(ConsoleNotice.mistaken(mistake), server)
        case .form: show(LoginPage(.asked).document, server)
        case .signIn:
            guard let token = request.token else { return show(LoginPage(.wrongToken).document, server) }
            let credential = TokenTable.credential(token)
            if let error = connection.begin(.requests, from: credential) {
                connection.noteInVain()
                return refuse(error, or: .wrongToken, server)
            }
            guard case .token(let digest) = credential else { preconditionFailure("a token is shown by its digest") }
            redirect(to: request.next, secret: front.sessions.begin(digest), server)
        case .signOut:
            if let secret = request.secret { front.sessions.end(secret) }
            redirect(to: "/login", secret: "", server)
        case .view(let call): begin(call, connection, server)
        }
    }

    /// Has the ledger answer what a page asks, for whom the session's token makes the visitor; for who has none, for
    /// whom their certificate does, or for anybody where nobody needs a token.
    private func begin(_ call: ConsoleCall, _ connection: ConnectionHandler, _ server: HTTPServerHandler) {
        let credential = sessionCredential
        if let error = connection.begin(.requests, from: credential) {
            return refuse(error, or: request.secret == nil ? .needed : .sessionEnded, before: call, server)
        }
        let visitor = ConsoleVisitor(
            name: connection.holder?.name, roles: connection.holder?.roles.all ?? [], hasSession: credential != nil)
        let view = ConsoleView(call, for: visitor)
        self.view = view
        server.ask(ConsoleExchange.line(view.queries, of: view), for: self)
    }

    /// What the session's token shows; `nil` where there is no session, or it is over.
    private var sessionCredential: Credential? { request.secret.flatMap { front.sessions.credential($0) } }

    private static func line(_ queries: [ConsoleQuery], of view: ConsoleView) -> ByteBuffer {
        ByteBuffer(bytes: ConsoleQuery.line(queries, ledger: view.call.ledger))
    }

    /// The page is made on a thread that may take its time.
    func answered(
        _ reply: ByteBuffer, _ outcome: HTTPBody.Outcome, ends: Bool, _ server: HTTPServerHandler
    ) {
        guard case .answered = outcome, !ends, let view else {
            let isMoved = server.ending == .otherLedgerNow
            let reason: LoginPage.Reason =
                if case .unauthenticated = outcome { .sessionEnded } else { isMoved ? .otherLedger : .noPlace }
            return show(LoginPage(reason).document, isKeptAlive: isKeptAlive && !ends, server)
        }
        server.prepare(self, on: ConsoleExchange.drawing) { [former = answers] in
            let answers = former + [ConsoleAnswers(line: Array(reply.readableBytesView))]
            return (answers, view.outcome(answers))
        } then: { answers, outcome in
            self.answers = answers
            self.drew(outcome, of: view, server)
        }
    }

    private func drew(_ outcome: ConsoleOutcome, of view: ConsoleView, _ server: HTTPServerHandler) {
        switch outcome {
        case .page(let document): show(document, server)
        case .found(let address): redirect(to: address, server)
        case .signedOut: show(LoginPage(.sessionEnded).document, server)
        case .more(let queries):
            guard let connection = server.connection else { return }
            // Its token may have been taken away meanwhile.
            if let error = connection.begin(.requests, from: sessionCredential) {
                return refuse(error, or: .sessionEnded, server)
            }
            server.askNow(ConsoleExchange.line(queries, of: view), for: self)
        }
    }

    /// - Parameter reason: why the visitor is not served, where that is not for the moment.
    private func refuse(
        _ error: WireError, or reason: LoginPage.Reason, before call: ConsoleCall? = nil, _ server: HTTPServerHandler
    ) {
        // Another connection is served.
        if error == .otherLedgerNow {
            return show(LoginPage(.otherLedger, before: call).document, isKeptAlive: false, server)
        }
        show(LoginPage(error.retryable ? .noPlace : reason, before: call).document, server)
    }

    private func show(_ document: ConsoleDocument, isKeptAlive: Bool? = nil, _ server: HTTPServerHandler) {
        // Who guesses tokens is not listened to any more.
        let isKeptAlive = (isKeptAlive ?? self.isKeptAlive) && server.connection?.isSilenced != true
        server.finish(
            front.responder.response(document, to: method, isKeptAlive: isKeptAlive), isKeptAlive: isKeptAlive)
    }

    private func redirect(to address: String, secret: String? = nil, _ server: HTTPServerHandler) {
        let response = front.responder.redirect(to: address, secret: secret, isKeptAlive: isKeptAlive)
        server.finish(response, isKeptAlive: isKeptAlive)
    }
}
