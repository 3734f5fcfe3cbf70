import Ledger

/// What a key was answered is what its entry did.
extension Replay {
    /// One operation of a request, as the answer tells it.
    private struct Operation {
        enum Kind {
            case spend, grant, reversal, hold, capture, release, adjustment
        }

        var kind: Kind
        var drawn: [DrawnLot] = []
        var trace: KeyedAnswer.Trace?
        var expiresAt: Timestamp?
    }

    /// Compares an entry with the request that it carried out, and with the answer of that.
    func check(
        _ entry: Entry, _ own: ArraySlice<Transfer>, _ request: BlockRows.RequestRow?, _ answer: KeyedAnswer?,
        _ block: BlockNumber
    ) {
        if entry.kind == .imported {
            // One request asks for several: Replay+Imports.
            return expect(
                entry.key == request?.key, block, "entry \(entry.id) has a key that it cannot have, or lacks one")
        }
        let isKeyed = entry.kind.isKeyed
        expect((request != nil) == isKeyed, block, "entry \(entry.id) has a key that it cannot have, or lacks one")
        guard let request else { return }
        expect(entry.key == request.key, block, "entry \(entry.id) is another key's than \(request.key)")
        guard let answer else { return }
        guard let operations = operations(of: answer), answer.kind == entry.kind else {
            return fault(block, "key \(request.key) has an answer that is not of an entry like \(entry.id)")
        }
        var rest = own
        for (index, operation) in operations.enumerated() where !take(operation, from: &rest) {
            let place = operations.count > 1 ? ", operation \(index)," : ""
            return fault(block, "key \(request.key)\(place) was answered what entry \(entry.id) did not do")
        }
        expect(rest.isEmpty, block, "entry \(entry.id) did more than key \(request.key) was answered")
        checkBalances(own, request.key, answer, block)
        guard let first = own.first,
            let requests = requests(of: entry, first, own, request.key, answer)
        else { return }
        let isAsked = names(of: first.player).contains { account in
            requests.contains { $0.fingerprint(of: account, hash) == request.fingerprint }
        }
        expect(isAsked, block, "key \(request.key) asked for something else than entry \(entry.id) did")
    }

    // MARK: Requests

    /// Whatever a key may have asked for that an entry carried out: what could be left out may have been. So the
    /// fingerprint of the request is known as well.
    /// - Returns: `nil` for a spend and an atomic, which may have conditions that no row repeats, and where something
    ///   is not there, which is told elsewhere.
    private func requests(
        of entry: Entry, _ first: Transfer, _ own: ArraySlice<Transfer>, _ key: RequestKey, _ answer: KeyedAnswer
    ) -> [KeyedOperation]? {
        let account = AccountName.erased(first.player)
        switch answer {
        case .spend, .atomic, .consent, .adjustment, .imported, .refused: return nil
        case .grant:
            guard case let place = Int(lotPlaces[Int(first.id) - 1]), place >= 0,
                let amount = amount(first.amount, of: first)
            else { return nil }
            let grant = Grant(
                key: key, account: account, currency: amount.currency, amount: amount.amount, note: entry.note,
                expiresAt: lots[place].expiresAt)
            return [.grant(grant)]
        case .hold:
            guard let hold = holds[first.id]?.row, let amount = amount(hold.amount, of: first) else { return nil }
            let request = Hold(
                key: key, account: account, currency: amount.currency, amount: amount.amount,
                timeoutMilliseconds: hold.expiresAt &- entry.time)
            return [.hold(request)]
        case .reversal:
            guard let begun = begun(by: first) else { return nil }
            let units = Dictionary(grouping: own.filter { $0.debit.kind == .spent }, by: \.debit.currency)
            let debits = units.values.compactMap { amount($0.reduce(0) { $0 &+ $1.amount }, of: $0[0]) }
            let amounts = isGivenBack(first.reference) ? [debits, nil] : [debits]
            return begun.operations.flatMap { operation in
                amounts.map {
                    .reverse(Reversal(key: key, spendKey: begun.key, operation: operation, debits: $0))
                }
            }
        case .capture:
            guard let begun = begun(by: first), let hold = first.reference.flatMap({ holds[$0] }) else { return nil }
            let units = own.reduce(0) { $1.credit.kind == .spent ? $0 &+ $1.amount : $0 }
            guard let amount = Amount(units) else { return nil }
            let amounts = units == hold.row.amount ? [amount, nil] : [amount]
            return begun.operations.flatMap { operation in
                amounts.map { .capture(Capture(key: key, holdKey: begun.key, operation: operation, amount: $0)) }
            }
        case .release:
            guard let begun = begun(by: first) else { return nil }
            return begun.operations.map { .release(Release(key: key, holdKey: begun.key, operation: $0)) }
        }
    }

