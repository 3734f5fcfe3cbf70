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
/// A line that is longer than a few requests takes all memory that it may need before the rest of it is read, or waits
/// for that with what has come. So who has memory for a line waits for no more: where its values or its reply take more
/// yet, and there is none, it is answered `overloaded`.
///
/// Requests for one ledger begin when all are answered that were sent before for another: so all take effect in the
/// order sent, whichever ledger they are for.
///
/// The replies of a batch are one line, which is held until the last is there. Its requests are accepted one by one as
/// the replies before them come. One whose reply may have no place any more, while nothing of the connection is under
/// way that could make place, is answered `overloaded`, and not carried out.
///
/// Phases: *open*; *ending* (the server shuts down, or the client sent what no line can be read behind: nothing new is
/// carried out, everything accepted is still answered); *lingering* (all is answered and our side closed; what the
/// client still sends is read and dropped, because closing a socket with unread bytes resets it and takes replies away
/// that are on their way); *closed*.
struct ConnectionState {
    /// What the connection does next.
    enum Action {
        /// Hand these to the ledger at this place.
        case submit([LedgerOperation], to: Int)
        /// Write what ``takeReplies(_:)`` gives, without flushing.
        case write
        case flush
        /// Let the channel read that asked before.
        case read
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

    /// What the client sends.
    private enum Input {
        case lines
        /// It is not looked at: after a line too long nobody knows where the next one begins, another protocol's lines
        /// are not meant for a ledger, and who sends one wrong token after the other is not listened to.
        case ignored
        /// Nothing more comes.
        case closed
    }

    private enum Phase {
        case open(Input)
        case ending(Input)
        case lingering(Input)
        case closed
    }

    /// Told what is refused for security's sake, and the name of the token that asked.
    var noteRefusal: (SecurityRefusal, String?) -> Void = { _, _ in }

    /// What the connection may do on its event loop now, and what it did.
    var turn = ConnectionTurn()

    private let clock: @Sendable () -> UInt64
    private let directory: LedgerDirectory
    private let info: @Sendable (_ place: Int?, _ visible: [Int]) -> ServerInfo
    private let limits: ServerLimits
    private let share: ReplyShare

    private var phase = Phase.open(.lines)
    private var lines: LineSplitter
    /// What was taken for the long line at the front; 0 where that has none.
    private var inputRoom = 0
    /// How many long lines have taken room.
    private var longLines = 0
    /// What the line at the front was found to need, where there was no room for it.
    private var awaitedRoom = 0
    private var client: ClientIdentity {
        didSet { lines.lineBytesMax = lineBytesMax }
    }
    private var isShuttingDown = false
    /// The ledger that `authenticate` has named.
    private var namedLedger: LedgerName?
    /// The place of the ledger that has what is not answered yet, or had it last.
    private var place = 0
    /// The place of the ledger that the request is for that is accepted next; `nil` where it is for none.
    private var target: Int?
    private var batch: Batch?
    private var operations: [LedgerOperation] = []
    private var replies = ReplyQueue()
    /// Which of the reads in flight stand in a batch: their numbers among all that the ledger was ever handed, from 0.
    private var readsInBatches = CircularBuffer<Int>()
    private var isFlushDue = false
    /// The channel asked to read while that was not wanted.
    private var isReadHeld = false
    /// Lines that were no requests, while nobody knew who the client is.
    private var strangerVainLines = 0

    /// - Parameters:
    ///   - info: what `info` answers on a connection of this ledger that may ask these.
    ///   - share: of the memory for replies.
    ///   - clock: nanoseconds that never go back.
    ///   - seat: whether one more connection may authenticate under a name.
    init(
        tokens: TokenTable, directory: LedgerDirectory,
        info: @escaping @Sendable (_ place: Int?, _ visible: [Int]) -> ServerInfo, limits: ServerLimits,
        share: ReplyShare, clock: @escaping @Sendable () -> UInt64, seat: @escaping @Sendable (String) -> Bool
    ) {
        self.directory = directory
        self.info = info
        self.limits = limits
        self.share = share
        self.clock = clock
        client = ClientIdentity(tokens: tokens, wrongTokensMax: limits.wrongTokensMax, seat: seat)
        lines = LineSplitter(lineBytesMax: 0)
        lines.lineBytesMax = lineBytesMax
    }

