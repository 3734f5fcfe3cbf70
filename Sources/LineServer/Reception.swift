import Ledger
import LedgerWire

/// Receives the requests of one connection: who asks, whether it may, and which ledger a request is for. What needs no
/// ledger it answers itself.
struct Reception {
    /// Who carries a request out.
    enum Target {
        /// None: it is answered here.
        case none
        case ledger(at: Int)
        /// The service itself, which takes a while to answer.
        case service
        case refused(LedgerChoice.Refusal)
    }

    /// Told what is refused for security's sake, and the name of the token that asked.
    var noteRefusal: (SecurityRefusal, String?) -> Void = { _, _ in }
    /// Whether nothing new is carried out.
    var isShuttingDown = false
    /// Whether its requests come by HTTP.
    private(set) var isHTTP = false
    /// Whether it is told which node leads, and nothing is passed on.
    private(set) var isDirect = false

    private let clock: @Sendable () -> UInt64
    private let directory: LedgerDirectory
    private let info: @Sendable (_ place: Int?, _ visible: [Int]) -> ServerInfo
    private var choice: LedgerChoice
    private var client: ClientIdentity

    /// - Parameters:
    ///   - info: what `info` answers on a connection of this ledger that may ask these.
    ///   - clock: nanoseconds that never go back.
    init(
        _ client: ClientIdentity, directory: LedgerDirectory,
        info: @escaping @Sendable (_ place: Int?, _ visible: [Int]) -> ServerInfo,
        clock: @escaping @Sendable () -> UInt64
    ) {
        self.client = client
        self.directory = directory
        self.info = info
        self.clock = clock
        choice = LedgerChoice(among: directory)
    }

    // MARK: Who asks

    /// Who the client is; `nil` while nobody knows.
    var holder: TokenHolder? { client.holder }

    /// It has sent as many wrong tokens as it may.
    var isGuessing: Bool { client.isGuessing }

    /// See ``ClientIdentity/hasMoved``.
    var hasMoved: Bool { client.hasMoved }

    /// Looks up anew who it is, where the tokens were replaced.
    mutating func renewIdentity() { client.renew() }

    /// See ``ClientIdentity/takeLostRights()``.
    mutating func takeLostRights() -> Bool { client.takeLostRights() }

    /// The client came with a certificate of these names, which was verified.
    /// - Returns: why it is not served; `nil` where it is, if only as somebody whom nobody knows yet.
    mutating func authenticate(byCertificate names: [String]) -> WireError? {
        switch client.authenticate(by: .certificate(names)) {
        case .known, .unknown, .refused: nil
        case .noSeat: .overloaded
        }
    }

    /// From now on it is who shows this, or its certificate where it shows nothing.
    /// - Returns: why it is not served; `nil` where it is.
    mutating func authenticate(by credential: Credential?, _ turn: inout ConnectionTurn) -> WireError? {
        guard let credential else {
            if !client.showNothing() { return .overloaded }
            if holder == nil { return .unauthenticated }
            client.forgetWrongTokens()
            return nil
        }
        switch client.authenticate(by: credential) {
        case .known:
            // That anybody may post.
            if case .appStore = credential { return nil }
            client.forgetWrongTokens()
            return nil
        case .noSeat: return .overloaded
        case .unknown, .refused: return refuseToken(&turn)
        }
    }

    /// A request of HTTP begins, which may be another client's: what was said before holds no more.
    mutating func beginRequest() {
        (isHTTP, isDirect) = (true, false)
        choice = LedgerChoice(among: directory)
    }

    /// See ``ClientIdentity/forgetFormer()``.
    mutating func forgetFormer() { client.forgetFormer() }

    // MARK: What it asks

    /// Looks who the client is now, for the tokens may have been replaced since the request before, and which ledger
    /// its request is for.
    mutating func target(of message: Message) -> Target {
        client.renew()
        guard case .success(let asked) = message.body else { return .none }
        if case .reload = asked.request { return .service }
        guard case .ledger(let request) = asked.request else { return .none }
        switch choice.place(of: request, naming: asked.ledger, by: holder) {
        case .success(let place): return .ledger(at: place)
        case .failure(let refusal): return .refused(refusal)
        }
    }

