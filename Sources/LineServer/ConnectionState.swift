import AppStore
import Ledger
import LedgerEngine
import LedgerWire
import NIOCore

/// One connection, without I/O: it is told what came, and ``next(isWritable:)`` says what to do.
///
/// A line is accepted, which hands its request to the ledger, when there is memory for the line, its values and the
/// largest reply. Once it is answered its reply counts as it is, until the client has read it. Until there is room, the
/// line waits as it came, and the connection is not read from. ``ReplyMemory`` says why nobody waits for ever.
///
/// A long line takes all memory that it may need before the rest of it is read. So who has memory for a line waits for
/// no more: where its values or its reply take more yet, and there is none, it is answered `overloaded`.
///
/// The replies of a batch are one line, which is held until the last is there. Its requests are accepted one by one as
/// the replies before them come. One whose reply may have no place any more, while nothing of the connection is under
/// way that could make place, is answered `overloaded`, and not carried out.
///
/// What it is made of: ``ConnectionPhase`` says how far it has come, ``InputBuffer`` has what is not accepted yet,
/// ``ConnectionRoom`` takes the memory, ``Reception`` knows who asks, ``RequestRoute`` says who carries requests out,
/// ``ChangeRefusals`` which changes nobody does, ``ReplyQueue`` has what is owed to the client, and ``ReplyWriting``
/// says when that is written. ``HTTPBody`` is what is asked over HTTP.
struct ConnectionState {
    /// What the connection does next.
    enum Action {
        /// Hand these to the ledger at this place.
        /// - goesOn: whether all is answered that it was handed before.
        case submit([LedgerOperation], to: Int, goesOn: Bool)
        /// Pass these on to the node that leads the ledger at this place, in the name of a client.
        case relay([LedgerRequest], to: Int, for: String?)
        /// Have the service read its configuration again, and say what came of it by ``reloaded(_:)``.
        case reload
        /// Write what ``takeReplies(_:)`` gives, without flushing: a piece of what there is, for a client that does not
        /// read is owed the rest, and the event loop's time is not spent on it before. A flush comes behind each piece
        /// that is not the last.
        case write
        case flush
        /// Let the channel read that asked before.
        case read
        /// Look how many bytes have come and were not read, and say so by ``looked(unread:isAnswered:)``.
        /// - isAnswered: whether all that was read is answered.
        case look(isAnswered: Bool)
        /// Close our side when all is written, and the connection some time later.
        case linger
        /// Close when all is written.
        case close
    }

    /// A batch that has begun: its line counts, and the beginning of its replies is queued.
    private struct Batch {
        /// What of it was not accepted yet.
        var rest: ArraySlice<Message>
        /// Of its line, and what its values take.
        let bytes: Int
    }

    /// Told what is refused for security's sake, and the name of the token that asked.
    var noteRefusal: (SecurityRefusal, String?) -> Void {
        get { reception.noteRefusal }
        set { reception.noteRefusal = newValue }
    }

    /// What the connection may do on its event loop now, and what it did.
    var turn = ConnectionTurn()

    private let directory: LedgerDirectory
    private let limits: ServerLimits
    private let room: ConnectionRoom

    private var phase = ConnectionPhase.open(.lines)
    private var input = InputBuffer()
    private var reception: Reception
    private var route: RequestRoute
    private var refusals = ChangeRefusals()
    private var body = HTTPBody(.requests)
    private var batch: Batch?
    private var replies: ReplyQueue
    private var writing = ReplyWriting()
    /// The channel asked to read while that was not wanted.
    private var isReadHeld = false
    /// Why the server ends the connection, until that is said.
    private var lastWord: WireError?
    /// Lines that were no requests, and heads of HTTP that were refused, while nobody knew who the client is.
    private var strangerVainLines = 0

