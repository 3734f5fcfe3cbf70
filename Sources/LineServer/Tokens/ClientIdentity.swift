import Ledger
import LedgerEngine
import LedgerWire

/// Who the client of one connection is: whom its token or its certificate makes it, or whoever connects, where no
/// tokens are needed. Where the tokens are replaced, it is who its token or its certificate makes it then, or nobody:
/// that is looked up before each request, and when the connection is told (``ConnectionState/renewIdentity()``).
struct ClientIdentity {
    /// What becomes of who shows something.
    enum Outcome {
        case known(Identity)
        /// Nobody has this, or one wrong token too many was sent; the client is who it was.
        case unknown
        /// It is known, and no more connections may have its name; the client is who it was.
        case noSeat
        /// It is known, and may not have the ledger that it asks for; the client is who it was.
        case refused(LedgerChoice.Refusal)
    }

    /// Who it has been: some of what was asked then may not be answered yet. (Which of them asked what is under way is
    /// not remembered: the loss of one of them counts as long as anything is.)
    private struct Former {
        let credential: Credential?
        let holder: TokenHolder
    }

    /// Who has approved what it asked: some of that may not be carried out yet.
    private struct Approval {
        /// What the approver has shown.
        let credential: Credential
        let approver: TokenHolder
        /// What the client had shown that asked.
        let asker: Credential?
    }

    /// `nil` while nobody knows who it is.
    private(set) var holder: TokenHolder?
    private var former: [Former] = []
    private var approvals: [Approval] = []
    /// Whether tokens were replaced, and somebody could do more before: who the client is, has been, or who has
    /// approved what it asked. Whichever request notices that first, it holds until the connection is told.
    private var hasLostRights = false
    /// What it has shown for who it is.
    private var credential: Credential?
    /// What it has shown when the connection came about.
    private var certificate: Credential?
    /// Whom that made it last, and whether it has come to open another ledger: its names may be those of several
    /// tokens, none of which has.
    private var certified: TokenHolder?
    private var hasCertificateMoved = false
    /// The table's generation in which it was looked up last who the client is.
    private var generation: Int
    /// The table's generation when the connection was made.
    private let begun: Int
    private var wrongTokens = 0
    /// Tokens that were to approve something and were none. Over HTTP they count as long as the connection is there.
    private var wrongApprovals = 0
    private let tokens: TokenTable
    private let wrongTokensMax: Int
    /// Whether one more connection may authenticate under a name.
    private let seat: @Sendable (String) -> Bool

    init(tokens: TokenTable, wrongTokensMax: Int, seat: @escaping @Sendable (String) -> Bool) {
        self.tokens = tokens
        self.wrongTokensMax = wrongTokensMax
        self.seat = seat
        holder = tokens.holderWithoutToken
        generation = tokens.generation
        begun = generation
    }

    /// Whether what it shows has come to open another ledger since the connection was made. What it sends that names no
    /// ledger may have been meant for the former one, and is not carried out in another: the connection ends.
    var hasMoved: Bool {
        guard let holder else { return false }
        if case .certificate = credential, hasCertificateMoved { return true }
        return holder.movedAt > begun
    }

    /// It has sent as many wrong tokens as it may.
    var isGuessing: Bool { max(wrongTokens, wrongApprovals) >= wrongTokensMax }

    /// The client shows a token, or a certificate, which was verified.
    /// - Parameter refusal: why who has shown it is not let in all the same.
    mutating func authenticate(
        by credential: Credential, unless refusal: (TokenHolder) -> LedgerChoice.Refusal? = { _ in nil }
    ) -> Outcome {
        renew()
        if case .certificate = credential {
            // It may be somebody's with the next tokens.
            certificate = credential
            if holder == nil { self.credential = credential }
        }
        // Who guesses learns no more, not even within one batch.
        guard !isGuessing, let holder = tokens.holder(credential) else {
            switch credential {
            case .token, .node: wrongTokens += 1
            case .certificate, .appStore: break
            }
            return .unknown
        }
        if let refusal = refusal(holder) { return .refused(refusal) }
        // It is told that, and has no place to wait for.
        if holder.movedAt > begun {
            become(holder, by: credential)
            return .known(holder.identity)
        }
        if let name = holder.name, !seat(name) { return .noSeat }
        become(holder, by: credential)
        return .known(holder.identity)
    }

