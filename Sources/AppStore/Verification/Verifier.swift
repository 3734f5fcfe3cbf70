internal import StrictJSON
internal import Synchronization

/// Verifies what the App Store signed: nothing is believed without its signature, in any environment.
///
/// A JWS is accepted if it is ES256 by a leaf whose certificates, three in `x5c`, carry Apple's marks and lead to
/// Apple Root CA – G3 (pinned by its SHA-256, the third certificate byte for byte) or to a configured anchor; if they
/// were all valid at the payload's `signedDate`; and if the payload is this app's, from this environment. Where that
/// is Xcode or LocalTesting, one certificate that is itself an anchor is accepted too.
///
/// It may be used from any thread; no call waits for another but for locks held for a few instructions.
public final class Verifier: Sendable {
    /// The app whose purchases are accepted.
    public let app: App
    private let chainVerifier: ChainVerifier
    private let paths = PathMemory()
    private let cache = Mutex(ChainCache())
    private let signatures = SignatureCounts()

    /// `anchors` are trusted beside Apple Root CA – G3, which always is.
    public init(app: App, anchors: [Certificate] = []) {
        self.app = app
        chainVerifier = ChainVerifier(anchors: anchors, environment: app.environment)
    }

    /// Verifies a batch: one result for each object, in their order. `now` is in milliseconds since the UNIX epoch.
    ///
    /// Of the reasons that apply, a failure carries the first in the order of ``VerificationFailure/Reason``.
    public func verify(_ batch: [SignedObject], now: Int64) -> [Result<Verified, VerificationFailure>] {
        verify(batch, now: now, newPathsMax: .max).map { result in
            guard let result else { preconditionFailure("nothing is postponed where nothing is bounded") }
            return result
        }
    }

    /// Verifies what can be verified without much work; the other results are `nil`. At the least the first one is
    /// not, where there may be a list of certificates and two doubtful signatures: so who asks again comes to an end.
    ///
    /// - Parameters:
    ///   - newPathsMax: how many lists of certificates that were not seen before may be checked. With 0 nothing is
    ///     checked but signatures by keys that are trusted.
    ///   - doubtfulMax: of how many doubtful signatures OpenSSL is asked: those that the tables of their keys do not
    ///     accept, and those under headers that no good one was under before. They take three times as long as others,
    ///     and nearly all of them are forged.
    ///   - givingWay: called every one to three tenths of a millisecond; not while a new list of certificates is
    ///     checked.
    package func verify(
        _ batch: [SignedObject], now: Int64, newPathsMax: Int, doubtfulMax: Int = .max, givingWay: () -> Void = {}
    ) -> [Result<Verified, VerificationFailure>?] {
        var run = VerificationRun(
            chains: cache.withLock { $0 }, verifier: chainVerifier, paths: paths, newPathsMax: newPathsMax)
        var preparations: [Preparation] = []
        preparations.reserveCapacity(batch.count)
        for object in batch {
            preparations.append(run.prepare(object))
            if preparations.count.isMultiple(of: AppStoreLimits.preparationsBetweenGivingWay) { givingWay() }
        }
        let isGood = SignatureCheck.verify(
            run.claims, doubtfulMax: doubtfulMax, counts: signatures, givingWay: givingWay)
        note(run.goodSignatures(isGood: isGood))
        let judge = Judge(app: app, now: now, isGood: isGood)
        return preparations.map { preparation in
            switch preparation {
            case .refused(let failure): return .failure(failure)
            case .postponed: return nil
            case .candidate(let candidate):
                do throws(VerificationFailure) {
                    return try judge.verdict(candidate).map { .success($0) }
                } catch {
                    return .failure(error)
                }
            }
        }
    }

    /// Remembers chains under which a signature was good, and has tables made for those that are used much.
    private func note(_ good: [(chain: VerifiedChain, count: Int)]) {
        var withoutTable: [VerifiedChain] = []
        var isOneUsedMuch = false
        for (chain, count) in good {
            let total = chain.signatureCount.add(count, ordering: .relaxed).newValue
            if chain.table == nil {
                withoutTable.append(chain)
                isOneUsedMuch = isOneUsedMuch || total >= AppStoreLimits.signaturesPerTableMin
            }
        }
        // What has a table is remembered already.
        if withoutTable.isEmpty { return }
        let chain = cache.withLock { cache -> VerifiedChain? in
            for chain in withoutTable { cache.insert(chain) }
            return isOneUsedMuch && SignatureTable.isWorthwhile ? cache.beginTable() : nil
        }
        guard let chain else { return }
        // Off the path of this batch; until the table is there, the plain check serves.
        Task.detached(priority: .utility) {
            let table = SignatureTable(chain.path.leafKey)
            self.cache.withLock { $0.endTable(table, for: chain) }
        }
    }

    /// Verifies one transaction. `now` is in milliseconds since the UNIX epoch.
    public func verify(transaction jws: [UInt8], now: Int64) throws(VerificationFailure) -> VerifiedTransaction {
        guard case .transaction(let transaction) = try verify([.transaction(jws)], now: now)[0].get() else {
            preconditionFailure("a transaction is verified as one")
        }
        return transaction
    }

    /// Verifies one notification. `now` is in milliseconds since the UNIX epoch.
    public func verify(notification jws: [UInt8], now: Int64) throws(VerificationFailure) -> VerifiedNotification {
        guard case .notification(let notification) = try verify([.notification(jws)], now: now)[0].get() else {
            preconditionFailure("a notification is verified as one")
        }
        return notification
    }

    /// How many signatures were accepted by the table of their key, and how many OpenSSL has judged.
    package var signatureCounts: (byTable: UInt64, byOpenSSL: UInt64) {
        (signatures.byTable.load(ordering: .relaxed), signatures.byOpenSSL.load(ordering: .relaxed))
    }

    /// How many verified chains are remembered.
    package var cachedChainCount: Int { cache.withLock { $0.chains.count } }

    /// How many of them have the table that makes their signatures quick to check.
    package var preparedChainCount: Int { cache.withLock { $0 }.chains.count { $0.table != nil } }

    /// How many lists of certificates are remembered as refused.
    package var refusedPathCount: Int { paths.refusedCount }

    /// Whether chains get tables in this build.
    package static var preparesTables: Bool { SignatureTable.isWorthwhile }
}