    private func begun(by transfer: Transfer) -> KeyBook.Begun? { transfer.reference.flatMap { keyBook[$0] } }

    private func amount(_ units: Int64, of transfer: Transfer) -> CurrencyAmount? {
        guard let currency = CurrencyCode(code(transfer.debit.currency)), let amount = Amount(units) else { return nil }
        return CurrencyAmount(currency: currency, amount: amount)
    }

    /// Whether nothing is left of what a transfer began.
    private func isGivenBack(_ first: TransferID?) -> Bool {
        guard let first, first >= 1, case let place = Int(first) - 1, place < returnable.count else { return false }
        let end = continues[(place + 1)...].firstIndex(of: false) ?? continues.count
        return returnable[place..<end].allSatisfy { $0 == 0 }
    }

    // MARK: Operations

    private func operations(of answer: KeyedAnswer) -> [Operation]? {
        switch answer {
        case .spend(let receipt, let trace): [Operation(kind: .spend, drawn: receipt.drawn, trace: trace)]
        case .grant: [Operation(kind: .grant)]
        case .reversal(let receipt): [Operation(kind: .reversal, drawn: receipt.returned)]
        case .hold(let receipt, let trace):
            [Operation(kind: .hold, trace: trace, expiresAt: receipt.expiresAt)]
        case .capture(let receipt, let trace): [Operation(kind: .capture, drawn: receipt.drawn, trace: trace)]
        case .release: [Operation(kind: .release)]
        case .atomic(let receipt, let traces, _):
            receipt.results.count == traces.count
                ? zip(receipt.results, traces).map { result, trace in
                    switch result {
                    case .spend(let drawn, _): Operation(kind: .spend, drawn: drawn, trace: trace)
                    case .reverse(let returned, _): Operation(kind: .reversal, drawn: returned)
                    case .grant: Operation(kind: .grant)
                    case .hold(let expiresAt): Operation(kind: .hold, trace: trace, expiresAt: expiresAt)
                    case .capture(let drawn, _): Operation(kind: .capture, drawn: drawn, trace: trace)
                    case .release: Operation(kind: .release)
                    }
                } : nil
        case .adjustment: [Operation(kind: .adjustment)]
        case .consent, .imported, .refused: nil
        }
    }

    /// Takes an operation's transfers; `false` where they are not what its answer says.
    private func take(_ operation: Operation, from rest: inout ArraySlice<Transfer>) -> Bool {
        guard let first = rest.first else { return false }
        if let trace = operation.trace, trace.first != first.id || trace.player != first.player { return false }
        switch operation.kind {
        case .spend: return take(operation.drawn, from: &rest, .wallet, .spent)
        case .grant:
            guard first.debit.kind == .granted else { return false }
            rest.removeFirst()
            skipWhatFollows(&rest)
        case .adjustment:
            // What it adds is one lot, what it takes may be of several.
            if first.credit.kind == .adjusted {
                while let next = rest.first, next.credit.kind == .adjusted { rest.removeFirst() }
            } else {
                guard first.debit.kind == .adjusted else { return false }
                rest.removeFirst()
                skipWhatFollows(&rest)
            }
        case .reversal: return take(operation.drawn, from: &rest, .spent, .wallet, interrupted: true)
        case .hold:
            guard let hold = holds[first.id], hold.row.expiresAt == operation.expiresAt else { return false }
            var units: Int64 = 0
            while units < hold.row.amount, let next = rest.first, next.credit.kind == .held {
                units &+= next.amount
                rest.removeFirst()
            }
        case .capture:
            guard take(operation.drawn, from: &rest, .held, .spent) else { return false }
            skipReleased(&rest, of: first.reference)
        case .release:
            guard first.debit.kind == .held, first.credit.kind == .wallet else { return false }
            skipReleased(&rest, of: first.reference)
        }
        return true
    }

