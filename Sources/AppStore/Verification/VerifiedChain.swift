internal import COpenSSL
internal import Synchronization

/// A header whose certificates were found to lead to an anchor: all that is needed to check signatures under it.
final class VerifiedChain: Sendable {
    let header: JWSHeader
    let leafKey: Key
    /// When all certificates of the path are valid, in milliseconds; nil where they never are together.
    let validity: ClosedRange<Int64>?
    private let made = Mutex<SignatureTable?>(nil)

    /// The leaf key's table, once it has been made.
    var table: SignatureTable? { made.withLock { $0 } }

    /// Makes the leaf key's table: some ten milliseconds, and 2.9 MB for as long as the chain is remembered.
    func makeTable() {
        let table = SignatureTable(leafKey)
        made.withLock { $0 = table }
    }

    init(header: JWSHeader, leafKey: Key, validity: ClosedRange<Int64>?) {
        self.header = header
        self.leafKey = leafKey
        self.validity = validity
    }
}

/// The chains that are remembered, found by comparing the header segment as it came.
///
/// A chain comes in only with a signature that was good under it. The signature covers the header, so nobody but a
/// holder of an Apple signing key can push the chains in use out with variations of their headers.
struct ChainCache {
    private(set) var chains: [VerifiedChain] = []
    private var oldest = 0

    func chain(for segment: UnsafeBufferPointer<UInt8>) -> VerifiedChain? {
        guard let start = segment.baseAddress else { return nil }
        return chains.first { chain in
            let known = chain.header.segment
            return known.count == segment.count && ledger_bytes_equal(known, start, segment.count) == 1
        }
    }

    mutating func insert(_ chain: VerifiedChain) {
        guard !chains.contains(where: { $0.header.segment == chain.header.segment }) else { return }
        guard chains.count == AppStoreLimits.chainsCachedMax else { return chains.append(chain) }
        chains[oldest] = chain
        oldest = (oldest + 1) % AppStoreLimits.chainsCachedMax
    }
}
