import NIOCore

/// Decides what becomes of one call after each attempt. Time and chance are passed in.
struct Retry {
    enum Step {
        case finish(Result<[UInt8], any Error>)
        case again(afterMilliseconds: Int64)
    }

    let policy: RetryPolicy
    /// Whether it may be sent again where nobody knows whether it was carried out.
    let isRepeatable: Bool
    /// Whether a node that does not lead says where the request is to be sent next.
    let followsLeader: Bool
    /// When the call's timeout is over.
    let deadline: NIODeadline
    private(set) var attempts = 0
    /// An attempt was sent and not answered, or answered `outcome_unknown`.
    private(set) var mayHaveBeenCarriedOut = false
    /// The last `outcome_unknown` that the server answered.
    private var unknown: WireError?

    init(policy: RetryPolicy, isRepeatable: Bool, followsLeader: Bool = false, deadline: NIODeadline) {
        self.followsLeader = followsLeader
        self.policy = policy
        self.isRepeatable = isRepeatable
        self.deadline = deadline
    }

    /// - Parameter isLast: whether it is not sent again, whatever became of it.
    mutating func step(
        after end: AttemptEnd, isLast: Bool = false, now: NIODeadline, jitter: (Int64) -> Int64
    ) -> Step {
        attempts += 1
        switch end {
        case .answered(.success(let result)): return .finish(.success(result))
        case .answered(.failure(let error)):
            if error.isOutcomeUnknown {
                mayHaveBeenCarriedOut = true
                unknown = error
                guard isRepeatable else { return fail(error) }
            }
            guard error.isOfTheMoment || followsLeader && error.isNotLeader else { return fail(error) }
            // Every other error means that nothing was changed: the request may be sent again whatever it is.
            let wait = jitter(policy.waitMaxMilliseconds(repetition: attempts))
            return isLast ? fail(error) : again(afterMilliseconds: wait, now, otherwise: error)
        case .disconnected(let error, let wasSent):
            if wasSent { mayHaveBeenCarriedOut = true }
            guard !isLast, !wasSent || isRepeatable, Retry.canPass(error, wasSent) else { return fail(error) }
            // The wait is before the new connection, which all calls share.
            return again(afterMilliseconds: 0, now, otherwise: error)
        case .timedOut(let wasSent):
            let error = ClientError.timedOut(mayHaveBeenCarriedOut: mayHaveBeenCarriedOut || wasSent)
            return .finish(.failure(error))
        case .cancelled: return .finish(.failure(CancellationError()))
        }
    }

    private func again(
        afterMilliseconds wait: Int64, _ now: NIODeadline, otherwise error: any Error
    ) -> Step {
        guard attempts < policy.attemptsMax, now + .milliseconds(wait) < deadline else { return fail(error) }
        return .again(afterMilliseconds: wait)
    }

    /// Ends the call. Where an earlier attempt may have been carried out, an error that speaks only of the last
    /// attempt would tell the caller that nothing was changed. So the error of the earlier attempt is given instead,
    /// with the last one in its words.
    private func fail(_ error: any Error) -> Step {
        guard mayHaveBeenCarriedOut, Retry.isAboutItsAttemptOnly(error) else { return .finish(.failure(error)) }
        if var unknown {
            unknown.message += "; sending the request again failed: \(error)"
            return .finish(.failure(unknown))
        }
        let why = "the answer did not come, and sending the request again failed: \(error)"
        return .finish(.failure(ClientError.connectionLost(why)))
    }

    /// Whether an error says that its own attempt changed nothing, and says nothing of an earlier attempt: no
    /// connection was made, or the service refused before the ledger looked at the request.
    private static func isAboutItsAttemptOnly(_ error: any Error) -> Bool {
        switch error {
        case ClientError.cannotConnect: true
        case let error as WireError: error.isOfTheService && !error.isOutcomeUnknown
        default: false
        }
    }

    /// Whether a new connection may be better than the one that ended, or was not made, for this reason.
    private static func canPass(_ error: any Error, _ wasSent: Bool) -> Bool {
        switch error {
        case let error as WireError: error.isOfTheMoment
        case let error as ClientError:
            switch error {
            case .cannotConnect, .connectionLost: true
            // Who answers with what is no reply of the protocol is no ledger, or a broken one.
            case .unreadableReply: !wasSent
            case .closed, .timedOut, .requestTooLong, .invalidParams: false
            }
        default: false
        }
    }
}

extension AttemptEnd {
    /// Whether the request may be carried out where it is sent again.
    var isOfTheMoment: Bool {
        switch self {
        case .answered(.success), .cancelled: false
        case .answered(.failure(let error)): error.isOfTheMoment || error.isNotLeader
        case .disconnected, .timedOut: true
        }
    }

    /// Whether the ledger has looked at the request, and has carried it out or refused it.
    var isDecision: Bool {
        switch self {
        case .answered(.success): true
        case .answered(.failure(let error)): !error.isOfTheService
        case .disconnected, .timedOut, .cancelled: false
        }
    }
}

extension WireError {
    /// Whether the service may answer otherwise a moment later: `overloaded`, `shutting_down`, `storage_unavailable`,
    /// `outcome_unknown`, `internal_error`. `unknown_product` may be sent again too, but only a new catalog changes
    /// its answer, and only the caller knows when there is one. `not_leader` names the service that is to be asked.
    var isOfTheMoment: Bool {
        retryable && reason != WireReason.notLeader.rawValue
            && (code == WireReason.overloaded.code || code == WireReason.internalError.code)
    }

    /// Whether another service leads, which it names.
    var isNotLeader: Bool { reason == WireReason.notLeader.rawValue }

    /// Whether another node may answer otherwise at once: this one does not lead, is being ended, or does not reach
    /// what the nodes share.
    var isOfItsNode: Bool {
        let reasons: [WireReason] = [.notLeader, .shuttingDown, .storageUnavailable, .outcomeUnknown]
        return reasons.contains { $0.rawValue == reason }
    }

    /// The address of the service that leads, where this is why a request was refused.
    var leader: ServerAddress? {
        guard isNotLeader, case .string(let text) = self["address"] else { return nil }
        return try? ServerAddress(text)
    }

    /// Whether a connection was cut off because the token has come to open another ledger: what was sent on it may have
    /// been carried out in the former one.
    var isInOtherLedger: Bool { isOutcomeUnknown && !retryable }

    /// Whether the service does not know which ledger is meant, or the token has come to open another one.
    var isLedgerRequired: Bool { reason == WireReason.ledgerRequired.rawValue }

    /// Whether the service, rather than the ledger, refused: for the moment, for want of a role or of a ledger, or
    /// because what is stored is damaged.
    fileprivate var isOfTheService: Bool {
        code == WireReason.overloaded.code || code == WireReason.internalError.code
            || code == WireReason.forbidden.code || isLedgerRequired
    }

    /// Whether nobody knew, when the server answered, if the request was carried out.
    fileprivate var isOutcomeUnknown: Bool { reason == WireReason.outcomeUnknown.rawValue }
}