    /// Takes transfers that are one for each drawn lot, in their order.
    /// - Parameter interrupted: whether what came back may pay debts or expire in between.
    private func take(
        _ drawn: [DrawnLot], from rest: inout ArraySlice<Transfer>, _ debit: AccountKind, _ credit: AccountKind,
        interrupted: Bool = false
    ) -> Bool {
        let reference = rest.first?.reference
        for part in drawn {
            if interrupted { skipWhatFollows(&rest) }
            guard let next = rest.popFirst(), next.debit.kind == debit, next.credit.kind == credit,
                next.reference == reference,
                next.lot == part.lot, next.amount == part.amount.units,
                code(next.debit.currency) == part.currency.text,
                case let place = Int(lotPlaces[Int(next.lot) - 1]), place >= 0,
                lots[place].transaction == part.transaction
            else { return false }
        }
        if interrupted { skipWhatFollows(&rest) }
        return !drawn.isEmpty
    }

    private func skipReleased(_ rest: inout ArraySlice<Transfer>, of hold: TransferID?) {
        while let next = rest.first, next.debit.kind == .held, next.credit.kind == .wallet, next.reference == hold {
            rest.removeFirst()
        }
        skipWhatFollows(&rest)
    }

    /// What came back into a wallet may expire, or pay debts, at once.
    private func skipWhatFollows(_ rest: inout ArraySlice<Transfer>) {
        while let next = rest.first, next.debit.kind == .wallet,
            next.credit.kind == .expired || next.credit.kind == .receivable
        {
            rest.removeFirst()
        }
    }

    // MARK: Balances

    /// The balances that were told are those after the entry, of all wallets that it changed.
    private func checkBalances(
        _ own: ArraySlice<Transfer>, _ key: RequestKey, _ answer: KeyedAnswer, _ block: BlockNumber
    ) {
        var told: [Int64: Balance] = [:]
        func tell(_ account: PlayerID, _ balances: [CurrencyBalance]) {
            for item in balances {
                let index = currencies.firstIndex(of: item.currency) ?? -1
                told[Replay.key(account, CurrencyID(index + 1))] = item.balance
            }
        }
        if case .atomic(let receipt, _, let players) = answer {
            for (player, balances) in zip(players, receipt.balances) { tell(player, balances.balances) }
        } else if let player = own.first?.player {
            tell(player, answer.balances)
        }
        let changed = Set(own.map { Replay.key($0.player, $0.debit.currency) })
        guard Set(told.keys) == changed else {
            return fault(block, "key \(key) was told the balances of other wallets than were changed")
        }
        for (wallet, balance) in told {
            guard let place = walletPlaces[wallet] else { continue }
            expect(
                wallets[place].balance == balance, block,
                "key \(key) was told a balance of account \(wallets[place].account) that it did not have")
        }
    }
}

extension EntryKind {
    /// Whether a request with a key asks for it.
    fileprivate var isKeyed: Bool {
        switch self {
        case .spend, .grant, .reversal, .hold, .capture, .release, .atomic, .adjustment: true
        case .credit, .refund, .reinstatement, .holdExpiry, .expiry, .link, .imported: false
        }
    }
}

extension KeyedAnswer {
    /// The kind of entry that it tells of; `nil` for a refusal.
    fileprivate var kind: EntryKind? {
        switch self {
        case .spend: .spend
        case .grant: .grant
        case .reversal: .reversal
        case .hold: .hold
        case .capture: .capture
        case .release: .release
        case .atomic: .atomic
        case .adjustment: .adjustment
        case .imported: .imported
        case .consent, .refused: nil
        }
    }

    /// Of an answer to one operation.
    fileprivate var balances: [CurrencyBalance] {
        switch self {
        case .spend(let receipt, _): receipt.balances
        case .grant(let receipt): receipt.balances
        case .reversal(let receipt): receipt.balances
        case .hold(let receipt, _): receipt.balances
        case .capture(let receipt, _): receipt.balances
        case .release(let receipt): receipt.balances
        case .adjustment(let receipt): receipt.balances
        case .atomic, .consent, .imported, .refused: []
        }
    }
}
