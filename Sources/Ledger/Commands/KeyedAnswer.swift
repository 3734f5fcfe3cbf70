/// What a keyed request was answered, as it is stored with its key and given again for ever.
package enum KeyedAnswer: Hashable, Sendable {
    /// Where a spend, a capture or a hold stands among the transfers, for requests that name its key later. Not shown
    /// on the wire.
    package struct Trace: Hashable, Sendable {
        /// Its first transfer.
        package var first: TransferID
        /// Whose it is.
        package var player: PlayerID

        package init(first: TransferID, player: PlayerID) {
            self.first = first
            self.player = player
        }
    }

    /// A spend or a capture that can be given back.
    package struct DrawnSpend: Hashable, Sendable {
        package var drawn: [DrawnLot]
        package var trace: Trace
    }

    /// A hold that can be captured or released.
    package struct NamedHold: Hashable, Sendable {
        package var trace: Trace
        package var expiresAt: Timestamp
    }

    case spend(SpendReceipt, Trace)
    case grant(GrantReceipt)
    case reversal(ReversalReceipt)
    case hold(HoldReceipt, Trace)
    case capture(CaptureReceipt, Trace)
    case release(ReleaseReceipt)
    /// A trace for each operation that is a spend, a hold or a capture; and the number of each account that the
    /// receipt shows.
    case atomic(AtomicReceipt, [Trace?], players: [PlayerID])
    case consent(ConsentReceipt)
    case adjustment(AdjustmentReceipt)
    case imported(ImportReceipt)
    case refused(Refusal.Reason, operation: Int? = nil)

    package var entry: EntryID? {
        switch self {
        case .spend(let receipt, _): receipt.entry
        case .grant(let receipt): receipt.entry
        case .reversal(let receipt): receipt.entry
        case .hold(let receipt, _): receipt.entry
        case .capture(let receipt, _): receipt.entry
        case .release(let receipt): receipt.entry
        case .atomic(let receipt, _, _): receipt.entry
        case .adjustment(let receipt): receipt.entry
        case .imported(let receipt): receipt.entry
        case .consent, .refused: nil
        }
    }

    /// What is told of it. It names the first lots only, whereas the key keeps all: requests that name it later need
    /// them.
    package func outcome(replayed: Bool) -> Outcome {
        switch self {
        case .spend(var receipt, _):
            receipt.replayed = replayed
            receipt.drawnMore = receipt.drawn.cut()
            return .spend(receipt)
        case .grant(var receipt):
            receipt.replayed = replayed
            return .grant(receipt)
        case .reversal(var receipt):
            receipt.replayed = replayed
            receipt.returnedMore = receipt.returned.cut()
            return .reversal(receipt)
        case .hold(var receipt, _):
            receipt.replayed = replayed
            return .hold(receipt)
        case .capture(var receipt, _):
            receipt.replayed = replayed
            receipt.drawnMore = receipt.drawn.cut()
            return .capture(receipt)
        case .release(var receipt):
            receipt.replayed = replayed
            return .release(receipt)
        case .atomic(var receipt, _, _):
            receipt.replayed = replayed
            for index in receipt.results.indices { receipt.results[index].cut() }
            return .atomic(receipt)
        case .consent(var receipt):
            receipt.replayed = replayed
            return .consent(receipt)
        case .adjustment(var receipt):
            receipt.replayed = replayed
            return .adjustment(receipt)
        case .imported(var receipt):
            receipt.replayed = replayed
            return .imported(receipt)
        case .refused(let reason, let operation):
            return .refused(Refusal(reason, operation: operation, replayed: replayed))
        }
    }

    // MARK: What later requests name

    /// The spend or capture that a key names: its own, or an atomic's operation of that index, which may be left out
    /// where the atomic has only one.
    package func spend(_ operation: Int?) -> DrawnSpend? { KeyedAnswer.named(operation, isAtomic, spends) }

    /// The hold that a key names, in the same way.
    package func hold(_ operation: Int?) -> NamedHold? { KeyedAnswer.named(operation, isAtomic, holds) }

    /// All spends and captures, by the index of their operation.
    package var spends: [(operation: Int, spend: DrawnSpend)] {
        switch self {
        case .spend(let receipt, let trace): [(0, DrawnSpend(drawn: receipt.drawn, trace: trace))]
        case .capture(let receipt, let trace): [(0, DrawnSpend(drawn: receipt.drawn, trace: trace))]
        case .atomic(let receipt, let traces, _):
            zip(receipt.results, traces).enumerated().compactMap { index, item in
                guard let drawn = item.0.drawn, let trace = item.1 else { return nil }
                return (index, DrawnSpend(drawn: drawn, trace: trace))
            }
        case .grant, .reversal, .hold, .release, .consent, .adjustment, .imported, .refused: []
        }
    }

    /// All holds, by the index of their operation.
    package var holds: [(operation: Int, hold: NamedHold)] {
        switch self {
        case .hold(let receipt, let trace): [(0, NamedHold(trace: trace, expiresAt: receipt.expiresAt))]
        case .atomic(let receipt, let traces, _):
            zip(receipt.results, traces).enumerated().compactMap { index, item in
                guard let expiresAt = item.0.expiresAt, let trace = item.1 else { return nil }
                return (index, NamedHold(trace: trace, expiresAt: expiresAt))
            }
        case .spend, .grant, .reversal, .capture, .release, .consent, .adjustment, .imported, .refused: []
        }
    }

    private var isAtomic: Bool {
        switch self {
        case .atomic: true
        case .spend, .grant, .reversal, .hold, .capture, .release, .consent, .adjustment, .imported, .refused: false
        }
    }

    private static func named<Named>(
        _ operation: Int?, _ isAtomic: Bool, _ all: [(operation: Int, Named)]
    ) -> Named? {
        if let operation { return isAtomic ? all.first { $0.operation == operation }?.1 : nil }
        return all.count == 1 ? all[0].1 : nil
    }

    /// What stands of it in the answer of the atomic that it is an operation of.
    var atomicResult: (AtomicReceipt.Result, Trace?) {
        switch self {
        case .spend(let receipt, let trace): (.spend(drawn: receipt.drawn), trace)
        case .grant: (.grant, nil)
        case .reversal(let receipt): (.reverse(returned: receipt.returned), nil)
        case .hold(let receipt, let trace): (.hold(expiresAt: receipt.expiresAt), trace)
        case .capture(let receipt, let trace): (.capture(drawn: receipt.drawn), trace)
        case .release: (.release, nil)
        case .atomic, .consent, .adjustment, .imported, .refused:
            preconditionFailure("an operation of an atomic is one of six, and was carried out")
        }
    }
}

