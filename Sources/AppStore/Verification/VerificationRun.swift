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

/// What is known of an object before its signatures are checked.
enum Preparation {
    case candidate(Candidate)
    case refused(VerificationFailure)
    /// Certificates have to be verified first, and this run was to verify no more.
    case postponed
}

/// The first half of verifying a batch: everything up to the signatures, which it collects to be checked together.
struct VerificationRun {
    private enum Stop: Error {
        case refused(VerificationFailure)
        case postponed
    }

    /// What the verifier remembers.
    private let chains: ChainCache
    private let verifier: ChainVerifier
    private let paths: PathMemory
    /// How many lists of certificates that are not remembered may still be verified.
    private var newPathsLeft: Int
    /// Chains that are not remembered, and not proven yet: the batch's other objects mostly have the same header.
    private var new: [VerifiedChain] = []
    private(set) var claims: [SignatureClaim] = []
    /// For each claim the chain that it is under.
    private var chainOfClaim: [VerifiedChain] = []

    init(chains: ChainCache, verifier: ChainVerifier, paths: PathMemory, newPathsMax: Int) {
        self.chains = chains
        self.verifier = verifier
        self.paths = paths
        newPathsLeft = newPathsMax
    }

    mutating func prepare(_ object: SignedObject) -> Preparation {
        do throws(Stop) {
            switch object {
            case .transaction(let text): return .candidate(.transaction(try unchecked(text)))
            case .notification(let text): return .candidate(try notification(text))
            }
        } catch {
            switch error {
            case .refused(let failure): return .refused(failure)
            case .postponed: return .postponed
            }
        }
    }

    /// The chains under which signatures were good, and how many.
    func goodSignatures(isGood: [Bool?]) -> [(chain: VerifiedChain, count: Int)] {
        // Of a few chains the one is found sooner by comparing than by hashing.
        var counts: [(chain: VerifiedChain, count: Int)] = []
        for (chain, isGood) in zip(chainOfClaim, isGood) where isGood == true {
            if let known = counts.firstIndex(where: { $0.chain === chain }) {
                counts[known].count += 1
            } else {
                counts.append((chain, 1))
            }
        }
        return counts
    }

    private mutating func notification(_ text: [UInt8]) throws(Stop) -> Candidate {
        let outer: UncheckedJWS<NotificationPayload> = try unchecked(text)
        guard case .success(let content) = outer.content, let nested = content.payload.data?.signedTransactionInfo
        else {
            return .notification(outer, nested: nil)
        }
        do throws(Stop) {
            return .notification(outer, nested: .success(try unchecked(Array(nested.utf8))))
        } catch {
            switch error {
            case .refused(let failure): return .notification(outer, nested: .failure(failure))
            case .postponed: throw error
            }
        }
    }

    /// The guards up to the signature, in the order of precedence.
    private mutating func unchecked<Payload: SignedPayload>(
        _ text: [UInt8]
    ) throws(Stop) -> UncheckedJWS<Payload> {
        let jws: CompactJWS
        do throws(VerificationFailure) { jws = try CompactJWS(text) } catch { throw .refused(error) }
        let (chain, isProven) = try chain(of: jws)
        let evidence = Evidence(header: chain.header, payload: jws.payload, signature: jws.signature)
        let (content, signedDate): (Result<SignedContent<Payload>, VerificationFailure>, Int64?) =
            Self.content(evidence)
        if let signedDate, !chain.path.isValid(at: signedDate) {
            throw .refused(
                VerificationFailure(.certificateExpired, "a certificate of the chain was not valid at signedDate"))
        }
        let claim = claims.count
        let digest = jws.withRestOfSigningInput { chain.header.signingInputDigest($0) }
        claims.append(
            SignatureClaim(
                key: chain.path.leafKey, table: chain.table, isHeaderProven: isProven, digest: digest,
                signature: jws.signature))
        chainOfClaim.append(chain)
        return UncheckedJWS(claim: claim, content: content)
    }

    /// The chain that it is under, and whether a signature was good under that before.
    private mutating func chain(of jws: CompactJWS) throws(Stop) -> (VerifiedChain, isProven: Bool) {
        if let known = jws.withHeaderSegment({ chains.chain(for: $0) }) { return (known, true) }
        if let known = jws.withHeaderSegment({ new.chain(for: $0) }) { return (known, false) }
        let claim: ClaimedPath
        do throws(VerificationFailure) {
            claim = try verifier.claim(try JOSEHeader(try jws.decodedHeader()))
        } catch {
            throw .refused(error)
        }
        let chain = VerifiedChain(
            header: JWSHeader(segment: Array(jws.text[..<jws.headerEnd])), path: try path(claim))
        if new.count < AppStoreLimits.chainsCachedMax { new.append(chain) }
        return (chain, false)
    }

    private mutating func path(_ claim: ClaimedPath) throws(Stop) -> TrustedPath {
        let digest = claim.digest
        switch paths.finding(of: digest) {
        case .trusted(let path): return path
        case .refused(let failure): throw .refused(failure)
        case nil: break
        }
        if newPathsLeft == 0 { throw .postponed }
        newPathsLeft -= 1
        do throws(PathRefusal) {
            let path = try verifier.verify(claim)
            paths.insert(.trusted(path), digest: digest)
            return path
        } catch {
            if error.isLasting { paths.insert(.refused(error.failure), digest: digest) }
            throw .refused(error.failure)
        }
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
