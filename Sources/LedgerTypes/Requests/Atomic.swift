/// One operation of an ``Atomic``. Its own key is the atomic's.
public enum AtomicOperation: Hashable, Sendable {
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
    public var operations: [AtomicOperation]

    /// An atomic. The server refuses as `invalid_params` one with too few or too many operations.
    public init(key: RequestKey, operations: [AtomicOperation]) {
        self.key = key
        self.operations = operations
    }
}
