/// One prepared workload. What it needs was made before; `run` does nothing but the work that is measured.
public protocol HotPathWorkload: AnyObject {
    /// Does the work `count` times and gives how many came out as they should: all of them.
    /// - Throws: what the measured part throws; never where the machine is as it should be.
    func run(_ count: Int) throws -> Int
}

/// A workload by its name, and the one that it is set against.
public struct HotPathCase: Sendable {
    /// Unique among the cases.
    public let name: String
    /// The name of the case that does the same, or the least that could be done, in the plain way; `nil` for such a
    /// case itself.
    public let baseline: String?
    /// Prepares it: seconds at most.
    public let make: @Sendable () throws -> any HotPathWorkload
}

/// The parts of a request's way through the service, each beside its baseline.
public enum HotPath {
    /// All of them; baselines stand after what they are the baseline of.
    public static let cases: [HotPathCase] = verify + decode + decide + append + encode

    private static func named(
        _ name: String, against baseline: String? = nil, _ make: @escaping @Sendable () throws -> any HotPathWorkload
    ) -> HotPathCase {
        HotPathCase(name: name, baseline: baseline, make: make)
    }

    private static let verify: [HotPathCase] =
        [named("verify, unknown chain", against: plainVerify) { try VerifyUnknownChain() }]
        + [1, 8, 64, 256].map { batch in
            named("verify, known chain, batches of \(batch)", against: plainVerify) {
                try VerifyKnownChain(batch: batch)
            }
        } + [named(plainVerify) { try PlainVerify() }]
    private static let plainVerify = "verify: OpenSSL ECDSA_do_verify alone"

    private static let decode = [
        named("decode a signed transaction", against: foundationDecode) { try DecodeTransaction() },
        named(foundationDecode) { try FoundationDecode() },
    ]
    private static let foundationDecode = "decode: Foundation JSONDecoder"

    /// Deciding has no plain way; it is set against the signature check that each purchase costs anyway.
    private static let decide = [
        named("decide a spend", against: plainVerify) { try DecideSpends() },
        named("decide a credit", against: plainVerify) { try DecideCredits() },
    ]

    private static let append =
        [64, 1_000].map { batch in
            named("append and commit credits, batches of \(batch)", against: commitEach) {
                try AppendCredits(batch: batch)
            }
        } + [named(commitEach) { try AppendCredits(batch: 1) }]
    private static let commitEach = "append: one transaction a credit"

    private static let encode = [
        named("encode a credit's reply", against: foundationEncode) { try EncodeReply() },
        named(foundationEncode) { try FoundationEncode() },
    ]
    private static let foundationEncode = "encode: Foundation JSONEncoder"
}

/// Something that a workload needs could not be prepared.
public struct HotPathError: Error, CustomStringConvertible {
    /// What, and why.
    public let description: String

    init(_ description: String) { self.description = description }
}