    /// How many requests, and bytes of their lines, are accepted and not answered.
    var inFlight: (requests: Int, bytes: Int) { (replies.requests, replies.bytes) }

    /// Who the client is; `nil` while nobody knows.
    var holder: TokenHolder? { client.holder }

    /// Whether the client may do less than `former`, who it was before the tokens were replaced, might; or whether who
    /// else it was may.
    func mayDoLess(than former: TokenHolder) -> Bool { client.hasChanged || former.loses(to: holder) }

    /// Who is not known has no more to say than who it is.
    private var lineBytesMax: Int { holder == nil ? limits.strangerLineBytesMax : WireLimits.lineBytesMax }

    /// The number of its long line that has memory and was not accepted yet; no other line has it again.
    var longLine: Int? { inputRoom > 0 ? longLines : nil }

    /// What it holds of lines that were not accepted.
    var inputBytes: Int { lines.bytes }

    /// Whether an answer is still to come.
    var awaitsAnswers: Bool { !replies.isEmpty }

    // MARK: What came

    mutating func received(_ bytes: inout ByteBuffer) {
        switch phase {
        case .open(.lines), .ending(.lines): lines.append(&bytes)
        case .open(.ignored), .open(.closed), .ending(.ignored), .ending(.closed), .lingering, .closed:
            turn.noteInVain()
        }
    }

    /// The client sends nothing more.
    mutating func inputClosed() {
        switch phase {
        case .open: phase = .open(.closed)
        case .ending: phase = .ending(.closed)
        case .lingering: phase = .lingering(.closed)
        case .closed: return
        }
    }

    /// From now on new requests are answered `shutting_down`; what was accepted before is carried out.
    mutating func shutDown() {
        isShuttingDown = true
        if case .open(let input) = phase { phase = .ending(input) }
    }

    /// The client came with a certificate of these names, which was verified: the first that is configured says who it
    /// is. Where none is, it has to send a token.
    mutating func authenticate(byCertificate names: [String]) {
        switch client.authenticate(by: .certificate(names)) {
        case .known, .unknown: return
        case .noSeat: end(.overloaded)
        }
    }

    /// The tokens were replaced: the client is from now on who its token or its certificate makes it, or nobody.
    mutating func renewIdentity() { client.renew() }

    /// The server ends the connection, and says why: nothing that comes from now on is looked at.
    mutating func end(_ error: WireError?) {
        guard case .open = phase else { return }
        if let error { replies.append(.error(error), id: .null, bytes: 0, replyBytesMax: error.replyBytesMax) }
        ignoreInput()
    }

    /// The ledger's next answers.
    mutating func answered(_ answers: [Answer]) {
        for case .failure(let fault) in answers {
            if let refusal = SecurityRefusal(fault) { noteRefusal(refusal, holder?.name) }
        }
        replies.settle(answers, of: directory.name(at: place))
        while let first = readsInBatches.first, first < replies.readsAnswered { readsInBatches.removeFirst() }
    }

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
        share.end()
    }

    // MARK: What to do

    /// How many answers of reads have come.
    var readsAnswered: Int { replies.readsAnswered }

    /// What may become of the read that is next; `nil` where the ledger has none. A client that does not read its
    /// replies gets no further page. A read that stands in a batch waits for nobody's memory, for others may wait for
    /// what the batch holds: that is known from the beginning, also while the batch is behind others.
    func readPermission(isWritable: Bool) -> LedgerSession.ReadPermission? {
        if replies.reads == 0 { return nil }
        if readsInBatches.first == replies.readsAnswered { return .readNow }
        return isWritable ? .read : .wait
    }

    /// What is to be done now; `nil` where nothing is. Asked until then.
    mutating func next(isWritable: Bool) -> Action? {
        if let action = nextAction(isWritable) { return action }
        if case .closed = phase { return nil }
        share.settle(replies.memoryBytes + inputRoom, unread: replies.unreadBytes, of: holder?.tenant)
        return nil
    }

    private mutating func nextAction(_ isWritable: Bool) -> Action? {
        switch phase {
        case .open, .ending:
            // What is answered at once makes place for what waits in the line.
            repeat {
                acceptLines(isWritable)
            } while replies.settle() && !replies.hasLines && hasLine
            if !operations.isEmpty {
                defer { operations = [] }
                return .submit(operations, to: place)
            }
            if replies.hasLines {
                isFlushDue = true
                return .write
            }
            if isFlushDue {
                isFlushDue = false
                return .flush
            }
            if let end = end() { return end }
        case .lingering(.closed):
            phase = .closed
            return .close
        case .lingering, .closed: break
        }
        guard isReadHeld, wantsInput(isWritable) else { return nil }
        isReadHeld = false
        return .read
    }

