import AppStore

/// Operations of one lane that pass through the stages together. A read is the last of them.
struct Submission: Sendable {
    /// What its JWS were found to be. Those that were refused with the first look are neither.
    struct Verdicts {
        var forged = 0
        /// Truly signed, for this ledger or not.
        var good = 0

        mutating func note(_ verdict: Result<Verified, VerificationFailure>) {
            guard case .failure(let failure) = verdict else {
                good += 1
                return
            }
            switch failure.reason {
            case .invalidSignature, .invalidCertificateChain: forged += 1
            case .malformed, .unsupportedAlgorithm, .untrustedRoot, .certificateExpired: break
            case .invalidPayload, .wrongApp, .wrongEnvironment: good += 1
            }
        }
    }

    let lane: Lane
    /// In whose turns it is taken.
    let tenant: Tenant
    private(set) var operations: [LedgerOperation]
    /// Where the last of them is a read: told, once everything before it was handed to the outlet, that it may begin;
    /// or nothing, where it was answered with the others.
    private(set) var readEnded: (@Sendable (Query?) -> Void)?
    /// When it is too late for it, by the monotonic clock in nanoseconds; `.max` where it is never too late.
    private(set) var deadline: UInt64
    /// How many JWS it came with.
    let signedCount: Int
    let hasPromotion: Bool
    private let hasErasure: Bool
    /// Its place among those of its lane that are in the first stage.
    var place = 0
    /// Whether a JWS of it waits for what takes long to verify.
    var isPostponed = false
    private(set) var verdicts = Verdicts()

    init(
        lane: Lane, tenant: Tenant, operations: [LedgerOperation], deadline: UInt64 = .max,
        readEnded: (@Sendable (Query?) -> Void)? = nil
    ) {
        self.lane = lane
        self.tenant = tenant
        self.operations = operations
        self.readEnded = readEnded
        hasPromotion = operations.contains(where: \.isPromotion)
        hasErasure = operations.contains(where: \.isErasure)
        // What an operator asks for is not too late.
        self.deadline = hasPromotion ? .max : deadline
        signedCount = operations.reduce(0) { $0 + ($1.isSigned ? 1 : 0) }
    }

    /// What it costs in turns, and of a commit: an erasure takes several syncs by itself, for which all others wait.
    func cost(_ limits: EngineLimits) -> Int {
        operations.count + (hasErasure ? limits.operationsPerErasure : 0)
    }

    /// Parts that pass through the stages together: of a bounded number of operations, with an erasure as the last.
    static func parts(of operations: [LedgerOperation], _ limits: EngineLimits) -> [ArraySlice<LedgerOperation>] {
        var parts: [ArraySlice<LedgerOperation>] = []
        var rest = operations[...]
        while !rest.isEmpty {
            let most = rest.prefix(limits.operationsPerSubmissionMax)
            let part = most.firstIndex(where: \.isErasure).map { rest[...$0] } ?? most
            parts.append(part)
            rest = rest[part.endIndex...]
        }
        return parts
    }

    /// How long it has waited, in nanoseconds; 0 where nobody knows.
    func waited(until now: UInt64, _ limits: EngineLimits) -> UInt64 {
        let begin = deadline &- limits.waitMillisecondsMax * 1_000_000
        return deadline == .max || begin >= now ? 0 : now - begin
    }

    /// Puts what its JWS were found to be in their places.
    /// - Parameter verdict: takes the next one; `nil` where it is not known yet.
    mutating func settle(_ verdict: () -> Result<Verified, VerificationFailure>?) {
        if signedCount == 0 { return }
        for place in operations.indices {
            guard case .signed(_, let account, let actor) = operations[place] else { continue }
            if let verdict = verdict() {
                verdicts.note(verdict)
                operations[place] = LedgerOperation(verdict, account: account, by: actor)
            } else {
                isPostponed = true
            }
        }
    }

    /// Cuts it behind its first operations.
    /// - Returns: the rest, which is not empty.
    mutating func cut(after count: Int) -> Submission {
        precondition(count < operations.count, "nothing would be left")
        var rest = self
        rest.operations.removeFirst(count)
        operations.removeSubrange(count...)
        readEnded = nil
        return rest
    }

    /// All of it is answered with `fault` when its place in the order has come, and not carried out.
    func refused(_ fault: Fault) -> Submission {
        var submission = self
        submission.operations = operations.map { _ in .refused(fault) }
        submission.deadline = .max
        return submission
    }
}