    /// - Parameters:
    ///   - info: what `info` answers on a connection of this ledger that may ask these.
    ///   - share: of the memory for replies.
    ///   - clock: nanoseconds that never go back.
    ///   - leadPlace: where the ledger at a place is led, to which requests are passed on; `nil` where no other node
    ///     ever leads one.
    ///   - figures: where requests are counted; nowhere where it is `nil`.
    ///   - seat: whether one more connection may authenticate under a name.
    init(
        tokens: TokenTable, directory: LedgerDirectory,
        info: @escaping @Sendable (_ place: Int?, _ visible: [Int]) -> ServerInfo, limits: ServerLimits,
        share: ReplyShare, clock: @escaping @Sendable () -> UInt64,
        leadPlace: (@Sendable (Int) -> LeadPlace)? = nil, figures: RequestFigures? = nil,
        seat: @escaping @Sendable (String) -> Bool
    ) {
        replies = ReplyQueue(figures: figures)
        route = RequestRoute(leadPlace: leadPlace)
        self.directory = directory
        self.limits = limits
        room = ConnectionRoom(share, limits)
        reception = Reception(
            ClientIdentity(tokens: tokens, wrongTokensMax: limits.wrongTokensMax, seat: seat), directory: directory,
            info: info, clock: clock)
    }

    /// How many requests, and bytes of their lines, are accepted and not answered.
    var inFlight: (requests: Int, bytes: Int) { (replies.requests, replies.bytes) }

    /// Who the client is; `nil` while nobody knows.
    var holder: TokenHolder? { reception.holder }

    /// Who is not known has no more to say than who it is. Over HTTP it was known who sends a body when that began.
    private var isLimited: Bool { holder == nil && !reception.isHTTP }

    private var lineBytesMax: Int {
        isLimited ? limits.strangerLineBytesMax : WireLimits.lineBytesMax
    }

    /// The number of its long line that has memory, and that the client has not ended; no other line has it again.
    var longLine: Int? { input.longLine }

    /// It has sent as many wrong tokens as it may, or as much in vain as somebody whom nobody knows.
    var isSilenced: Bool { reception.isGuessing || strangerVainLines >= limits.strangerVainLinesMax }

    /// What became of the line of the last request of HTTP that began. Its notification is given once.
    mutating func takeLineOutcome() -> HTTPBody.Outcome { body.takeOutcome(replies.lastError) }

    /// What it holds of lines that were not accepted.
    var inputBytes: Int { input.bytes }

    /// Whether the channel asked to read while that was not wanted, and not for want of a turn alone.
    var holdsReading: Bool { isReadHeld && !turn.isAwaited }

    /// Whether an answer is still to come.
    var awaitsAnswers: Bool { !replies.isEmpty }

    /// Whether all that came is answered, but for what has not ended.
    var isQuiet: Bool {
        mutating get { replies.isEmpty && !replies.hasLines && !hasLine }
    }

    /// Whether changes are refused because one before them was.
    var refusesChanges: Bool { refusals.isActive }

    /// See ``ChangeRefusals/endStretch()``.
    mutating func endRefusingStretch() -> Bool { refusals.endStretch() }

    // MARK: What came

    /// It may accept some of what came.
    mutating func beginTurn() {
        turn.begin(lines: isLimited ? limits.strangerLinesPerTurnMax : limits.linesPerTurnMax)
    }

    mutating func received(_ bytes: inout ByteBuffer) {
        refusals.noteReading()
        if phase.readsLines { input.append(&bytes) } else { turn.noteInVain() }
    }

    /// All that came together was read. (Over TLS it may have been no bytes of the client's.)
    mutating func readCompleted() { refusals.noteReading() }

    /// The client sends nothing more.
    mutating func inputClosed() { phase.inputClosed() }

    /// From now on new requests are answered `shutting_down`; what was accepted before is carried out.
    mutating func shutDown() {
        reception.isShuttingDown = true
        phase.shutDown()
    }

    /// The client came with a certificate of these names, which was verified: the first that is configured says who it
    /// is. Where none is, it has to send a token.
    /// - Parameter endsWithoutPlace: whether the connection ends where its name has no place left. Over HTTP each
    ///   request shows by itself who sends it, and is refused where that one has none.
    mutating func authenticate(byCertificate names: [String], endsWithoutPlace: Bool = true) {
        if let error = reception.authenticate(byCertificate: names), endsWithoutPlace { end(error) }
    }

