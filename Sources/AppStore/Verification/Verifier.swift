internal import StrictJSON
internal import Synchronization

/// Verifies what the App Store signed: nothing is believed without its signature, in any environment.
///
/// A JWS is accepted if it is ES256 by a leaf whose certificates, three in `x5c`, carry Apple's marks and lead to
/// Apple Root CA – G3 (pinned by its SHA-256, the third certificate byte for byte) or to a configured anchor; if they
/// were all valid at the payload's `signedDate`; and if the payload is this app's, from this environment. Where that
/// is Xcode or LocalTesting, one certificate that is itself an anchor is accepted too.
///
/// It may be used from any thread; no call waits for another but for a lock held for a few instructions a batch.
public final class Verifier: Sendable {
    /// The app whose purchases are accepted.
    public let app: App
    private let chainVerifier: ChainVerifier
    private let cache = Mutex(ChainCache())

    /// `anchors` are trusted beside Apple Root CA – G3, which always is.
    public init(app: App, anchors: [Certificate] = []) {
        self.app = app
        chainVerifier = ChainVerifier(anchors: anchors, environment: app.environment)
    }

    /// Verifies a batch: one result for each object, in their order. `now` is in milliseconds since the UNIX epoch.
    ///
    /// Of the reasons that apply, a failure carries the first in the order of ``VerificationFailure/Reason``.
    public func verify(_ batch: [SignedObject], now: Int64) -> [Result<Verified, VerificationFailure>] {
        var run = VerificationRun(chains: cache.withLock { $0 }, verifier: chainVerifier)
        let candidates = batch.map { run.prepare($0) }
        let isGood = SignatureCheck.verify(run.claims)
        let proven = run.newChains(isGood: isGood)
        if !proven.isEmpty {
            cache.withLock { cache in
                for chain in proven { cache.insert(chain) }
            }
            // Off the path of this batch; until the table is there, the plain check serves.
            if SignatureTable.isWorthwhile {
                Task.detached(priority: .utility) { for chain in proven { chain.makeTable() } }
            }
        }
        let judge = Judge(app: app, now: now, isGood: isGood)
        return candidates.map { candidate in
            do throws(VerificationFailure) {
                return .success(try judge.verdict(try candidate.get()))
            } catch {
                return .failure(error)
            }
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

    /// Whether a transaction's certificates were verified before, so that only its signature is left to check. A
    /// notification may carry a second JWS with certificates of its own; of it this is not said.
    package func remembersCertificates(of object: SignedObject) -> Bool {
        guard case .transaction(let text) = object, let end = text.firstIndex(of: UInt8(ascii: ".")) else {
            return false
        }
        let chains = cache.withLock { $0 }
        return text.withUnsafeBufferPointer { chains.chain(for: UnsafeBufferPointer(rebasing: $0[..<end])) } != nil
    }

    /// How many verified chains are remembered.
    package var cachedChainCount: Int { cache.withLock { $0.chains.count } }

    /// How many of them have the table that makes their signatures quick to check.
    package var preparedChainCount: Int { cache.withLock { $0 }.chains.count { $0.table != nil } }

    /// Whether chains get tables in this build.
    package static var preparesTables: Bool { SignatureTable.isWorthwhile }
}
