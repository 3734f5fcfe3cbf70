/// What a game server asks under a key, by itself or as one of an ``Atomic``, whose key it then has.
public enum KeyedOperation: Hashable, Sendable {
    /// A spend.
    case spend(Spend)
    /// A reversal.
    case reverse(Reversal)
    /// A grant.
    case grant(Grant)
    /// A hold.
    case hold(Hold)
    /// A capture.
    case capture(Capture)
    /// A release.
    case release(Release)
}

/// Operations over any accounts that happen together, in their order, or not at all.
public struct Atomic: Hashable, Sendable {
    /// The caller's name for this request, and of every operation in it.
    public var key: RequestKey
    /// 2 … ``Limits/atomicOperationsMax``, each with the atomic's key.
    public var operations: [KeyedOperation]

    /// An atomic. The server refuses as `invalid_params` one with too few or too many operations.
    public init(key: RequestKey, operations: [KeyedOperation]) {
        self.key = key
        self.operations = operations
    }
}

extension KeyedOperation {
    /// The protocol's name of the operation. It stands in fingerprints too, and never changes.
    package var method: StaticString {
        switch self {
        case .spend: "spend"
        case .reverse: "reverse"
        case .grant: "grant"
        case .hold: "hold"
        case .capture: "capture"
        case .release: "release"
        }
    }

    package var key: RequestKey {
        switch self {
        case .spend(let spend): spend.key
        case .reverse(let reversal): reversal.key
        case .grant(let grant): grant.key
        case .hold(let hold): hold.key
        case .capture(let capture): capture.key
        case .release(let release): release.key
        }
    }

    /// The account that it names itself.
    package var account: AccountName? {
        switch self {
        case .spend(let spend): spend.account
        case .grant(let grant): grant.account
        case .hold(let hold): hold.account
        case .reverse, .capture, .release: nil
        }
    }
}