    /// Ends the connection where everything is answered and nothing more is to come.
    private mutating func end() -> Action? {
        if !replies.isEmpty || hasLine { return nil }
        switch phase {
        case .open(.closed), .ending(.closed):
            phase = .closed
            return .close
        case .ending(.lines), .ending(.ignored):
            removeInput()
            phase = .lingering(.ignored)
            return .linger
        case .open(.lines), .open(.ignored), .lingering, .closed: return nil
        }
    }

    /// Gives the replies that ``Action/write`` speaks of to `body`.
    mutating func takeReplies<Result>(_ body: ([UInt8]) -> Result) -> Result { replies.take(body) }

    // MARK: Room

    /// A client that does not read its replies, or has too much in flight, is not read from.
    private func canAccept(_ isWritable: Bool) -> Bool {
        // A batch that has begun does not wait for the end of its own line.
        isWritable && replies.requests < limits.requestsInFlightMax
            && (batch != nil || replies.bytes < limits.bytesInFlightMax)
    }

    /// No more than it always gets where nobody else has anything.
    private var ownBytesMax: Int { min(limits.connectionReplyBytesMax, limits.replyBytesMax / 8) }

    /// Takes memory for more, in the place of what its input took, where the connection and all together may have it.
    /// - Parameter waits: whether to go on when there is room.
    private func takeRoom(_ bytes: Int, waits: Bool) -> Bool {
        let own = replies.memoryBytes
        // What is larger than may be is taken alone. It waits for its own then, and for nobody else.
        if own > 0 && own + bytes > ownBytesMax {
            share.cancel()
            return false
        }
        return share.reserve(min(own + bytes, ownBytesMax), waits: waits)
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
        if inputRoom > 0 || lines.bytes < limits.freeInputBytesMax { return true }
        let room = min(limits.longLineBytesMax, ownBytesMax)
        guard takeRoom(room, waits: true) else { return false }
        inputRoom = room
        longLines += 1
        return true
    }

    // MARK: Lines

    /// Whether there is a line, or what begins as one too long, that was not accepted as a whole.
    private var hasLine: Bool {
        mutating get { batch != nil || lines.hasLine() }
    }

    private mutating func acceptLines(_ isWritable: Bool) {
        defer { turn.isLacking = turn.linesLeft == 0 && canAccept(isWritable) && hasLine }
        while turn.linesLeft > 0 && canAccept(isWritable) {
            if batch != nil {
                if acceptNextOfBatch() { continue }
                return
            }
            if client.isGuessing || strangerVainLines >= limits.strangerVainLinesMax { return ignoreInput() }
            switch lines.front() {
            case .unfinished:
                // Without its end it is no line.
                if isInputClosed { removeInput() }
                return
            case .tooLong:
                noteInVain()
                replies.append(
                    .error(.lineTooLong), id: .null, bytes: 0, replyBytesMax: WireError.lineTooLong.replyBytesMax)
                return ignoreInput()
            case .line(let range, let end):
                if !acceptLine(range, end: end) { return }
            }
        }
    }

    /// Accepts the line at the front, or at least begins to.
    /// - Returns: whether there was room for it; where not, it stays where it is, for its values may take more.
    private mutating func acceptLine(_ range: Range<Int>, end: Int) -> Bool {
        if awaitedRoom > 0 && !takeRoom(awaitedRoom, waits: true) { return false }
        var (line, isForeign) = lines.read(range) { bytes in
            (LineParser.parse(bytes), ConnectionState.isAnotherProtocol(bytes))
        }
        if case .single(let message) = line, !turnsToLedger(of: message) { return false }
        let hasInputRoom = inputRoom > 0
        var bytes = end + line.valueBytes
        let room = bytes + line.firstReplyBytesMax
        if !takeRoom(room, waits: !hasInputRoom) {
            guard hasInputRoom else {
                awaitedRoom = room
                return false
            }
            // It has memory for which others may wait, so it waits for none.
            line = line.failing(.overloaded)
            bytes = end + line.valueBytes
        }
        removeFirstLine(end)
        accept(line, bytes)
        if isForeign { ignoreInput() }
        return true
    }

