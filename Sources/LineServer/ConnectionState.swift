import Ledger
import LedgerEngine
import LedgerWire
import NIOCore

/// One connection, without I/O: it is told what came, and ``next(isWritable:)`` says what to do.
///
/// Phases: *open*; *ending* (the server shuts down, or the client sent what no line can be read behind: nothing new is
/// carried out, everything accepted is still answered); *lingering* (all is answered and our side closed; what the
/// client still sends is read and dropped, because closing a socket with unread bytes resets it and takes replies away
/// that are on their way); *closed*.
struct ConnectionState {
    /// What the connection does next.
    enum Action {
        /// Hand these to the ledger.
        case submit([LedgerOperation])
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

    /// A reply buffer that is kept for the next turn; one grown larger by a report is given back.
    private static let keptReplyBytesMax = 64 << 10

    /// Told what is refused for security's sake, and the name of the token that asked.
    var noteRefusal: (SecurityRefusal, String?) -> Void = { _, _ in }

    private let tokens: TokenTable
    private let clock: @Sendable () -> UInt64
    private let info: @Sendable () -> ServerInfo
    private let limits: ServerLimits
    /// Whether one more connection may authenticate under a name.
    private let seat: @Sendable (String) -> Bool

    private var phase = Phase.open(.lines)
    private var lines = LineSplitter(lineBytesMax: WireLimits.lineBytesMax)
    /// Who the client is, once it has authenticated, by which digest, and as of which of the table's generations.
    private var holder: TokenHolder?
    private var digest: Digest?
    private var generation: Int
    private var wrongTokens = 0
    /// It has sent as many wrong tokens as it may.
    private var isGuessing: Bool { wrongTokens >= limits.wrongTokensMax }
    private var isShuttingDown = false
    private var operations: [LedgerOperation] = []
    private var replies = ReplyQueue()
    private var writer = ReplyWriter()
    private var isFlushDue = false
    /// The channel asked to read while that was not wanted.
    private var isReadHeld = false

    init(
        tokens: TokenTable, info: @escaping @Sendable () -> ServerInfo, limits: ServerLimits,
        clock: @escaping @Sendable () -> UInt64, seat: @escaping @Sendable (String) -> Bool
    ) {
        self.tokens = tokens
        self.info = info
        self.limits = limits
        self.clock = clock
        self.seat = seat
        holder = tokens.holderWithoutToken
        generation = tokens.generation
    }

    /// How many requests, and bytes of their lines, are accepted and not answered.
    var inFlight: (requests: Int, bytes: Int) { (replies.requests, replies.bytes) }

    /// Whether it may ask anything of the ledger.
    var isAuthenticated: Bool { holder != nil }

    /// Whether an answer is still to come.
    var awaitsAnswers: Bool { !replies.isEmpty }

    // MARK: What came