    /// The tokens were replaced: the client is from now on who its token or its certificate makes it, or nobody.
    /// - Returns: whether what was asked before may be more than may be asked now.
    mutating func renewIdentity() -> Bool {
        let hasLostRights = reception.takeLostRights()
        if hasLostRights {
            route.withdraw(holder == nil ? .unauthenticated : hasMoved ? .otherLedgerNow : .lessAllowed)
        }
        return hasLostRights
    }

    /// See ``ClientIdentity/hasMoved``.
    var hasMoved: Bool { reception.hasMoved }

    /// A request of HTTP comes: its body is the next line. Nothing before it is under way.
    /// - Parameters:
    ///   - credential: what it shows; `nil` where it shows nothing.
    ///   - parent: of which trace it is.
    /// - Returns: why it is not served; `nil` where it is.
    mutating func begin(
        _ form: LineForm, from credential: Credential?, under parent: RequestSpans.Parent? = nil
    ) -> WireError? {
        body = HTTPBody(form)
        replies.parent = parent
        reception.beginRequest()
        let refusal = reception.authenticate(by: credential, &turn)
        reception.forgetFormer()
        return refusal ?? (reception.hasMoved ? .otherLedgerNow : nil)
    }

    /// A request of HTTP is refused by its head.
    mutating func noteRefusedHead() {
        turn.noteInVain()
        // Anybody may post what the App Store does.
        if holder?.isAppStore ?? true { strangerVainLines += 1 }
    }

    /// The server ends the connection, and says why: nothing that comes from now on is looked at.
    mutating func end(_ error: WireError?) {
        guard case .open = phase else { return }
        lastWord = error
        if batch == nil { sayLastWord() }
        ignoreInput()
    }

    /// Not within the replies of a batch, which are one line.
    private mutating func sayLastWord() {
        guard let error = lastWord else { return }
        lastWord = nil
        replies.append(.error(error), id: .null, bytes: 0, replyBytesMax: error.replyBytesMax)
    }

    /// The connection is cut off: what is answered and not written yet, and why nothing else is answered.
    mutating func takeLastWords(_ error: WireError) -> [UInt8] { replies.takeLastWords(error) }

    /// The batch whose answers come next, where that is traced.
    mutating func noteCommit(_ commit: CommitTrace) { replies.commit = commit }

    /// The ledger's next answers.
    mutating func answered(_ answers: [Answer]) {
        defer { replies.commit = nil }
        turn.note(answers)
        for case .failure(let fault) in answers {
            if let refusal = SecurityRefusal(fault) { noteRefusal(refusal, holder?.name) }
        }
        replies.settle(route.answered(answers, &refusals), of: ledgerName)
    }

    /// The service has read its configuration again.
    mutating func reloaded(_ report: ReloadReport) { replies.settle(relayed: [.reloaded(report)]) }

    /// The next replies of the node that leads.
    mutating func relayed(_ next: [Reply]) { replies.settle(relayed: route.replied(next, &refusals)) }

    /// So many bytes of what was written have not been read by the client.
    mutating func told(unreadBytes: Int) { replies.told(unreadBytes: unreadBytes) }

    /// The channel wants to read.
    /// - Returns: whether it may now; where not, ``Action/read`` says when.
    mutating func asksToRead(isWritable: Bool) -> Bool {
        if wantsInput(isWritable) { return true }
        isReadHeld = true
        return false
    }

    mutating func closed() {
        phase = .closed
        removeInput()
        batch = nil
        room.end()
    }

    // MARK: What to do

    /// How many answers of reads have come.
    var readsAnswered: Int { replies.reads.answered }

    /// See ``ReadsInFlight/permission(isWritable:)``.
    func readPermission(isWritable: Bool) -> LedgerSession.ReadPermission? {
        replies.reads.permission(isWritable: isWritable)
    }

    /// What is to be done now; `nil` where nothing is. Asked until then.
    mutating func next(isWritable: Bool) -> Action? {
        if refusals.needsLook(isAnswered: false) { return .look(isAnswered: false) }
        if let action = nextAction(isWritable) { return action }
        if case .closed = phase { return nil }
        room.settle(replies.memoryBytes + input.room, unread: replies.unreadBytes, of: holder?.tenant)
        return nil
    }

