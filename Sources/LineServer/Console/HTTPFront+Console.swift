import LedgerConsole
import LedgerWire
import NIOCore
import NIOHTTP1
import NIOPosix

/// A connection of a browser: pages of the console, of what the ledger answers to requests of the line protocol that
/// are handed on as any client's are.
extension HTTPFront {
    func begin(_ head: HTTPRequestHead, _ console: ConsoleDesk, _ context: ChannelHandlerContext) {
        do throws(HTTPRefusal) {
            try HTTPRoute.checkFraming(head)
            let visit = try ConsoleVisit(
                head, isKeptAlive: head.isFollowed, hosts: hosts, cookie: console.cookieName)
            // Over a connection that is used for nothing else, too, its client is there.
            hasNews = true
            phase = .visiting(visit)
        } catch {
            return decline(error, head, context)
        }
        if head.asksLeave {
            context.write(wrapOutboundOut(.head(.init(version: .http1_1, status: .continue))), promise: nil)
            context.flush()
        }
    }

    /// All of a browser's request has come.
    func serve(_ visit: ConsoleVisit, _ context: ChannelHandlerContext) {
        guard let console, let connection else { return }
        switch visit.wanted {
        case .asset(let asset): respond(console.response(asset, to: visit), visit, context)
        case .mistake(let mistake): show(ConsoleNotice.mistaken(mistake), to: visit, context)
        case .form: show(LoginPage(.asked).document, to: visit, context)
        case .signIn:
            guard let token = visit.token else { return show(LoginPage(.wrongToken).document, to: visit, context) }
            let credential = TokenTable.credential(token)
            if let error = connection.begin(.requests, from: credential) {
                connection.noteInVain()
                return show(LoginPage(error.retryable ? .noPlace : .wrongToken).document, to: visit, context)
            }
            guard case .token(let digest) = credential else { preconditionFailure("a token is shown by its digest") }
            respond(console.redirect(to: visit.next, secret: console.sessions.begin(digest), visit), visit, context)
        case .signOut:
            if let secret = visit.secret { console.sessions.end(secret) }
            respond(console.redirect(to: "/login", secret: "", visit), visit, context)
        case .view(let call): begin(call, visit, console, context)
        }
    }

    /// Has the ledger answer what a page asks, for whom the session's token makes the visitor; for who has none, for
    /// whom their certificate does, or for anybody where nobody needs a token.
    private func begin(
        _ call: ConsoleCall, _ visit: ConsoleVisit, _ console: ConsoleDesk, _ context: ChannelHandlerContext
    ) {
        guard let connection else { return }
        let credential = visit.secret.flatMap { console.sessions.credential($0) }
        if let error = connection.begin(.requests, from: credential) {
            let reason: LoginPage.Reason =
                error.retryable ? .noPlace : visit.secret == nil ? .needed : .sessionEnded
            return show(LoginPage(reason, before: call).document, to: visit, context)
        }
        var visit = visit
        if visit.view == nil {
            let visitor = ConsoleVisitor(
                name: connection.holder?.name, roles: connection.holder?.roles.all ?? [], hasSession: credential != nil)
            visit.view = ConsoleView(call, for: visitor)
        }
        ask(visit.view?.queries ?? [], visit, context)
    }

    private func ask(_ queries: [ConsoleQuery], _ visit: ConsoleVisit, _ context: ChannelHandlerContext) {
        phase = .asking(visit)
        handOn(ByteBuffer(bytes: ConsoleQuery.line(queries, ledger: visit.view?.call.ledger)), context)
    }

    /// The ledger has answered: the page is made on a thread that may take its time.
    func answer(
        _ visit: ConsoleVisit, _ outcome: ConnectionState.LineOutcome, ends: Bool, _ context: ChannelHandlerContext
    ) {
        let line = reply
        reply = ByteBuffer()
        guard case .answered = outcome, !ends, let view = visit.view else {
            let isKeptAlive = visit.isKeptAlive && !ends
            let reason: LoginPage.Reason = if case .unauthenticated = outcome { .sessionEnded } else { .noPlace }
            return show(LoginPage(reason).document, to: visit, isKeptAlive: isKeptAlive, context)
        }
        phase = .drawing(visit)
        let front = NIOLoopBound(self, eventLoop: context.eventLoop)
        let former = visit.answers
        ConsoleDesk.drawing.runIfActive(eventLoop: context.eventLoop) {
            let answers = former + [ConsoleAnswers(line: Array(line.readableBytesView))]
            return (answers, view.outcome(answers))
        }
        .whenSuccess { front.value.drew($0, $1) }
    }

    /// - Parameter answers: all that the ledger has answered to the visit.
    private func drew(_ answers: [ConsoleAnswers], _ outcome: ConsoleOutcome) {
        guard let context, let console, let connection, case .drawing(var visit) = phase else { return }
        visit.answers = answers
        switch outcome {
        case .page(let document): show(document, to: visit, context)
        case .found(let address): respond(console.redirect(to: address, visit), visit, context)
        case .signedOut: show(LoginPage(.sessionEnded).document, to: visit, context)
        case .more(let queries):
            // Its token may have been taken away meanwhile.
            let credential = visit.secret.flatMap { console.sessions.credential($0) }
            if connection.begin(.requests, from: credential) != nil {
                return show(LoginPage(.sessionEnded).document, to: visit, context)
            }
            ask(queries, visit, context)
            channelReadComplete(context: context)
        }
    }

    private func show(
        _ document: ConsoleDocument, to visit: ConsoleVisit, isKeptAlive: Bool? = nil, _ context: ChannelHandlerContext
    ) {
        guard let console else { return }
        // Who guesses tokens is not listened to any more.
        let isKeptAlive = (isKeptAlive ?? visit.isKeptAlive) && connection?.isGuessing != true
        let response = console.response(document, to: visit, isKeptAlive: isKeptAlive)
        respond(response, visit, isKeptAlive: isKeptAlive, context)
    }

    private func respond(
        _ response: HTTPResponse, _ visit: ConsoleVisit, isKeptAlive: Bool? = nil, _ context: ChannelHandlerContext
    ) {
        // What this leads to must find the request answered.
        phase = .pausing
        hasNews = true
        respond(response, context)
        goOn(isKeptAlive: isKeptAlive ?? visit.isKeptAlive, context)
    }
}