extension [DrawnLot] {
    /// Leaves what a receipt names.
    /// - Returns: how many more there were.
    fileprivate mutating func cut() -> Int {
        let more = count - Limits.lotsPerReceiptMax
        if more <= 0 { return 0 }
        // The few are copied: a reply that waits must not keep all of them in memory.
        self = Array(prefix(Limits.lotsPerReceiptMax))
        return more
    }
}

extension AtomicReceipt.Result {
    fileprivate mutating func cut() {
        switch self {
        case .spend(var drawn, _):
            let more = drawn.cut()
            if more > 0 { self = .spend(drawn: drawn, more: more) }
        case .reverse(var returned, _):
            let more = returned.cut()
            if more > 0 { self = .reverse(returned: returned, more: more) }
        case .capture(var drawn, _):
            let more = drawn.cut()
            if more > 0 { self = .capture(drawn: drawn, more: more) }
        case .grant, .hold, .release: break
        }
    }

    fileprivate var drawn: [DrawnLot]? {
        switch self {
        case .spend(let drawn, _), .capture(let drawn, _): drawn
        case .reverse, .grant, .hold, .release: nil
        }
    }

    fileprivate var expiresAt: Timestamp? {
        switch self {
        case .hold(let expiresAt): expiresAt
        case .spend, .capture, .reverse, .grant, .release: nil
        }
    }
}
