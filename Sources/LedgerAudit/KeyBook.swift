import Ledger

/// The keys of spends, captures and holds: what a reversal, a capture or a release names.
struct KeyBook {
    /// What the transfers from one on carry out.
    struct Begun {
        var key: RequestKey
        /// Its place among the operations of an atomic.
        var operation: Int?

        /// How a request may name the operation: where it is the only one of its kind, it may be left out.
        var operations: [Int?] { operation == nil ? [nil] : [nil, operation] }
    }

    /// First transfers, each later than the one before.
    private var firsts: [TransferID] = []
    /// Where each one's part of `text` ends.
    private var ends: [Int] = []
    /// Of each its place among the operations, or ``single``, and its key.
    private var text: [UInt8] = []

    private static let single = UInt8.max

    mutating func add(_ begun: Begun, at first: TransferID) {
        firsts.append(first)
        text.append(begun.operation.map { UInt8(clamping: $0) } ?? KeyBook.single)
        text += begun.key.text.utf8
        ends.append(text.count)
    }

    /// - Returns: `nil` where nothing begins with the transfer.
    subscript(first: TransferID) -> Begun? {
        var (low, high) = (0, firsts.count)
        while low < high {
            let middle = (low + high) / 2
            if firsts[middle] < first { low = middle + 1 } else { high = middle }
        }
        guard low < firsts.count, firsts[low] == first else { return nil }
        let part = text[(low == 0 ? 0 : ends[low - 1])..<ends[low]]
        guard let operation = part.first, let key = RequestKey(String(decoding: part.dropFirst(), as: UTF8.self)) else {
            return nil
        }
        return Begun(key: key, operation: operation == KeyBook.single ? nil : Int(operation))
    }
}
