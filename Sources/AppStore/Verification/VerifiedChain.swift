internal import COpenSSL
internal import Synchronization

/// A header whose certificates were found to lead to an anchor: all that is needed to check signatures under it.
final class VerifiedChain: Sendable {
    let header: JWSHeader
    let path: TrustedPath
    /// Good signatures under it since a table was last made for any chain.
    let signatureCount = Atomic(0)
    private let held = Mutex<SignatureTable?>(nil)

    init(header: JWSHeader, path: TrustedPath) {
        self.header = header
        self.path = path
    }

    /// The leaf key's table, while it has one. Only a ``ChainCache`` gives and takes it.
    var table: SignatureTable? { held.withLock { $0 } }

    fileprivate func hold(_ table: SignatureTable?) { held.withLock { $0 = table } }
}

extension [VerifiedChain] {
    /// The chain of a header segment as it came.
    func chain(for segment: UnsafeBufferPointer<UInt8>) -> VerifiedChain? {
        guard let start = segment.baseAddress else { return nil }
        return first { chain in
            let known = chain.header.segment
            return known.count == segment.count && ledger_bytes_equal(known, start, segment.count) == 1
        }
    }
}

/// The chains that are remembered, found by comparing the header segment as it came; and which of them have tables.
///
/// A chain comes in only with a signature that was good under it. The signature covers the header, so nobody but a
/// holder of an Apple signing key can push the chains in use out with variations of their headers.
///
/// A table is made for a chain that is remembered and used, and only one at a time: at most
/// ``AppStoreLimits/signatureTablesMax`` are held, and one more is being made.
struct ChainCache {
    private(set) var chains: [VerifiedChain] = []
    private var oldest = 0
    private var isMakingTable = false

    func chain(for segment: UnsafeBufferPointer<UInt8>) -> VerifiedChain? { chains.chain(for: segment) }

    mutating func insert(_ chain: VerifiedChain) {
        guard !chains.contains(where: { $0.header.segment == chain.header.segment }) else { return }
        guard chains.count == AppStoreLimits.chainsCachedMax else { return chains.append(chain) }
        chains[oldest].hold(nil)
        chains[oldest] = chain
        oldest = (oldest + 1) % AppStoreLimits.chainsCachedMax
    }

    /// A chain for which a table is to be made now, and then given to ``endTable(_:for:)``; `nil` where none is used
    /// enough, or more than the one that would have to give up its own.
    mutating func beginTable() -> VerifiedChain? {
        if isMakingTable { return nil }
        let counts = chains.map { (chain: $0, count: $0.signatureCount.load(ordering: .relaxed)) }
        guard let most = counts.filter({ $0.chain.table == nil }).max(by: { $0.count < $1.count }),
            most.count >= AppStoreLimits.signaturesPerTableMin
        else { return nil }
        let holders = counts.filter { $0.chain.table != nil }
        if holders.count >= AppStoreLimits.signatureTablesMax, holders.allSatisfy({ $0.count >= most.count }) {
            return nil
        }
        isMakingTable = true
        return most.chain
    }

    /// Gives a table to its chain, where that is still remembered, and takes the one of the chain that is used least
    /// where there are too many. Afterwards counting begins anew.
    mutating func endTable(_ table: SignatureTable?, for chain: VerifiedChain) {
        isMakingTable = false
        defer { for chain in chains { chain.signatureCount.store(0, ordering: .relaxed) } }
        guard let table, chains.contains(where: { $0 === chain }) else { return }
        let holders = chains.filter { $0.table != nil }
        if holders.count >= AppStoreLimits.signatureTablesMax {
            let least = holders.min {
                $0.signatureCount.load(ordering: .relaxed) < $1.signatureCount.load(ordering: .relaxed)
            }
            least?.hold(nil)
        }
        chain.hold(table)
    }
}
