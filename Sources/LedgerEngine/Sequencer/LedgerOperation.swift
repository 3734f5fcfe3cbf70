package import AppStore
package import Ledger

/// What a client asks of a ledger, in the order in which it takes effect.
package enum LedgerOperation: Sendable {
    /// A JWS to be verified first.
    case signed(SignedObject, account: AccountName?, by: String? = nil)
    /// Apart, for it is moved from queue to queue, and a command has many texts that would each be retained.
    /// - by: the name of the token under which it came.
    indirect case command(Command, by: String? = nil)
    /// A command that grants, under a limit of its token.
    indirect case granting(Command, by: String?, within: GrantAllowance)
    /// A read: it sees everything before it, and everything behind it in its lane waits for it.
    case query(Query)
    /// Has a standby lead: before anything else of its batch.
    case promote
    /// Refused before it is decided, by verification or for it comes too late; keeps its place in the order.
    case refused(Fault)
}

extension LedgerOperation {
    var isSigned: Bool {
        switch self {
        case .signed: true
        case .command, .granting, .query, .promote, .refused: false
        }
    }

    package var isQuery: Bool {
        switch self {
        case .query: true
        case .signed, .command, .granting, .promote, .refused: false
        }
    }

    /// Whether only a standby asks it.
    package var isOfStandby: Bool {
        if case .query(let query) = self { query.isOfBlocks } else { false }
    }

    /// The same; where it is a read that would wait for what is new, to be answered with what there is.
    package var withoutWait: LedgerOperation {
        if case .query(let query) = self { .query(query.withoutWait) } else { self }
    }

    /// Whether it erases a name.
    var isErasure: Bool {
        if case .command(.forget, _) = self { true } else { false }
    }

    var isPromotion: Bool {
        switch self {
        case .promote: true
        case .signed, .command, .granting, .query, .refused: false
        }
    }

    /// The answer, where this asks for a promotion.
    func promotion(_ answer: Answer?) -> Answer? { isPromotion ? answer : nil }

    /// Whether it may add something to the ledger.
    var mayWrite: Bool {
        switch self {
        case .signed, .granting, .promote: true
        case .query(let query): query.mayWrite
        case .refused: false
        case .command(let command, _):
            switch command {
            case .credit, .notify, .keyed, .atomic, .external, .link, .consent, .adjust, .importLots, .record,
                .expire, .forget:
                true
            case .balance, .consumption: false
            }
        }
    }

    /// What takes effect for a request.
    /// - Parameters:
    ///   - actor: the name of the token under which it came.
    ///   - approver: the name of the token that approved it; of a correction, which nobody else may be asked.
    ///   - allowance: what that token may grant, where it has a limit.
    package init(
        _ request: LedgerRequest, by actor: String?, approvedBy approver: String? = nil,
        within allowance: GrantAllowance? = nil
    ) {
        switch request {
        case .credit(let credit):
            self = .signed(.transaction(credit.signedTransaction), account: credit.account, by: actor)
        case .notify(let notify):
            self = .signed(.notification(notify.signedPayload), account: notify.account, by: actor)
        case .keyed(let operation): self.init(Command.keyed(operation), by: actor, within: allowance)
        case .atomic(let atomic): self.init(Command.atomic(atomic), by: actor, within: allowance)
        case .external(let purchase):
            self = .command(.external(StatedPurchase(purchase) { SHA256.hash($0, into: $1) }), by: actor)
        case .link(let link): self = .command(.link(link), by: actor)
        case .consent(let consent): self = .command(.consent(consent), by: actor)
        case .adjust(let approved):
            guard let approver else { preconditionFailure("a correction that nobody approved") }
            self = .command(.adjust(approved.adjustment, approvedBy: approver), by: actor)
        case .importLots(let carried): self = .command(.importLots(carried), by: actor)
        case .consumption(let query): self = .command(.consumption(query))
        case .forget(let account): self = .command(.forget(account), by: actor)
        case .balance(let query):
            if let asOf = query.asOf {
                self = .query(.balances(query, asOf: asOf))
            } else {
                self = .command(.balance(account: query.account, currency: query.currency))
            }
        case .history(let query): self = .query(.history(query))
        case .lots(let query): self = .query(.lots(query))
        case .holds(let query): self = .query(.holds(query))
        case .report(let request): self = .query(.report(request))
        case .journal(let query): self = .query(.journal(query))
        case .purchase(let query): self = .query(.purchase(query))
        case .find(let query): self = .query(.find(query))
        case .blocks(let query): self = .query(.blocks(query))
        case .promote: self = .promote
        case .head: self = .query(.head)
        case .stepDown: self = .query(.stepDown)
        case .close(let period): self = .query(.closing(ClosingQuery(through: period.through, actor: actor)))
        }
    }
}

extension LedgerOperation {
    private init(_ command: Command, by actor: String?, within allowance: GrantAllowance?) {
        if let allowance, !command.grants.isEmpty {
            self = .granting(command, by: actor, within: allowance)
        } else {
            self = .command(command, by: actor)
        }
    }
}

/// What a client is told of an operation: what the ledger answers, or why it does not.
package typealias Answer = Result<Outcome, Fault>

/// Why an operation was not carried out. Nothing was changed by it, but for a store whose failure says otherwise.
package enum Fault: Error, Sendable {
    /// The JWS is not to be believed, or not for this ledger.
    case verification(VerificationFailure)
    /// The JWS is Apple's, but says what the ledger's values cannot hold; in words.
    case unfit(String)
    case store(StoreError)
    /// A read asks for a time that has not come, or a period is to be closed up to one, by this parameter.
    case futureTime(parameter: String)
    /// A report is of a time before the ledger began, or a period is to be closed that ends before, by this parameter.
    case timeBeforeLedger(parameter: String, began: Timestamp)
    /// A read failed in a way that nobody foresaw; in words.
    case unexpected(String)
    /// A standby has another block than this ledger of that number.
    /// - head: the last block of this ledger.
    case chainMismatch(head: BlockNumber)
    /// A connection is one standby's, of this name, and asked for blocks in the name of another.
    case otherStandby(StandbyName)
    /// The token may grant only so much more of a currency today.
    case grantsOfDay(CurrencyCode, remaining: Int64)
    /// It was not carried out: it waited for too long.
    case overloaded
    /// A read was not carried out: there is no memory for its page, and it may not wait for any.
    case noRoom
}