    private mutating func removeFirstLine(_ end: Int) {
        lines.removeFirst(end)
        inputRoom = 0
        awaitedRoom = 0
    }

    private mutating func removeInput() {
        removeFirstLine(lines.bytes)
        share.cancel()
    }

    private var isInputClosed: Bool {
        switch phase {
        case .open(.closed), .ending(.closed), .lingering(.closed), .closed: true
        case .open(.lines), .open(.ignored), .ending(.lines), .ending(.ignored), .lingering: false
        }
    }

    /// Nothing that follows can be read.
    private mutating func ignoreInput() {
        removeInput()
        switch phase {
        case .open(.closed), .ending(.closed): phase = .ending(.closed)
        case .open, .ending: phase = .ending(.ignored)
        case .lingering, .closed: return
        }
    }

    /// A line that begins as HTTP's do ("POST / HTTP/1.1"), and no JSON text: what follows is not meant for a ledger.
    /// Without this the body of a request that a web page sends to this machine would be carried out.
    private static func isAnotherProtocol(_ line: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let first = line.first else { return false }
        return (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first)
    }

    /// - Parameter bytes: of the line, and what its values take.
    private mutating func accept(_ line: Line, _ bytes: Int) {
        switch line {
        case .single(let message): accept(message, bytes: bytes, message.replyBytesMax)
        case .batch(let messages):
            // JSON-RPC 2.0 §6: "If there are no Response objects contained within the Response array as it is to be
            // sent to the client, the server MUST NOT return an empty Array and should return nothing at all."
            replies.beginBatch(isAnswered: messages.contains { $0.id != nil }, bytes: bytes)
            batch = Batch(rest: messages[...], bytes: bytes)
        case .invalid(let error):
            turn.countLine()
            noteInVain()
            replies.append(.error(error), id: .null, bytes: bytes, replyBytesMax: error.replyBytesMax)
        }
    }

