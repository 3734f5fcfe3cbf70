internal import Synchronization

/// What was found out of paths of certificates, by the SHA-256 of the path (``ClaimedPath/digest``): what repeats is
/// not verified again.
///
/// A path comes in for what it is: whether one leads to an anchor depends on nothing else of a header or a payload, and
/// does not change. One that was refused comes in only where that took a signature's check, and the others are refused
/// without being looked up, so that who wants to push something out has to have one checked for each.
final class PathMemory: Sendable {
    enum Finding {
        case trusted(TrustedPath)
        case refused(VerificationFailure)
    }

    private let trusted = Mutex(BoundedMemory<TrustedPath>(countMax: AppStoreLimits.pathsRememberedMax))
    private let refused = Mutex(BoundedMemory<VerificationFailure>(countMax: AppStoreLimits.refusedPathsRememberedMax))

    func finding(of digest: [UInt8]) -> Finding? {
        if let path = trusted.withLock({ $0.value(of: digest) }) { return .trusted(path) }
        return refused.withLock { $0.value(of: digest) }.map { .refused($0) }
    }

    func insert(_ finding: Finding, digest: [UInt8]) {
        switch finding {
        case .trusted(let path): trusted.withLock { $0.insert(path, digest) }
        case .refused(let failure): refused.withLock { $0.insert(failure, digest) }
        }
    }

    /// How many refused lists are remembered.
    var refusedCount: Int { refused.withLock { $0.count } }
}

/// Values by digest, of which the oldest go first.
private struct BoundedMemory<Value: Sendable> {
    private let countMax: Int
    private var values: [[UInt8]: Value] = [:]
    /// The digests, in a ring.
    private var digests: [[UInt8]] = []
    private var oldest = 0

    init(countMax: Int) { self.countMax = countMax }

    var count: Int { values.count }

    func value(of digest: [UInt8]) -> Value? { values[digest] }

    mutating func insert(_ value: Value, _ digest: [UInt8]) {
        guard values.updateValue(value, forKey: digest) == nil else { return }
        guard digests.count == countMax else { return digests.append(digest) }
        values[digests[oldest]] = nil
        digests[oldest] = digest
        oldest = (oldest + 1) % countMax
    }
}