    mutating func received(_ bytes: inout ByteBuffer) {
        switch phase {
        case .open(.lines), .ending(.lines): lines.append(&bytes)
        case .open(.ignored), .open(.closed), .ending(.ignored), .ending(.closed), .lingering, .closed: return
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

    /// The server ends the connection, and says why: nothing that comes from now on is looked at.
    mutating func end(_ error: WireError?) {
        guard case .open = phase else { return }
        if let error { replies.append(.error(error), id: .null, bytes: 0) }
        ignoreInput()
    }

    /// The ledger's next answers.
    mutating func answered(_ answers: [Answer]) {
        for case .failure(let fault) in answers {
            if let refusal = SecurityRefusal(fault) { noteRefusal(refusal, holder?.name) }
        }
        replies.settle(answers, into: &writer)
    }

    /// The channel wants to read.
    /// - Returns: whether it may now; where not, ``Action/read`` says when.
    mutating func asksToRead(isWritable: Bool) -> Bool {
        if wantsInput(isWritable) { return true }
        isReadHeld = true
        return false
    }

    mutating func closed() {
        phase = .closed
        lines.removeAll()
    }

    // MARK: What to do

    /// How many answers of reads have come.
    var readsAnswered: Int { replies.readsAnswered }

    /// What may become of the read that is next; `nil` where the ledger has none. A client that does not read its
    /// replies gets no further page, and a batch, whose replies wait for each other, no more than the server is willing
    /// to hold.
    func readPermission(isWritable: Bool) -> LedgerSession.ReadPermission? {
        if replies.reads == 0 { return nil }
        if replies.isInBatch && writer.bytes.count > limits.batchReplyBytesMax { return .refuse }
        return isWritable ? .read : .wait
    }

    /// What is to be done now; `nil` where nothing is. Asked until then.
    mutating func next(isWritable: Bool) -> Action? {
        switch phase {
        case .open, .ending:
            acceptLines(isWritable)
            replies.settle(into: &writer)
            if !operations.isEmpty {
                defer { operations = [] }
                return .submit(operations)
            }
            if !writer.bytes.isEmpty && !replies.isInBatch {
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
        guard replies.isEmpty, !lines.hasLine() else { return nil }
        switch phase {
        case .open(.closed), .ending(.closed):
            phase = .closed
            return .close
        case .ending(.lines), .ending(.ignored):
            phase = .lingering(.ignored)
            return .linger
        case .open(.lines), .open(.ignored), .lingering, .closed: return nil
        }
    }

    /// Gives the replies that ``Action/write`` speaks of to `body`.
    mutating func takeReplies<Result>(_ body: ([UInt8]) -> Result) -> Result {
        defer {
            if writer.bytes.capacity > ConnectionState.keptReplyBytesMax {
                writer = ReplyWriter()
            } else {
                writer.removeAll()
            }
        }
        return body(writer.bytes)
    }

    /// A client that does not read its replies, or has too much in flight, is not read from.
    private func canAccept(_ isWritable: Bool) -> Bool {
        isWritable && replies.requests < limits.requestsInFlightMax && replies.bytes < limits.bytesInFlightMax
    }

    private mutating func wantsInput(_ isWritable: Bool) -> Bool {
        switch phase {
        case .open, .ending: canAccept(isWritable) && !lines.hasLine()
        case .lingering: true
        case .closed: false
        }
    }

    // MARK: Lines

    private mutating func acceptLines(_ isWritable: Bool) {
        while canAccept(isWritable) {
            switch lines.front() {
            case .unfinished:
                return
            case .tooLong:
                replies.append(.error(.lineTooLong), id: .null, bytes: 0)
                return ignoreInput()
            case .line(let range, let end):
                let (line, isForeign) = lines.take(range, end: end) { bytes in
                    (LineParser.parse(bytes), ConnectionState.isAnotherProtocol(bytes))
                }
                accept(line, bytes: end)
                if isForeign || isGuessing { return ignoreInput() }
            }
        }
    }

    /// Nothing that follows can be read.
    private mutating func ignoreInput() {
        lines.removeAll()
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

    private mutating func accept(_ line: Line, bytes: Int) {
        switch line {
        case .single(let message):
            accept(message, bytes: bytes)
        case .batch(let messages):
            // JSON-RPC 2.0 §6: "If there are no Response objects contained within the Response array as it is to be
            // sent to the client, the server MUST NOT return an empty Array and should return nothing at all."
            if messages.contains(where: { $0.id != nil }) { replies.beginBatch() }
            for message in messages { accept(message, bytes: 0) }
            replies.endBatch(bytes: bytes)
        case .invalid(let error):
            replies.append(.error(error), id: .null, bytes: bytes)
        }
    }

    private mutating func accept(_ message: Message, bytes: Int) {
        switch message.body {
        case .failure(let error):
            replies.append(.error(error), id: message.id, bytes: bytes)
        case .success(let asked):
            if let reply = answer(asked) {
                replies.append(reply, id: message.id, bytes: bytes)
            } else if case .ledger(let request) = asked.request {
                let operation = LedgerOperation(request, by: holder?.name, within: holder?.grants)
                operations.append(operation)
                replies.appendSubmitted(isRead: operation.isQuery, id: message.id, bytes: bytes)
            }
        }
    }

    /// Answers what concerns only the connection, and what its token does not allow; `nil` for what the ledger answers.
    /// Who the client is changes in the order sent.
    private mutating func answer(_ asked: Message.Asked) -> Reply? {
        if let refusal = refusal(of: asked) {
            noteRefusal(refusal, holder?.name)
            return .error(refusal.error)
        }
        switch asked.request {
        case .ping: return .pong
        case .authenticate(let token): return authenticate(token)
        case .info: return .info(info())
        case .ledger: return isShuttingDown ? .error(.shuttingDown) : nil
        }
    }

    private mutating func authenticate(_ token: String) -> Reply {
        guard let (holder, digest) = tokens.holder(of: token) else {
            noteRefusal(.unknownToken, nil)
            wrongTokens += 1
            return .error(.unknownToken)
        }
        if let name = holder.name, !seat(name) { return .error(.overloaded) }
        self.holder = holder
        self.digest = digest
        return .authenticated(holder.identity)
    }

    /// Why the client may not ask this; `nil` where it may.
    private mutating func refusal(of asked: Message.Asked) -> SecurityRefusal? {
        renewHolder()
        if asked.method.access == .everyone { return nil }
        guard let holder else { return .unauthenticated(asked.method) }
        return holder.refusal(of: asked, now: clock)
    }

    /// Where the tokens were replaced, the client is who its token makes it now, or nobody.
    private mutating func renewHolder() {
        let generation = tokens.generation
        if generation == self.generation { return }
        self.generation = generation
        holder = digest.flatMap { tokens.holder(of: $0) } ?? tokens.holderWithoutToken
    }
}