    /// Accepts the next request of the batch, or ends it.
    /// - Returns: whether there was room for it.
    private mutating func acceptNextOfBatch() -> Bool {
        guard let message = batch?.rest.first else {
            if let batch { replies.endBatch(bytes: batch.bytes) }
            batch = nil
            return true
        }
        if !turnsToLedger(of: message) { return false }
        // What is not answered takes no memory behind the ledger.
        let replyBytes = message.id == nil ? 0 : message.replyBytesMax
        if hasPlaceInBatch(replyBytes, message) && takeRoom(replyBytes, waits: false) {
            accept(message, bytes: 0, replyBytes)
        } else if replies.requests > 0 {
            return false
        } else {
            replies.append(
                .error(.overloaded), id: message.id, bytes: 0, replyBytesMax: WireError.overloaded.replyBytesMax)
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

    private mutating func accept(_ message: Message, bytes: Int, _ replyBytesMax: Int) {
        turn.countLine()
        switch message.body {
        case .failure(let error):
            noteInVain()
            replies.append(.error(error), id: message.id, bytes: bytes, replyBytesMax: replyBytesMax)
        case .success(let asked):
            if let reply = answer(asked) {
                replies.append(reply, id: message.id, bytes: bytes, replyBytesMax: replyBytesMax)
            } else if case .ledger(let request) = asked.request {
                var operation = LedgerOperation(request, by: holder?.name, within: holder?.grants)
                if batch != nil {
                    operation = operation.withoutWait
                    if operation.isQuery { readsInBatches.append(replies.readsAnswered + replies.reads) }
                }
                operations.append(operation)
                replies.appendSubmitted(
                    isRead: operation.isQuery, id: message.id, bytes: bytes, replyBytesMax: replyBytesMax)
            }
        }
    }

    /// Answers what concerns only the connection, and what its token does not allow; `nil` for what the ledger answers.
    /// Who the client is changes in the order sent.
    private mutating func answer(_ asked: Message.Asked) -> Reply? {
        if let refusal = client.refusal(of: asked, now: clock) {
            // Who asks too much is told so, and its limit is its own.
            if case .tooManyRequests = refusal {} else { turn.noteInVain() }
            noteRefusal(refusal, holder?.name)
            return .error(refusal.error)
        }
        switch asked.request {
        case .ping: return .pong
        case .authenticate(let token): return authenticate(token, naming: asked.ledger)
        case .info: return answerToInfo(asked)
        case .ledger(let request):
            switch place(of: request, naming: asked.ledger) {
            case .failure(let refusal): return refuse(refusal)
            case .success(let known):
                // Where the tokens were replaced since it was looked up, it would go to another ledger's queue.
                if directory.count > 1 && (target == nil || target != known ?? target) { return .error(.overloaded) }
            }
            return isShuttingDown ? .error(.shuttingDown) : nil
        }
    }

    private mutating func authenticate(_ token: String?, naming ledger: LedgerName?) -> Reply {
        guard let token else {
            guard let holder else { return .error(.unauthenticated) }
            return name(ledger) ?? .authenticated(holder.identity)
        }
        switch client.authenticate(by: TokenTable.credential(token)) {
        case .known(let identity): return name(ledger) ?? .authenticated(identity)
        case .noSeat: return .error(.overloaded)
        case .unknown:
            turn.noteInVain()
            noteRefusal(.unknownToken, nil)
            return .error(.unknownToken)
        }
    }
}

// MARK: Which ledger

extension ConnectionState {
    /// Why a request is for no ledger.
    private enum NoLedger: Error {
        case required
        case unknown(LedgerName)
        /// The token is of another one.
        case other(LedgerName)
    }

    /// Turns to the ledger that a request is for, where it may be asked.
    /// - Returns: whether it may begin; otherwise all before it has to be answered first.
    private mutating func turnsToLedger(of message: Message) -> Bool {
        if directory.count == 1 { return true }
        // The tokens may have been replaced since the request before.
        client.renew()
        target = nil
        guard case .success(let asked) = message.body, case .ledger(let request) = asked.request,
            case .success(let known) = place(of: request, naming: asked.ledger)
        else { return true }
        let target = known ?? request.signed.map { directory.place(claimedBy: $0) } ?? place
        if target != place && replies.requests > 0 { return false }
        place = target
        self.target = target
        return true
    }

    /// The place of the ledger that a request is for: the one that it names, or its token or its connection has; `nil`
    /// where its JWS says it.
    private func place(of request: LedgerRequest, naming ledger: LedgerName?) -> Result<Int?, NoLedger> {
        if let ledger { return place(of: ledger).map { $0 } }
        if directory.count == 1 { return .success(0) }
        if let own = holder?.ledger { return place(of: own).map { $0 } }
        if request.signed != nil { return .success(nil) }
        guard let namedLedger else { return .failure(.required) }
        return place(of: namedLedger).map { $0 }
    }

    private func place(of ledger: LedgerName) -> Result<Int, NoLedger> {
        guard let place = directory.place(of: ledger) else { return .failure(.unknown(ledger)) }
        if let own = holder?.ledger, own != ledger { return .failure(.other(ledger)) }
        return .success(place)
    }

    private mutating func refuse(_ refusal: NoLedger) -> Reply {
        turn.noteInVain()
        switch refusal {
        case .required: return .error(.ledgerRequired(directory.allNames))
        case .unknown(let ledger): return .error(.unknownLedger(ledger))
        case .other(let ledger):
            noteRefusal(.otherLedger(ledger), holder?.name)
            return .error(.otherLedger(ledger))
        }
    }

    /// Has the connection's requests go to a ledger from now on, where they name none.
    /// - Returns: why not.
    private mutating func name(_ ledger: LedgerName?) -> Reply? {
        guard let ledger else { return nil }
        if case .failure(let refusal) = place(of: ledger) { return refuse(refusal) }
        namedLedger = ledger
        return nil
    }

    private mutating func answerToInfo(_ asked: Message.Asked) -> Reply {
        let visible = directory.visible(to: holder?.ledger)
        guard let ledger = asked.ledger ?? holder?.ledger ?? namedLedger else { return .info(info(nil, visible)) }
        switch place(of: ledger) {
        case .success(let place): return .info(info(place, visible))
        case .failure(let refusal): return refuse(refusal)
        }
    }
}

extension LedgerRequest {
    /// The JWS that it carries.
    fileprivate var signed: SignedObject? {
        switch self {
        case .credit(let credit): .transaction(credit.signedTransaction)
        case .notify(let notify): .notification(notify.signedPayload)
        case .keyed, .atomic, .link, .consent, .consumption, .forget, .balance, .history, .report, .journal, .purchase,
            .find, .blocks, .promote, .head:
            nil
        }
    }
}