    /// So many bytes have come, and were not read.
    mutating func looked(unread: Int, isAnswered: Bool) {
        refusals.looked(unread: unread, unaccepted: input.bytes, isAnswered: isAnswered)
    }

    /// Whether all that came is answered, and what is left of the answers is written at once, if anything is. What
    /// comes from then on may be sent by a client that has read them.
    private mutating func writesLastAnswers(_ isWritable: Bool) -> Bool {
        writing.canWrite(isWritable) && replies.isEmpty && !hasLine
            && replies.lineBytes <= limits.replyPieceBytesMax
    }

    private mutating func nextAction(_ isWritable: Bool) -> Action? {
        switch phase {
        case .open, .ending:
            // What is answered at once makes place for what waits in the line.
            repeat {
                acceptLines(isWritable)
            } while replies.settle() && !replies.hasLines && hasLine
            if let handedOn = route.next() { return handedOn }
            if refusals.isActive, writesLastAnswers(isWritable), refusals.needsLook(isAnswered: true) {
                return .look(isAnswered: true)
            }
            switch writing.next(hasReplies: replies.hasLines, isWritable: isWritable) {
            case .write: return .write
            case .flush: return .flush
            case nil: break
            }
            if let end = end() { return end }
        case .lingering:
            if case .close = phase.end() { return .close }
        case .closed: break
        }
        guard isReadHeld, wantsInput(isWritable) else { return nil }
        isReadHeld = false
        return .read
    }

    /// Ends the connection where everything is answered and nothing more is to come.
    private mutating func end() -> Action? {
        if !replies.isEmpty || replies.hasLines || hasLine { return nil }
        switch phase.end() {
        case .close: return .close
        case .linger:
            removeInput()
            return .linger
        case nil: return nil
        }
    }

