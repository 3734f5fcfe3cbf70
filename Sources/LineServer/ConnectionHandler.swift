import LedgerEngine
import LedgerWire
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix

/// One connection's I/O: tells its ``ConnectionState`` what came, and does what that says.
///
/// Everything here is touched only on the channel's event loop, which is checked; other threads reach it by
/// ``execute(_:)``, behind the answers that were handed over before.
final class ConnectionHandler: ChannelDuplexHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    let id: ConnectionRegistry.ID
    private let service: ConnectionServices
    private let eventLoop: any EventLoop
    private var state: ConnectionState
    private let share: ReplyShare
    private let loop: LoopShares
    private let loopWork: LoopWork
    private let figures: RequestFigures
    private var context: ChannelHandlerContext?
    /// What stands before it where clients speak HTTP.
    private let front: HTTPServerHandler?
    private var sessions = ConnectionSessions()
    private var isInTurn = false
    /// What was read and has had no turn yet.
    private var receivedBytes = 0
    /// Whether its first line was looked at, and how many turns were taken at once until then.
    private var hasBegun = false
    private var firstTurns = 0
    private var hasEndedForMove = false
    /// Whether it has asked for blocks.
    private var isOfStandby = false
    /// Whether TLS is still to come about: until then nobody has authenticated, whoever needs no token either.
    private var awaitsHandshake: Bool
    /// By which authorities a certificate of its client's is verified (``ServerCertificates/authorities``).
    private let authorities: Int?
    private let timeouts: ConnectionTimeouts
    /// Whether it is to be told when the client has read all that was written until then; and how often it was.
    private var isReadingAwaited = false
    private var readings = 0

    /// - Parameters:
    ///   - isTLS: whether TLS stands between it and the socket. It is made before TLS is.
    ///   - front: what stands before it in the pipeline where clients speak HTTP.
    init(_ service: ConnectionServices, eventLoop: any EventLoop, isTLS: Bool, front: HTTPServerHandler? = nil) {
        self.service = service
        self.eventLoop = eventLoop
        awaitsHandshake = isTLS
        authorities = service.certificates?.authorities
        self.front = front
        let (id, connections) = (service.connections.nextID(), service.connections)
        self.id = id
        share = ReplyShare(of: service.memory, stepBytes: service.limits.replyStepBytes)
        let loop = service.loops.loop(of: eventLoop)
        (self.loop, loopWork) = (loop.shares, loop.work)
        figures = service.requests.figures(of: eventLoop)
        timeouts = ConnectionTimeouts(
            service.limits, memory: service.memory, isHTTP: front != nil, eventLoop: eventLoop)
        state = ConnectionState(
            tokens: service.tokens, directory: service.directory, info: service.ledgers.info, limits: service.limits,
            share: share, clock: service.clock, leadPlace: service.ledgers.leadPlace,
            figures: figures
        ) { name in
            connections.seat(id, as: name)
        }
        front?.connection = self
        state.noteRefusal = { [weak self] refusal, name in self?.note(refusal, of: name) }
    }

    private func note(_ refusal: SecurityRefusal, of name: String?) {
        service.notices.note(refusal, peer: context?.remoteAddress, name: name)
    }

    // MARK: Channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        timeouts.begin(
            isStranger: isStranger, standing: { [weak self] in self?.standing },
            kept: { [weak self] in self?.kept ?? (nil, nil) },
            refusesChanges: { [weak self] in self?.state.refusesChanges ?? false },
            endRefusingStretch: { [weak self] in
                var goesOn = false
                self?.turn { goesOn = $0.endRefusingStretch() }
                return goesOn
            },
            overdue: { [weak self] in self?.end(for: $0) })
        share.wake = { [weak self, loopWork] in
            // It has its place among those who wait for memory only as long as it asks at once.
            loopWork.execute { [weak self] in self?.takeTurnAtOnce() }
        }
    }

    /// - Parameter place: the ledger's.
    private func openSession(at place: Int) -> LedgerSession {
        service.ledgers.members[place].ledger.session(
            memory: service.memory, outlet: Outlet(execute: loopWork.execute), prepare: \.writtenPage,
            displaced: { [weak self] in self?.end(for: .displaced) },
            noteCommit: noteCommit
        ) { [weak self] answers in
            guard let self else { return }
            let begin = eventLoop.now
            turn { $0.answered(answers) }
            loop.charge(state.holder?.tenant, since: begin, state.turn.takeYield())
        }
    }

    /// `nil` where nothing is traced.
    private var noteCommit: (@Sendable (CommitTrace) -> Void)? {
        if figures.spans == nil { return nil }
        return { [weak self] commit in self?.state.noteCommit(commit) }
    }

    /// - Parameter place: of the ledger that another node leads.
    private func openRelay(to place: Int, for client: String?) -> any LeaderRelaySession {
        guard let relay = service.ledgers.members[place].relay else { preconditionFailure("nobody else leads") }
        return relay.session(for: client, outlet: Outlet(execute: loopWork.execute)) { [weak self] replies in
            self?.turn { $0.relayed(replies) }
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end()
        self.context = nil
    }

    func channelActive(context: ChannelHandlerContext) {
        // A shutdown may have overtaken the connection while it was being set up.
        turn { _ in }
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        // Of HTTP heads were read too: `decode`.
        if front == nil {
            receivedBytes += bytes.readableBytes
            figures.noteRead(bytes.readableBytes)
        }
        state.received(&bytes)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        timeouts.noteProgress()
        state.readCompleted()
        if state.turn.ask() { askForTurn() }
        context.fireChannelReadComplete()
    }

    func read(context: ChannelHandlerContext) {
        if state.asksToRead(isWritable: context.channel.isWritable) { context.read() }
        timeouts.watchMemory()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            timeouts.noteProgress()
            turn { _ in }
        }
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .some(.inputClosed) = event as? ChannelEvent {
            // It sends nothing more, and waits for its last answers alone: not for what may come.
            sessions.endWaits()
            turn { $0.inputClosed() }
        }
        if ConnectionHandler.isHandshakeCompleted(event) {
            awaitsHandshake = false
            identify(context)
        }
        context.fireUserInboundEventTriggered(event)
    }

    /// Who comes with a certificate that is configured needs no token.
    private func identify(_ context: ChannelHandlerContext) {
        guard let certificate = ConnectionHandler.peerCertificate(context) else { return }
        turn { $0.authenticate(byCertificate: certificate.names, endsWithoutPlace: front == nil) }
        // Asked behind that: authorities are replaced before tokens are, so the names were those of these authorities.
        if service.certificates?.authorities != authorities { return closeNow() }
        endsForMove()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if ConnectionHandler.isUncleanEnd(error) { return }
        if let reason = ConnectionHandler.handshakeFailure(error) {
            service.notices.note(.handshakeFailed, context.channel.peerWords, ["reason": "\(reason)"])
        }
        service.logger.debug("a connection failed", metadata: ["error": "\(error)"])
        context.close(promise: nil)
    }

    // MARK: For HTTP

    /// See ``ConnectionState/begin(_:from:under:)``.
    /// - Parameter headers: those that may say of which trace it is; `nil` where its sender may not say that.
    func begin(_ form: LineForm, from credential: Credential?, _ headers: HTTPHeaders? = nil) -> WireError? {
        eventLoop.preconditionInEventLoop()
        let parent = figures.spans.flatMap { spans in headers.map { spans.parent(in: $0) } }
        return state.begin(form, from: credential, under: parent)
    }

    /// Who its client is; `nil` while nobody knows.
    var holder: TokenHolder? { state.holder }

    /// Nothing more of what comes is looked at, and the connection is closed when all is answered and read.
    func finish() { turn { $0.end(nil) } }

    /// Nothing waits for what is new any more: its client has closed its side.
    func endWaits() { sessions.endWaits() }

    /// See ``ConnectionState/isSilenced``.
    var isSilenced: Bool { state.isSilenced }

    /// A request is refused by its head.
    func noteInVain() { state.noteRefusedHead() }

    /// Has some of what was read decoded, and heads in it or behind the last request looked at, when the turn comes of
    /// whose request was the last: mostly at once.
    /// - Parameters:
    ///   - bytes: how much was read since this was last called.
    ///   - waits: whether it waits for that turn. Otherwise it is paid for by whose it proves to be.
    ///   - then: looks at what was decoded.
    func decode(bytes: Int, waits: Bool, then: @escaping () -> Void, _ work: @escaping () -> Void) {
        eventLoop.preconditionInEventLoop()
        figures.noteRead(bytes)
        if waits {
            return loop.run(for: state.holder?.tenant, bytes: bytes, then: then) { [weak self] in
                work()
                return self?.state.turn.takeYield() ?? LoopShares.Yield()
            }
        }
        let begin = eventLoop.now
        work()
        let (time, yield) = (eventLoop.now - begin, state.turn.takeYield())
        then()
        // Last: what was decoded does not wait for the next turn.
        loop.charge(state.holder?.tenant, time, bytes: bytes, yield)
    }

    /// Whether the connection is not read from, for want of memory or because its client does not read.
    var holdsReading: Bool { state.holdsReading }

    /// Whether what has come waits for its sender's turn.
    var awaitsTurn: Bool { state.turn.isAwaited }

    // MARK: From other threads, by the event loop

    /// Has something done on the event loop. Called from any thread.
    func execute(_ work: @escaping LoopWork.Work) { loopWork.execute(work) }

    /// Nothing new is carried out from now on.
    func beginShutdown() {
        sessions.beginShutdown(relayMilliseconds: service.limits.relayShutdownMilliseconds)
        turn { $0.shutDown() }
    }

    /// The shutdown's time is over.
    func closeNow() {
        eventLoop.preconditionInEventLoop()
        if let context { ConnectionHandler.closeSocket(context) }
    }

    /// The tokens were replaced, and perhaps the certificates. Where nobody knows any more who the client is, it is a
    /// stranger again, and has a stranger's time to authenticate. What it waits for is answered with what there is, and
    /// those of its requests that are not handed on yet are refused. Where its token opens another ledger, the
    /// connection ends, and its client makes another. Where it may do less than before, what waits to be passed on to
    /// the node that leads is refused, and where anything stands behind a read, the connection is closed: nothing of
    /// that is carried out.
    func renewIdentity() {
        var hasLostRights = false
        turn { hasLostRights = $0.renewIdentity() }
        if hasLostRights {
            if sessions.holdsBack { return cutOff() }
            sessions.giveUpRelays()
            sessions.endWaits(forGood: false)
        }
        if endsForMove() { return }
        guard context != nil, state.holder == nil, service.connections.unseat(id), front == nil else { return }
        timeouts.beginAnew()
    }

    /// Where its token has come to open another ledger since the connection was made, it ends. What is under way is
    /// answered, and waits for nothing new, so that nobody asks for it again in the other ledger. Over HTTP it ends
    /// only where nothing has come: each request is judged by itself, and those of others are served.
    @discardableResult
    private func endsForMove() -> Bool {
        guard state.hasMoved, front?.isIdle != false else { return false }
        if hasEndedForMove { return true }
        hasEndedForMove = true
        end(for: .moved)
        return true
    }

    /// Closes the connection; what it still has before the ledger is not carried out. Over HTTP its client is told, and
    /// where its token has moved, so that it does not repeat in the other ledger what the former one may have done.
    private func cutOff() {
        guard let context, front != nil || state.hasMoved else {
            end()
            return closeNow()
        }
        if let front {
            end()
            let known = state.hasMoved ? HTTPRefusal.otherLedger : HTTPRefusal.lessAllowed
            front.cutOff(state.holder == nil ? .unauthenticated(.unauthenticated) : known)
        } else {
            let words = state.takeLastWords(.inOtherLedger)
            end()
            context.write(wrapOutboundOut(ByteBuffer(bytes: words)), promise: nil)
        }
        whenWritten(context) { context.close(mode: .output, promise: nil) }
        eventLoop.scheduleTask(in: .milliseconds(service.limits.lingerMilliseconds)) { self.closeNow() }
    }

    /// Ends the connection when what is under way is answered, or when its time is over.
    func end(for reason: ConnectionEnd) {
        guard let context else { return }
        let peer = context.channel.peerWords
        if let notice = reason.notice { service.notices.note(notice, peer) }
        service.logger.debug("a connection is ended", metadata: ["reason": "\(reason.name)", "peer": "\(peer)"])
        if reason.endsWaits { sessions.endWaits() }
        let time: Int64
        switch reason.grace(isHTTP: front != nil) {
        case .none: return closeNow()
        case .linger: time = service.limits.lingerMilliseconds
        case .stranger: time = service.limits.unauthenticatedMilliseconds
        }
        // Over HTTP what has come of a request is answered so: alone, it would be taken for the reply to what is under
        // way.
        if let error = reason.error { front?.ending = error }
        turn { $0.end(front == nil ? reason.error : nil) }
        eventLoop.scheduleTask(in: .milliseconds(time)) { [weak self] in self?.closeNow() }
    }

    // MARK: What was not done in time

    /// Over HTTP each request shows by itself who sends it, so nobody has to have authenticated between them.
    private var isStranger: Bool { awaitsHandshake || state.holder == nil && front == nil }

    /// `nil` where it has ended.
    private var standing: ConnectionTimeouts.Standing? {
        context.map { context in
            ConnectionTimeouts.Standing(
                isStranger: isStranger, awaitsAnswers: state.awaitsAnswers && context.channel.isWritable,
                unreadBytes: unreadBytes(of: context.channel))
        }
    }

    private var kept: ConnectionTimeouts.Kept { (isReadingAwaited ? readings : nil, state.longLine) }

    // MARK: The turn

    /// Has what came accepted when the client's turn comes.
    private func askForTurn() {
        // Writes may wait for what a standby says. And a short first line mostly says who the client is, and so who
        // pays for it: newcomers do not wait for each other.
        let isFirst = !hasBegun && state.holder == nil && receivedBytes <= service.limits.firstPieceBytesMax
        if isOfStandby || isFirst && firstTurns < service.limits.firstTurnsMax {
            // One in which nothing has come, as in TLS's handshake, is none.
            if receivedBytes > 0 { firstTurns += 1 }
            let yield = takeTurnAtOnce()
            // The rest of the first line may be still to come.
            if front != nil || yield.lines > 0 { (receivedBytes, hasBegun) = (0, true) }
            return
        }
        defer { (receivedBytes, hasBegun) = (0, true) }
        loop.run(for: state.holder?.tenant, bytes: receivedBytes) { [weak self] in
            self?.takeTurn() ?? LoopShares.Yield()
        }
    }

    /// Takes a turn that cannot wait for others, and pays for it.
    @discardableResult
    private func takeTurnAtOnce() -> LoopShares.Yield {
        let begin = eventLoop.now
        let yield = takeTurn()
        loop.charge(state.holder?.tenant, since: begin, yield)
        return yield
    }

    private func takeTurn() -> LoopShares.Yield {
        turn { $0.beginTurn() }
        let yield = state.turn.end()
        // A token was shown that has moved since the connection was made. Over HTTP its request is refused.
        if front == nil, endsForMove() { return yield }
        askForTurnWhereNeeded()
        return yield
    }

    /// What was not accepted in a turn, or could not be when it came, has another one.
    private func askForTurnWhereNeeded() {
        guard context != nil, state.turn.linesLeft == 0, state.turn.isNeeded, state.turn.ask() else { return }
        loopWork.execute { [weak self] in self?.askForTurn() }
    }

    /// Tells the state what came, and does all that can be done now, with one flush at the end, and one behind each
    /// piece of long replies.
    private func turn(_ change: (inout ConnectionState) -> Void) {
        eventLoop.preconditionInEventLoop()
        change(&state)
        guard let context else { return }
        // Writing may change the channel's writability, which calls back; the turn that goes on sees it.
        if isInTurn { return }
        isInTurn = true
        defer {
            isInTurn = false
            askForTurnWhereNeeded()
        }
        if isReadingAwaited { noteUnread(context) }
        performAll(context)
        // What the front holds is all that the ledger answers.
        if state.isQuiet, front?.answer(state.takeLineOutcome()) == true {
            timeouts.noteProgress()
            performAll(context)
            noteUnread(context)
        }
        if let permission = state.readPermission(isWritable: context.channel.isWritable) {
            sessions.allowRead(permission, readsTaken: state.readsAnswered)
        }
        timeouts.watchMemory()
        timeouts.watchRefusals()
    }

    private func performAll(_ context: ChannelHandlerContext) {
        while let action = state.next(isWritable: context.channel.isWritable) { perform(action, context) }
    }

    private func perform(_ action: ConnectionState.Action, _ context: ChannelHandlerContext) {
        switch action {
        case .submit(let operations, let place, let goesOn):
            if operations.contains(where: \.isOfStandby) {
                isOfStandby = true
                service.connections.noteStandby(id)
            }
            sessions.submit(
                operations, to: place, as: state.holder?.tenant, goesOn: goesOn, readsTaken: state.readsAnswered,
                open: openSession)
        case .relay(let requests, let place, let client):
            sessions.relay(requests, to: place, for: client) { openRelay(to: place, for: client) }
        case .reload:
            // Files are read: that may block.
            NIOThreadPool.singleton.runIfActive(eventLoop: eventLoop) { [service] in service.reloads.run() }
                .whenComplete { [weak self] result in
                    let report = (try? result.get()) ?? ReloadReport(applied: false, faults: ["the service ends"])
                    self?.turn { $0.reloaded(report) }
                }
        case .write:
            let bytes = state.takeReplies { context.channel.allocator.buffer(bytes: $0) }
            figures.noteWritten(bytes.readableBytes)
            context.write(wrapOutboundOut(bytes), promise: nil)
        case .flush:
            if context.channel.isWritable { timeouts.noteProgress() }
            context.flush()
            noteUnread(context)
        case .read: context.read()
        // What stands behind a request of HTTP may be another client's.
        case .look(let isAnswered):
            state.looked(unread: front == nil ? context.channel.unreadInputBytes : 0, isAnswered: isAnswered)
        case .close:
            front?.end(state.takeLineOutcome())
            whenWritten(context) { context.close(promise: nil) }
        case .linger:
            front?.end(state.takeLineOutcome())
            whenWritten(context) {
                context.close(mode: .output, promise: nil)
                self.eventLoop.scheduleTask(in: .milliseconds(self.service.limits.lingerMilliseconds)) {
                    self.closeNow()
                }
            }
        }
    }

    // MARK: What the client reads

    /// Counts what the client has not read; where there is some, it is told when that is read.
    private func noteUnread(_ context: ChannelHandlerContext) {
        let bytes = unreadBytes(of: context.channel)
        state.told(unreadBytes: bytes)
        if bytes == 0 || isReadingAwaited { return }
        isReadingAwaited = true
        whenWritten(context) {
            self.isReadingAwaited = false
            self.readings += 1
            if let context = self.context { self.noteUnread(context) }
            self.turn { _ in }
        }
    }

    /// Bytes that were written, and that the kernel has not taken.
    private func unreadBytes(of channel: any Channel) -> Int {
        guard let options = channel.syncOptions else { preconditionFailure("the channel is of another event loop") }
        do {
            return try options.getOption(.bufferedWritableBytes)
        } catch {
            // The channel is closed, and has none any more.
            return 0
        }
    }

    /// An empty write is done when everything before it is.
    private func whenWritten(_ context: ChannelHandlerContext, _ body: @escaping () -> Void) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer())).assumeIsolated().whenComplete { _ in body() }
    }

    private func end() {
        eventLoop.preconditionInEventLoop()
        timeouts.end()
        state.closed()
        sessions.close()
    }
}
