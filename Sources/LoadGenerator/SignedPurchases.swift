import AppStore

/// Purchases that were signed before the clock starts: one header segment for all, and of each purchase what follows
/// it, payload and signature, all of the same length.
///
/// `@unchecked Sendable`: while it is made each task fills its own part; nothing is changed after that.
final class SignedPurchases: @unchecked Sendable {
    let count: Int
    /// Up to and with its dot.
    let header: [UInt8]
    /// Bytes of what follows the header.
    let stride: Int
    private let tails: UnsafeMutablePointer<UInt8>

    private init(count: Int, header: [UInt8], stride: Int) {
        self.count = count
        self.header = header
        self.stride = stride
        tails = .allocate(capacity: count * stride)
    }

    deinit { tails.deallocate() }

    subscript(number: Int) -> UnsafePointer<UInt8> {
        precondition(number >= 0 && number < count, "no purchase was signed under this number")
        return UnsafePointer(tails + number * stride)
    }

    /// What is bought.
    struct Template: Sendable {
        var bundleID: String
        var product: String
        /// The first transaction id; the others follow. All have the same number of digits.
        var firstTransaction: Int64
        var now: Int64

        func payload(_ number: Int) -> TransactionPayload {
            .sample(
                transactionID: String(firstTransaction + Int64(number)), bundleID: bundleID, productID: product,
                now: now)
        }
    }

    /// Signs on all cores.
    static func sign(
        _ count: Int, _ template: Template, by chain: SandboxChain, cores: Int,
        isInterrupted: @escaping @Sendable () -> Bool
    ) async throws
        -> SignedPurchases
    {
        let first = try chain.jws(payload: template.payload(0).json())
        guard let dot = first.firstIndex(of: UInt8(ascii: ".")) else { preconditionFailure("a JWS has dots") }
        let header = Array(first[...dot])
        let purchases = SignedPurchases(count: count, header: header, stride: first.count - header.count)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for core in 0..<cores {
                let part = count * core / cores..<count * (core + 1) / cores
                group.addTask { try purchases.fill(part, template, chain, isInterrupted) }
            }
            try await group.waitForAll()
        }
        return purchases
    }

    private func fill(_ part: Range<Int>, _ template: Template, _ chain: SandboxChain, _ isInterrupted: () -> Bool)
        throws
    {
        for number in part {
            if isInterrupted() { throw LoadError(.interrupted, "interrupted while purchases were signed") }
            let jws = try chain.jws(payload: template.payload(number).json())
            precondition(jws.count == header.count + stride, "purchases differ in length")
            jws.withUnsafeBufferPointer { bytes in
                guard let start = bytes.baseAddress else { return }
                (tails + number * stride).update(from: start + header.count, count: stride)
            }
        }
    }
}