    /// Answers what concerns only the connection, and what its token does not allow; `nil` for what the ledger answers.
    /// Who the client is changes in the order sent.
    mutating func answer(_ asked: Message.Asked, for target: Target, _ turn: inout ConnectionTurn) -> Reply? {
        if client.hasMoved, asked.ledger == nil, case .ledger = asked.request { return .error(.otherLedgerNow) }
        if let refusal = client.refusal(of: asked, now: clock) {
            // Who asks too much is told so, and its limit is its own.
            if case .tooManyRequests = refusal {} else { turn.noteInVain() }
            noteRefusal(refusal, holder?.name)
            return .error(refusal.error)
        }
        if isHTTP, asked.request.concernsStandbys {
            turn.noteInVain()
            return .error(.notOverHTTP(asked.method))
        }
        switch asked.request {
        case .ping: return .pong
        case .authenticate(let authentication): return authenticate(authentication, naming: asked.ledger, &turn)
        case .info:
            let visible = directory.visible(to: holder?.ledger)
            switch choice.place(naming: asked.ledger, by: holder) {
            case .success(let place): return .info(info(place, visible))
            case .failure(let refusal): return refuse(refusal, &turn)
            }
        case .ledger:
            if case .refused(let refusal) = target { return refuse(refusal, &turn) }
            return isShuttingDown ? .error(.shuttingDown) : nil
        case .reload:
            // It concerns all ledgers.
            if holder?.ledger != nil {
                turn.noteInVain()
                noteRefusal(.ofOneLedger(asked.method), holder?.name)
                return .error(.ofOneLedger(asked.method))
            }
            return isShuttingDown ? .error(.shuttingDown) : nil
        }
    }

    /// Who approves a request, by name; `nil` where it needs no approval.
    mutating func approver(
        of request: LedgerRequest, for ledger: LedgerName?, _ turn: inout ConnectionTurn
    ) -> Result<String?, SecurityRefusal> {
        guard case .adjust(let approved) = request else { return .success(nil) }
        let approver = client.approver(
            by: approved.approval, of: approved.adjustment.currency, in: ledger)
        if case .failure(let refusal) = approver {
            turn.noteInVain()
            noteRefusal(refusal, holder?.name)
        }
        return approver.map { $0 }
    }

    /// The largest reply, but for the page of a read.
    func replyBytesMax(of message: Message) -> Int {
        guard directory.count > 1, case .success(let asked) = message.body, case .info = asked.request else {
            return message.replyBytesMax
        }
        // It tells of all ledgers, and of the connection's once more.
        return message.replyBytesMax * (directory.count + 1)
    }

    /// The token and the ledger hold together, or neither does.
    private mutating func authenticate(
        _ authentication: Authentication, naming ledger: LedgerName?, _ turn: inout ConnectionTurn
    ) -> Reply {
        guard let credential = TokenTable.credential(authentication) else {
            guard let holder else { return .error(.unauthenticated) }
            if let refusal = choice.refusal(of: ledger, for: holder) { return refuse(refusal, &turn) }
            choice.name(ledger, for: holder)
            isDirect = authentication.isDirect
            return .authenticated(holder.identity)
        }
        switch client.authenticate(
            by: credential, unless: { [choice] in choice.refusal(of: ledger, for: $0) })
        {
        case .known(let identity):
            choice.name(ledger, for: holder)
            isDirect = authentication.isDirect
            return .authenticated(identity)
        case .noSeat: return .error(.overloaded)
        case .refused(let refusal): return refuse(refusal, &turn)
        case .unknown: return .error(refuseToken(&turn))
        }
    }

    private func refuseToken(_ turn: inout ConnectionTurn) -> WireError {
        turn.noteInVain()
        noteRefusal(.unknownToken, nil)
        return .unknownToken
    }

    private func refuse(_ refusal: LedgerChoice.Refusal, _ turn: inout ConnectionTurn) -> Reply {
        turn.noteInVain()
        switch refusal {
        case .required: return .error(.ledgerRequired(directory.allNames))
        case .unknown(let ledger): return .error(.unknownLedger(ledger))
        case .other(let ledger):
            noteRefusal(.otherLedger(ledger), holder?.name)
            return .error(.otherLedger(ledger))
        }
    }
}

extension WireError {
    /// Who asked may do less, or whoever approved it. Sent again it is judged by that.
    static let lessAllowed = WireError(
        .overloaded, "the token, or its approver's, may do less since this was sent, and it was not carried out")

    /// What was sent, and is not answered otherwise, is not carried out. No client repeats it by itself: on another
    /// connection it would be for the ledger that the token opens now.
    static let otherLedgerNow = WireError(
        .ledgerRequired,
        """
        the token opens another ledger since this connection was made, and this was not carried out: \
        connect again, and send it only if it is meant for the ledger that the token opens now
        """)

    /// The same where the connection is cut off, and what was begun may have been carried out. Nobody sends it again to
    /// learn that: it would be carried out in the other ledger.
    static var inOtherLedger: WireError {
        var error = WireError(
            .outcomeUnknown,
            """
            the token opens another ledger since this connection was made: what is not answered may have been carried \
            out in the former one, and is not sent again
            """)
        error.retryable = false
        return error
    }
}

extension Request {
    /// Whether it is one by which standbys follow their leader, or take its place.
    fileprivate var concernsStandbys: Bool {
        switch self {
        case .ledger(.blocks), .ledger(.promote), .ledger(.stepDown): true
        case .ping, .authenticate, .info, .reload, .ledger: false
        }
    }
}
