/// What an entry did. Raw values are stored and never change.
public enum EntryKind: Int64, CaseIterable, Sendable {
    /// A purchase was credited.
    case credit = 1
    /// A purchase was revoked, wholly or in part.
    case refund = 2
    /// A refund was reversed, wholly or in part.
    case reinstatement = 3
    /// Currency was spent.
    case spend = 4
    /// Free currency was given.
    case grant = 5
    /// A spend was given back, wholly or in part.
    case reversal = 6
    /// Currency was set aside.
    case hold = 7
    /// A hold was spent, wholly or in part.
    case capture = 8
    /// A hold was given back.
    case release = 9
    /// A hold's time was over.
    case holdExpiry = 10
    /// Free currency's time was over.
    case expiry = 11
    /// Several operations happened together.
    case atomic = 12

    /// The name used on the wire and in the database's views.
    public var name: String {
        switch self {
        case .credit: "credit"
        case .refund: "refund"
        case .reinstatement: "reinstatement"
        case .spend: "spend"
        case .grant: "grant"
        case .reversal: "reversal"
        case .hold: "hold"
        case .capture: "capture"
        case .release: "release"
        case .holdExpiry: "hold_expiry"
        case .expiry: "expiry"
        case .atomic: "atomic"
        }
    }
}

/// One posted operation: 1 … n transfers that happen together.
package struct Entry: Hashable, Sendable {
    package var id: EntryID
    package var time: Timestamp
    package var kind: EntryKind
    /// Its first transfer; its last is the one before the next entry's first.
    package var firstTransfer: TransferID
    package var transaction: TransactionID?
    package var key: RequestKey?
    package var note: String?
    /// Who asked for it, by number; `nil` for what the ledger does by itself, and where nobody needs a token.
    package var actor: ActorID?

    package init(
        id: EntryID, time: Timestamp, kind: EntryKind, firstTransfer: TransferID, transaction: TransactionID? = nil,
        key: RequestKey? = nil, note: String? = nil, actor: ActorID? = nil
    ) {
        self.id = id
        self.time = time
        self.kind = kind
        self.firstTransfer = firstTransfer
        self.transaction = transaction
        self.key = key
        self.note = note
        self.actor = actor
    }
}

/// One movement between two accounts.
package struct Transfer: Hashable, Sendable {
    package var id: TransferID
    package var entry: EntryID
    /// Whose wallet the lot is in.
    package var player: PlayerID
    package var debit: LedgerAccount
    package var credit: LedgerAccount
    package var amount: Int64
    /// The lot that it opens (then its own id), fills, draws or refunds.
    package var lot: LotID
    /// Where it pays a debt: the lot whose refund the debt came from.
    package var debtLot: LotID?
    /// The transfer before it in the chain of the lot's wallet; 0 for the first.
    package var previous: TransferID
    /// Where its lot was chosen by a spend or a hold: the order under which.
    package var spendOrder: SpendOrder?
    /// The first transfer of the spend that it gives back, or of the hold that it captures, releases or lets expire.
    package var reference: TransferID?

    package init(
        id: TransferID, entry: EntryID, player: PlayerID, debit: LedgerAccount, credit: LedgerAccount, amount: Int64,
        lot: LotID, debtLot: LotID?, previous: TransferID, spendOrder: SpendOrder? = nil,
        reference: TransferID? = nil
    ) {
        self.id = id
        self.entry = entry
        self.player = player
        self.debit = debit
        self.credit = credit
        self.amount = amount
        self.lot = lot
        self.debtLot = debtLot
        self.previous = previous
        self.spendOrder = spendOrder
        self.reference = reference
    }
}

extension SpendOrder {
    /// The number stored with a transfer, which never changes.
    package var number: Int64 {
        switch self {
        case .freeFirst: 1
        case .paidFirst: 2
        case .oldest: 3
        case .dearestFirst: 4
        }
    }

    /// `nil` where the number names no order: the file was changed by other hands.
    package init?(number: Int64) {
        guard let order = SpendOrder.allCases.first(where: { $0.number == number }) else { return nil }
        self = order
    }
}
