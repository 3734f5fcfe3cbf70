import Ledger
import LedgerEngine
import LedgerWire

/// Who a connection is: the name of its token, what it may do, and what is left of its limits.
final class TokenHolder: Sendable {
    /// `nil` where there are no tokens.
    let name: String?
    let roles: Roles
    /// What it has granted today, and may at most; `nil` where there are no tokens.
    let grants: GrantAllowance?
    /// In whose turns it is served: all its connections share them.
    let tenant: Tenant
    /// The only one of the service's ledgers that it may ask; `nil`: all.
    let ledger: LedgerName?
    /// The generation of the table (``TokenTable/generation``) in which it came to open another ledger than before; 0
    /// where it never did.
    let movedAt: Int
    /// Whether it posts what the App Store does.
    let isAppStore: Bool
    private let limits: Token.Limits
    private let requests: RequestAllowance?

    /// Everybody, where there are no tokens.
    static func anyone(ledgers: Int) -> TokenHolder {
        TokenHolder(
            name: nil, roles: .admin, limits: Token.Limits(), ledger: nil, grants: nil, after: nil, ledgers: ledgers,
            isAppStore: false)
    }

    /// Who posts what the App Store does. It has a share of its own, which is no client's.
    static func appStore(ledgers: Int) -> TokenHolder {
        TokenHolder(
            name: nil, roles: Roles(.purchases), limits: Token.Limits(share: 1), ledger: nil, grants: nil, after: nil,
            ledgers: ledgers, isAppStore: true)
    }

    /// - Parameters:
    ///   - former: of the same name: what was granted today under it counts, and what it asked in the last second;
    ///     where its share stays, so do its turns.
    ///   - ledgers: how many ledgers the service has.
    ///   - movedAt: see ``movedAt``.
    convenience init(_ token: Token, after former: TokenHolder?, ledgers: Int, movedAt: Int) {
        let grants = former?.grants ?? GrantAllowance()
        grants.limit(to: token.limits.grantsPerDay)
        self.init(
            name: token.name, roles: token.roles, limits: token.limits, ledger: token.ledger, grants: grants,
            after: former, ledgers: ledgers, isAppStore: false, movedAt: movedAt)
    }

    private init(
        name: String?, roles: Roles, limits: Token.Limits, ledger: LedgerName?, grants: GrantAllowance?,
        after former: TokenHolder?, ledgers: Int, isAppStore: Bool, movedAt: Int = 0
    ) {
        self.movedAt = movedAt
        self.isAppStore = isAppStore
        self.name = name
        self.roles = roles
        self.limits = limits
        self.ledger = ledger
        let share = limits.share ?? roles.share
        if let known = former?.tenant, known.share == share {
            tenant = known
        } else {
            tenant = Tenant(share: share, ledgers: ledgers)
        }
        requests = limits.requestsPerSecond.map { perSecond in
            if let known = former?.requests, known.perSecond == perSecond { return known }
            return RequestAllowance(perSecond: perSecond, after: former?.requests)
        }
        self.grants = grants
    }

    /// In which name what it asks is passed on to another node; `nil` where nobody needs a token.
    var relayedName: String? { isAppStore ? Authentication.appStore : name }

    /// Whether it may ask in the name of any other, as a node does that passes on what its clients ask.
    var speaksForOthers: Bool { roles.contains(.admin) && !limits.isReadOnly && ledger == nil }

    var identity: Identity { Identity(name: name, roles: roles.all) }

    /// Whether it may do something that `other`, who takes its place, may not. Another limit of a day's grants is no
    /// part of that, for what waits is held to it when it is carried out; but the limit of another name is.
    func loses(to other: TokenHolder?) -> Bool {
        guard let other, other.roles.contains(.admin) || other.roles.isSuperset(of: roles),
            limits.isReadOnly || !other.limits.isReadOnly
        else { return true }
        if let only = other.ledger, only != ledger { return true }
        if grants !== other.grants { return true }
        guard let currencies = other.limits.currencies else { return false }
        return limits.currencies.map { !$0.isSubset(of: currencies) } ?? true
    }

    /// Whether it may approve what another asks.
    /// - Parameters:
    ///   - currency: what is moved.
    ///   - ledger: for which that is asked, where there are several.
    func mayApprove(_ currency: CurrencyCode, in ledger: LedgerName?) -> Bool {
        Methods.adjust.method.isAllowed(to: roles) && !limits.isReadOnly
            && limits.currencies?.contains(currency) ?? true && (self.ledger == nil || self.ledger == ledger)
    }

    /// Why it may not ask this; `nil` where it may.
    /// - Parameter now: nanoseconds of a clock that never goes back.
    func refusal(of asked: Message.Asked, now: () -> UInt64) -> SecurityRefusal? {
        if !asked.method.isAllowed(to: roles) { return .forbidden(asked.method, roles) }
        if limits.isReadOnly && asked.method.changes { return .readOnly(asked.method) }
        if let requests, !requests.take(now: now()) { return .tooManyRequests }
        if let currencies = limits.currencies,
            let other = asked.request.currenciesMoved.first(where: { !currencies.contains($0) })
        {
            return .otherCurrency(other)
        }
        return nil
    }
}

extension Roles {
    /// Of every queue: those for whom players wait have four times what others have.
    fileprivate var share: Int { isDisjoint(with: [.purchases, .game, .admin]) ? 1 : 4 }
}

extension Request {
    /// The currencies that it names as those to be moved.
    fileprivate var currenciesMoved: [CurrencyCode] {
        if case .ledger(.adjust(let approved)) = self { return [approved.adjustment.currency] }
        if case .ledger(.importLots(let carried)) = self { return carried.lots.map(\.currency) }
        return operations.flatMap { operation -> [CurrencyCode] in
            switch operation {
            case .spend(let spend): spend.debits.map(\.currency)
            case .grant(let grant): [grant.currency]
            case .hold(let hold): [hold.currency]
            // What they move was spent or held before.
            case .reverse, .capture, .release: []
            }
        }
    }

    private var operations: [KeyedOperation] {
        switch self {
        case .ledger(.keyed(let operation)): [operation]
        case .ledger(.atomic(let atomic)): atomic.operations
        case .ping, .authenticate, .info, .reload, .ledger: []
        }
    }
}