    /// The name of who approves what the client asks, by their token, which is looked up as the client's own was.
    /// Who asks is who it was when it was judged what it asks: tokens that were replaced since are noticed later
    /// (``takeLostRights()``).
    /// - Parameters:
    ///   - currency: what is moved.
    ///   - ledger: for which it is asked, where there are several.
    mutating func approver(
        by approval: String, of currency: CurrencyCode, in ledger: LedgerName?
    ) -> Result<String, SecurityRefusal> {
        guard let name = holder?.name else { return .failure(.noApproval("needs tokens, and the service has none")) }
        let shown = TokenTable.credential(approval)
        guard !isGuessing, let other = tokens.holder(shown), let approver = other.name else {
            wrongApprovals += 1
            return .failure(.unknownApproval)
        }
        if approver == name { return .failure(.noApproval("must be another's token than the one that asks")) }
        guard other.mayApprove(currency, in: ledger) else {
            return .failure(
                .noApproval("must be a token with the role finance that may move \(currency), and do more than read"))
        }
        if !approvals.contains(where: { $0.credential == shown && $0.asker == credential }) {
            approvals.append(Approval(credential: shown, approver: other, asker: credential))
        }
        return .success(approver)
    }

    /// Nothing that was asked before is under way: who asked it, and what they may do by now, is no matter.
    mutating func forgetFormer() {
        // What is asked from now on is judged by the tokens that there are.
        renew()
        hasLostRights = false
        (former, approvals) = ([], [])
    }

    /// A request of HTTP is served. So wrong tokens are those in a row: where a proxy sends requests of many clients on
    /// one connection, one of them that has a wrong token does not end it for the others.
    mutating func forgetWrongTokens() { wrongTokens = 0 }

    /// The client shows nothing, and does without what it has shown before, but for its certificate.
    /// - Returns: whether there is a place for it under the name that the certificate gives it; where not, it is who it
    ///   was.
    mutating func showNothing() -> Bool {
        renew()
        let holder = certificate.flatMap { tokens.holder($0) } ?? tokens.holderWithoutToken
        if let holder, holder.movedAt <= begun, let name = holder.name, !seat(name) { return false }
        become(holder, by: certificate)
        return true
    }

    private mutating func become(_ holder: TokenHolder?, by credential: Credential?) {
        // One of several secrets of a token may be taken away by itself. And the tokens may have been replaced since
        // they were looked at: then the same secret has another holder.
        if let before = self.holder, before !== holder || self.credential != credential,
            !former.contains(where: { $0.credential == self.credential })
        {
            former.append(Former(credential: self.credential, holder: before))
        }
        self.holder = holder
        self.credential = credential
        noteCertified()
    }

    private mutating func noteCertified() {
        guard let holder, case .certificate = credential else { return }
        if let only = holder.ledger, let certified, tokens.separatesLedgers, only != certified.ledger {
            hasCertificateMoved = true
        }
        certified = holder
    }

    /// Why the client may not ask this; `nil` where it may.
    /// - Parameter now: nanoseconds of a clock that never goes back.
    func refusal(of asked: Message.Asked, now: () -> UInt64) -> SecurityRefusal? {
        if asked.method.access == .everyone { return nil }
        guard let holder else { return .unauthenticated(asked.method) }
        return holder.refusal(of: asked, now: now)
    }

    /// Looks up anew who it is, where the tokens were replaced.
    mutating func renew() {
        let generation = tokens.generation
        if generation == self.generation { return }
        self.generation = generation
        let before = holder
        holder = credential.flatMap { tokens.holder($0) } ?? tokens.holderWithoutToken
        // Under another name it needs a place of that one.
        if let name = holder?.name, !seat(name) { holder = nil }
        noteCertified()
        if let before, before.loses(to: holder) { hasLostRights = true }
        former = former.compactMap { one in
            let now = one.credential.flatMap { tokens.holder($0) }
            if one.holder.loses(to: now) { hasLostRights = true }
            return now.map { Former(credential: one.credential, holder: $0) }
        }
        approvals = approvals.compactMap { one in
            let (now, asker) = (tokens.holder(one.credential), one.asker.flatMap { tokens.holder($0) })
            // Nobody approves their own.
            if one.approver.loses(to: now) || now?.name == asker?.name { hasLostRights = true }
            return now.map { Approval(credential: one.credential, approver: $0, asker: one.asker) }
        }
    }

    /// The connection is told that tokens were replaced. A request of it may have been first to find that out, and its
    /// client may have sent another token since: that changes nothing of what was asked before.
    /// - Returns: whether what it asked before may be more than it may ask now. Told once.
    mutating func takeLostRights() -> Bool {
        renew()
        defer { hasLostRights = false }
        return hasLostRights
    }
}
