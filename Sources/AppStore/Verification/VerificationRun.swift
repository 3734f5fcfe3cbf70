internal import StrictJSON

/// A payload that says when it was signed.
protocol SignedPayload: Sendable {
    init(json: UnsafeBufferPointer<UInt8>) throws(JSONError)
    var signedDate: Int64 { get }
}

extension TransactionPayload: SignedPayload {}
extension NotificationPayload: SignedPayload {}

/// What a JWS says, and what would prove it. (One object, as it passes through several hands and has many members.)
package final class SignedContent<Payload: Sendable>: Sendable {
    package let payload: Payload
    package let evidence: Evidence

    init(payload: Payload, evidence: Evidence) {
        self.payload = payload
        self.evidence = evidence
    }
}

/// One JWS whose header was found good, with the signature still to be checked.
struct UncheckedJWS<Payload: Sendable> {
    /// The place of its signature among the run's claims.
    let claim: Int
    /// What it would say if the signature is good.
    let content: Result<SignedContent<Payload>, VerificationFailure>
}

/// One object of a batch before its signatures are checked.
enum Candidate {
    case transaction(UncheckedJWS<TransactionPayload>)
    case notification(
        UncheckedJWS<NotificationPayload>, nested: Result<UncheckedJWS<TransactionPayload>, VerificationFailure>?)
}

/// The first half of verifying a batch: everything up to the signatures, which it collects to be checked together.
struct VerificationRun {
    /// Starts as what the verifier remembers; new chains are remembered for the run before they are proven.
    private var chains: ChainCache
    private let verifier: ChainVerifier
    private(set) var claims: [SignatureClaim] = []
    /// Chains that this run made, with a claim that would prove each.
    private var found: [(chain: VerifiedChain, claim: Int)] = []

    init(chains: ChainCache, verifier: ChainVerifier) {
        self.chains = chains
        self.verifier = verifier
    }

    mutating func prepare(_ object: SignedObject) -> Result<Candidate, VerificationFailure> {
        do throws(VerificationFailure) {
            switch object {
            case .transaction(let text): return .success(.transaction(try transaction(text)))
            case .notification(let text): return .success(try notification(text))
            }
        } catch {
            return .failure(error)
        }
    }

    /// The new chains under which a signature was good.
    func newChains(isGood: [Bool]) -> [VerifiedChain] {
        var proven: [VerifiedChain] = []
        for (chain, claim) in found where isGood[claim] && !proven.contains(where: { $0 === chain }) {
            proven.append(chain)
        }
        return proven
    }

    private mutating func transaction(
        _ text: [UInt8]
    ) throws(VerificationFailure) -> UncheckedJWS<TransactionPayload> {
        try unchecked(text)
    }

    private mutating func notification(_ text: [UInt8]) throws(VerificationFailure) -> Candidate {
        let outer: UncheckedJWS<NotificationPayload> = try unchecked(text)
        guard case .success(let content) = outer.content, let nested = content.payload.data?.signedTransactionInfo
        else {
            return .notification(outer, nested: nil)
        }
        do throws(VerificationFailure) {
            return .notification(outer, nested: .success(try transaction(Array(nested.utf8))))
        } catch {
            return .notification(outer, nested: .failure(error))
        }
    }

    /// The guards up to the signature, in the order of precedence.
    private mutating func unchecked<Payload: SignedPayload>(
        _ text: [UInt8]
    ) throws(VerificationFailure) -> UncheckedJWS<Payload> {
        let jws = try CompactJWS(text)
        let (chain, isNew) = try chain(of: jws)
        let evidence = Evidence(header: chain.header, payload: jws.payload, signature: jws.signature)
        let (content, signedDate): (Result<SignedContent<Payload>, VerificationFailure>, Int64?) =
            Self.content(evidence)
        if let signedDate, !(chain.validity?.contains(signedDate) ?? false) {
            throw VerificationFailure(.certificateExpired, "a certificate of the chain was not valid at signedDate")
        }
        let claim = claims.count
        let digest = jws.withRestOfSigningInput { chain.header.signingInputDigest($0) }
        claims.append(
            SignatureClaim(key: chain.leafKey, table: chain.table, digest: digest, signature: jws.signature))
        if isNew { found.append((chain, claim)) }
        return UncheckedJWS(claim: claim, content: content)
    }

    private mutating func chain(
        of jws: CompactJWS
    ) throws(VerificationFailure) -> (chain: VerifiedChain, isNew: Bool) {
        if let known = jws.withHeaderSegment({ chains.chain(for: $0) }) {
            return (known, found.contains { $0.chain === known })
        }
        let header = try JOSEHeader(try jws.decodedHeader())
        let chain = try verifier.verify(header, segment: Array(jws.text[..<jws.headerEnd]))
        // For this run only: the batch's other objects mostly have the same header.
        chains.insert(chain)
        return (chain, true)
    }

    /// The content, not yet to be believed, and its `signedDate` where that can be read at all.
    private static func content<Payload: SignedPayload>(
        _ evidence: Evidence
    ) -> (Result<SignedContent<Payload>, VerificationFailure>, signedDate: Int64?) {
        evidence.payload.withUnsafeBufferPointer { bytes in
            do throws(JSONError) {
                let content = SignedContent(payload: try Payload(json: bytes), evidence: evidence)
                return (.success(content), content.payload.signedDate)
            } catch {
                return (.failure(VerificationFailure(.invalidPayload, error.description)), signedDate(bytes))
            }
        }
    }

    private static func signedDate(_ json: UnsafeBufferPointer<UInt8>) -> Int64? {
        var reader = JSONReader(json)
        var date: Int64?
        do throws(JSONError) {
            try reader.object { reader, key throws(JSONError) in
                switch key {
                case "signedDate": date = try reader.milliseconds()
                default: try reader.skip()
                }
            }
        } catch {
            // What is wrong with the payload is said after its signature was checked; a date that was read counts.
        }
        return date
    }
}