    /// Gives the replies that ``Action/write`` speaks of to `body`.
    mutating func takeReplies<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        defer { writing.wrote(hasMore: replies.hasLines) }
        return replies.take(limits.replyPieceBytesMax, body)
    }

    /// The name of the ledger that requests go to, where there are several.
    private var ledgerName: LedgerName? { route.place.flatMap { directory.name(at: $0) } }

    // MARK: Room

    /// A client that does not read its replies, or has too much in flight, is not read from.
    private func canAccept(_ isWritable: Bool) -> Bool {
        // A batch that has begun does not wait for the end of its own line.
        isWritable && replies.requests < limits.requestsInFlightMax
            && (batch != nil || replies.bytes < limits.bytesInFlightMax)
    }

    /// Takes memory for more, in the place of what its input took.
    /// - Parameter waits: whether to go on when there is room.
    private func takeRoom(_ bytes: Int, waits: Bool) -> Bool {
        room.take(bytes, beside: replies.memoryBytes, of: holder?.tenant, waits: waits)
    }

    private mutating func wantsInput(_ isWritable: Bool) -> Bool {
        switch phase {
        case .open, .ending: !turn.isAwaited && canAccept(isWritable) && !hasLine && hasInputRoom()
        case .lingering: !turn.isAwaited
        case .closed: false
        }
    }

    /// Whether more of the line at the front may be read. Where it is long, all memory that it may need is taken first.
    private mutating func hasInputRoom() -> Bool {
        if !input.needsRoom(beyond: limits.freeInputBytesMax) { return true }
        let bytes = min(body.form.longLineBytesMax(limits), room.bytesMax)
        guard takeRoom(bytes, waits: true) else { return false }
        input.give(room: bytes)
        return true
    }

    // MARK: Lines

    /// Whether there is a line, or what begins as one too long, that was not accepted as a whole.
    private var hasLine: Bool {
        mutating get { batch != nil || input.hasLine(within: lineBytesMax) }
    }

    private mutating func acceptLines(_ isWritable: Bool) {
        replies.beginAccepting()
        defer { turn.isLacking = turn.linesLeft == 0 && canAccept(isWritable) && hasLine }
        if route.isWaiting(for: replies.requests) { return }
        if replies.isEmpty { reception.forgetFormer() }
        while turn.linesLeft > 0 && canAccept(isWritable) {
            if batch != nil {
                if acceptNextOfBatch() { continue }
                return
            }
            if isSilenced { return ignoreInput() }
            switch input.front(within: lineBytesMax) {
            case .unfinished:
                // Without its end it is no line.
                if phase.isInputClosed { removeInput() }
                return
            case .tooLong:
                noteInVain()
                let error = isLimited ? WireError.lineTooLong(unauthenticated: lineBytesMax) : .lineTooLong
                replies.append(
                    .error(error), id: .null, bytes: 0, replyBytesMax: error.replyBytesMax, mark: replies.mark(nil))
                return ignoreInput()
            case .line(let range, let end): if !acceptLine(range, end: end) { return }
            }
        }
    }

    /// Accepts the line at the front, or at least begins to.
    /// - Returns: whether there was room for it; where not, it stays where it is, for its values may take more.
    private mutating func acceptLine(_ range: Range<Int>, end: Int) -> Bool {
        if reception.isHTTP {
            reception.renewIdentity()
            if holder == nil {
                refuseLine(end)
                return true
            }
        }
        if input.awaitedRoom > 0 && !takeRoom(input.awaitedRoom, waits: true) { return false }
        guard let parsed = input.parse(range, as: body.form, requestsMax: turn.linesLeft) else {
            turn.spend(turn.linesLeft)
            return false
        }
        turn.spend(parsed.requests)
        var line = parsed.line
        let isForeign = !reception.isHTTP && input.isOfAnotherProtocol(range)
        var target = Reception.Target.none
        var replyBytes = line.firstReplyBytesMax
        if case .single(let message) = line {
            target = reception.target(of: message)
            if !turns(to: target, for: message) { return false }
            replyBytes = reception.replyBytesMax(of: message)
        }
        let hasInputRoom = input.room > 0
        var bytes = end + line.valueBytes
        let needed = bytes + replyBytes
        if !takeRoom(needed, waits: !hasInputRoom) {
            guard hasInputRoom else {
                input.awaitedRoom = needed
                return false
            }
            // It has memory for which others may wait, so it waits for none.
            (line, target) = (line.failing(.overloaded), .none)
            bytes = end + line.valueBytes
        }
        input.removeFirst(end)
        refusals.noteAccepted(end)
        body.accept()
        accept(line, bytes, target)
        if isForeign { ignoreInput() }
        return true
    }

    /// The token is gone by which its sender was known when the request began: its status says so.
    private mutating func refuseLine(_ end: Int) {
        input.removeFirst(end)
        room.cancel()
        body.refuse()
        turn.countLine()
        turn.noteInVain()
    }

    private mutating func removeInput() {
        input.removeAll()
        room.cancel()
    }

    /// Nothing that follows can be read.
    private mutating func ignoreInput() {
        removeInput()
        phase.ignoreInput()
    }

    /// - Parameters:
    ///   - bytes: of the line, and what its values take.
    ///   - target: of its request, where it is a single one.
    private mutating func accept(_ line: Line, _ bytes: Int, _ target: Reception.Target) {
        switch line {
        case .single(let message):
            accept(message, for: target, bytes: bytes, reception.replyBytesMax(of: message))
        case .batch(let messages):
            // JSON-RPC 2.0 §6: "If there are no Response objects contained within the Response array as it is to be
            // sent to the client, the server MUST NOT return an empty Array and should return nothing at all."
            replies.beginBatch(isAnswered: messages.contains { $0.id != nil }, bytes: bytes)
            batch = Batch(rest: messages[...], bytes: bytes)
        case .invalid(let error):
            turn.countLine()
            noteInVain()
            replies.append(
                .error(error), id: .null, bytes: bytes, replyBytesMax: error.replyBytesMax, mark: replies.mark(nil))
        }
    }

    /// Accepts the next request of the batch, or ends it.
    /// - Returns: whether there was room for it.
    private mutating func acceptNextOfBatch() -> Bool {
        guard let message = batch?.rest.first else {
            if let batch { replies.endBatch(bytes: batch.bytes) }
            batch = nil
            sayLastWord()
            return true
        }
        let target = reception.target(of: message)
        if !turns(to: target, for: message) { return false }
        // What is not answered takes no memory behind the ledger.
        let replyBytes = message.id == nil ? 0 : reception.replyBytesMax(of: message)
        if hasPlaceInBatch(replyBytes, message) && takeRoom(replyBytes, waits: false) {
            accept(message, for: target, bytes: 0, replyBytes)
        } else if replies.requests > 0 {
            return false
        } else {
            turn.countLine()
            turn.noteInVain()
            replies.append(
                .error(.overloaded), id: message.id, bytes: 0, replyBytesMax: WireError.overloaded.replyBytesMax,
                mark: replies.mark(message))
        }
        batch?.rest.removeFirst()
        return true
    }

    /// Whether the largest replies of what is under way, and of one more request, have a place with those that the
    /// batch holds already.
    private func hasPlaceInBatch(_ replyBytes: Int, _ message: Message) -> Bool {
        if message.id == nil { return true }
        let page = message.readsPage ? Limits.pageBytesMax : 0
        return replies.batchBytesMax + replyBytes + page <= limits.batchReplyBytesMax
    }

    private mutating func noteInVain() {
        turn.noteInVain()
        if holder == nil { strangerVainLines += 1 }
    }

    private mutating func accept(_ message: Message, for target: Reception.Target, bytes: Int, _ replyBytesMax: Int) {
        turn.countLine()
        switch carryOut(message, for: target) {
        case .answered(let reply):
            replies.append(
                reply, id: message.id, bytes: bytes, replyBytesMax: replyBytesMax, mark: replies.mark(message))
        case .submitted(let isRead):
            replies.appendSubmitted(
                isRead: isRead, isInBatch: batch != nil, id: message.id, bytes: bytes, replyBytesMax: replyBytesMax,
                mark: replies.mark(message, at: route.place))
        }
    }

    /// What is done with a request when it is accepted.
    private enum Disposition {
        case answered(Reply)
        /// It is handed on, and answered later.
        case submitted(isRead: Bool)
    }

    /// Answers a request, or hands it on.
    private mutating func carryOut(_ message: Message, for target: Reception.Target) -> Disposition {
        switch message.body {
        case .failure(let error):
            noteInVain()
            return .answered(.error(error))
        case .success(let asked):
            if let reply = reception.answer(asked, for: target, &turn) { return .answered(reply) }
            switch asked.request {
            case .ping, .authenticate, .info: preconditionFailure("these are answered at once")
            case .reload:
                route.reload()
                return .submitted(isRead: false)
            case .ledger(let request): return handOn(request, of: message, asked)
            }
        }
    }

    /// Hands a request to the ledger, or to the node that leads it, unless it is refused before.
    private mutating func handOn(
        _ request: LedgerRequest, of message: Message, _ asked: Message.Asked
    ) -> Disposition {
        body.note(request)
        if refusals.refuses(message) {
            refusals.noteRefused()
            return .answered(.error(.refusedBehind))
        }
        let approver: String?
        switch reception.approver(of: request, for: ledgerName, &turn) {
        case .success(let name): approver = name
        case .failure(let refusal): return .answered(.error(refusal.error))
        }
        if route.isRelaying {
            route.relay(request)
            return .submitted(isRead: false)
        }
        var operation = LedgerOperation(request, by: holder?.name, approvedBy: approver, within: holder?.grants)
        if batch != nil { operation = operation.withoutWait }
        route.submit(request, as: operation, mayRelay: mayRelay(asked), for: holder)
        return .submitted(isRead: operation.isQuery)
    }

    /// Turns to the ledger that a request is for, or to the node that leads it.
    /// - Returns: whether it may begin; otherwise all before it has to be answered first.
    private mutating func turns(to target: Reception.Target, for message: Message) -> Bool {
        switch target {
        case .none, .refused: return true
        case .service: return route.turn(to: .service, unanswered: replies.requests)
        case .ledger(let place):
            if refusals.refuses(message) { return true }
            var isRelayed = false
            if case .success(let asked) = message.body { isRelayed = asked.method.changes && mayRelay(asked) }
            let destination = route.destination(at: place, mayRelay: isRelayed, for: holder)
            return route.turn(to: destination, unanswered: replies.requests)
        }
    }

    /// Whether another node may carry it out.
    private func mayRelay(_ asked: Message.Asked) -> Bool { asked.method.isRelayed && !reception.isDirect }
}
