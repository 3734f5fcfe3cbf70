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
        switch number {
        case 1: self = .freeFirst
        case 2: self = .paidFirst
        case 3: self = .oldest
        case 4: self = .dearestFirst
        default: return nil
        }
    }
}
