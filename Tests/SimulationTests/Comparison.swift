import Ledger

/// Answers as values that can be compared. Of the transfers of an entry the order is not promised, nor therefore their
/// numbers.
enum Comparison {
    static func isSame(_ left: Outcome, _ right: Outcome) -> Bool {
        switch (left, right) {
        case (.purchase(let left), .purchase(let right)): left == right
        case (.notification(let left), .notification(let right)): left == right
        case (.spend(let left), .spend(let right)): left == right
        case (.grant(let left), .grant(let right)): left == right
        case (.reversal(let left), .reversal(let right)): left == right
        case (.hold(let left), .hold(let right)): left == right
        case (.capture(let left), .capture(let right)): left == right
        case (.release(let left), .release(let right)): left == right
        case (.atomic(let left), .atomic(let right)): left == right
        case (.expired(let left), .expired(let right)): left == right
        case (.balance(let left), .balance(let right)): left == right
        case (.link(let left), .link(let right)): left == right
        case (.consent(let left), .consent(let right)): left == right
        case (.forgotten(let left), .forgotten(let right)): left == right
        case (.refused(let left), .refused(let right)): left == right
        case (.report(let left), .report(let right)): left == right
        case (.purchaseView(let left), .purchaseView(let right)):
            bare(left) == bare(right)
        case (.history(let left), .history(let right)):
            left.next == right.next && left.entries.map(normal) == right.entries.map(normal)
        case (.lots(let left), .lots(let right)): left == right
        case (.holds(let left), .holds(let right)): left == right
        case (.journal(let left), .journal(let right)):
            left.next == right.next && left.entries.map(normal) == right.entries.map(normal)
        case (.finding(let left), .finding(let right)): normal(left) == normal(right)
        default: false
        }
    }

    /// Without what it was told: that the model does not say.
    private static func bare(_ view: PurchaseView) -> PurchaseView {
        var view = view
        (view.events, view.next) = ([], nil)
        return view
    }

    private static func normal(_ entry: HistoryEntry) -> HistoryEntry {
        var entry = entry
        entry.transfers.sort {
            ($0.lot, $0.debit.rawValue, $0.credit.rawValue, $0.amount.units, $0.debtLot ?? 0)
                < ($1.lot, $1.debit.rawValue, $1.credit.rawValue, $1.amount.units, $1.debtLot ?? 0)
        }
        return entry
    }

    private static func normal(_ entry: JournalEntry) -> JournalEntry {
        var entry = entry
        let numbers = entry.transfers.map(\.transfer)
        entry.transfers.sort {
            ($0.lot, $0.debit.rawValue, $0.credit.rawValue, $0.amount.units, $0.debtLot ?? 0)
                < ($1.lot, $1.debit.rawValue, $1.credit.rawValue, $1.amount.units, $1.debtLot ?? 0)
        }
        for (place, number) in zip(entry.transfers.indices, numbers.sorted()) {
            entry.transfers[place].transfer = number
        }
        return entry
    }

    private static func normal(_ finding: Finding) -> Finding {
        switch finding {
        case .unknown, .account: return finding
        case .purchase(var purchase):
            purchase.entry = purchase.entry.map(normal)
            return .purchase(purchase)
        case .request(var request):
            if case .posted(let entry) = request.answer { request.answer = .posted(normal(entry)) }
            return .request(request)
        }
    }
}
