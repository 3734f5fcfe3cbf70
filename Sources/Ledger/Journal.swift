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

    package init(
        id: EntryID, time: Timestamp, kind: EntryKind, firstTransfer: TransferID, transaction: TransactionID? = nil,
        key: RequestKey? = nil, note: String? = nil
    ) {
        self.id = id
        self.time = time
        self.kind = kind
        self.firstTransfer = firstTransfer
        self.transaction = transaction
        self.key = key
        self.note = note
    }
}

/// One movement between two accounts.
package struct Transfer: Hashable, Sendable {
    package var id: TransferID
    package var entry: EntryID
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
        id: TransferID, entry: EntryID, debit: LedgerAccount, credit: LedgerAccount, amount: Int64, lot: LotID,
        debtLot: LotID?, previous: TransferID, spendOrder: SpendOrder? = nil, reference: TransferID? = nil
    ) {
        self.id = id
        self.entry = entry
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

/// The rows that a batch appends, in the order in which they were decided. Nothing in the journal is ever changed.
package struct Journal: Sendable {
    package struct CurrencyRow: Sendable {
        package var id: CurrencyID
        package var code: CurrencyCode

        package init(id: CurrencyID, code: CurrencyCode) {
            self.id = id
            self.code = code
        }
    }

    package struct AccountRow: Sendable {
        package var id: PlayerID
        package var name: AccountName
    }

    /// A purchase as it was first recorded.
    package struct PurchaseRow: Sendable {
        package var facts: PurchaseFacts
        /// What the catalog granted for the full quantity.
        package var grants: [PurchaseRegister.Grant]
        /// Whose it is; `nil` where that was not known yet (then an `AssignmentRow` says it later).
        package var account: PlayerID?
        /// Its first evidence.
        package var evidence: Int64
        /// The entry that opened its lots; `nil` where it has no account yet.
        package var entry: EntryID?
    }

    /// A JWS that said something new of a purchase.
    package struct EvidenceRow: Sendable {
        package var id: Int64
        package var transaction: TransactionID
        package var isFirst: Bool
        package var signedDate: Timestamp
        package var revoked: Int64
        package var time: Timestamp
        package var entry: EntryID?
        package var evidence: Evidence
    }

    /// The account of a purchase that was recorded without one.
    package struct AssignmentRow: Sendable {
        package var id: Int64
        package var transaction: TransactionID
        package var account: PlayerID
        package var time: Timestamp
        package var entry: EntryID
    }

    package struct NotificationRow: Sendable {
        package var id: Int64
        package var signed: SignedNotification
        package var time: Timestamp
    }

    /// A used key with its answer.
    package struct RequestRow: Sendable {
        package var id: Int64
        package var key: RequestKey
        package var fingerprint: Digest
        package var entry: EntryID?
        package var answer: [UInt8]
    }

    /// What a hold was asked for; its transfers say what it set aside.
    package struct HoldRow: Hashable, Sendable {
        /// Its first transfer.
        package var id: TransferID
        package var entry: EntryID
        package var account: PlayerID
        package var currency: CurrencyID
        package var amount: Int64
        package var expiresAt: Timestamp

        /// The hold as it was before its first transfer.
        package var opening: OpenHold { OpenHold(id: id, currency: currency, expiresAt: expiresAt) }
    }

    /// From when on a free lot can no longer be spent.
    package struct LotExpiryRow: Hashable, Sendable {
        package var lot: LotID
        package var expiresAt: Timestamp
    }

    package var currencies: [CurrencyRow] = []
    package var accounts: [AccountRow] = []
    package var entries: [Entry] = []
    package var transfers: [Transfer] = []
    package var purchases: [PurchaseRow] = []
    package var evidence: [EvidenceRow] = []
    package var assignments: [AssignmentRow] = []
    package var notifications: [NotificationRow] = []
    package var requests: [RequestRow] = []
    package var holds: [HoldRow] = []
    package var lotExpiries: [LotExpiryRow] = []

    package init() {}

    package var isEmpty: Bool {
        entries.isEmpty && evidence.isEmpty && requests.isEmpty && notifications.isEmpty && assignments.isEmpty
            && accounts.isEmpty && purchases.isEmpty && transfers.isEmpty && currencies.isEmpty && holds.isEmpty
            && lotExpiries.isEmpty
    }

    package mutating func removeAll() {
        currencies.removeAll()
        accounts.removeAll(keepingCapacity: true)
        entries.removeAll(keepingCapacity: true)
        transfers.removeAll(keepingCapacity: true)
        purchases.removeAll(keepingCapacity: true)
        evidence.removeAll(keepingCapacity: true)
        assignments.removeAll(keepingCapacity: true)
        notifications.removeAll(keepingCapacity: true)
        requests.removeAll(keepingCapacity: true)
        if !holds.isEmpty { holds.removeAll(keepingCapacity: true) }
        if !lotExpiries.isEmpty { lotExpiries.removeAll(keepingCapacity: true) }
    }

    /// How much of it there is, of the rows that an atomic may add.
    struct Extent {
        fileprivate var accounts: Int
        fileprivate var entries: Int
        fileprivate var transfers: Int
        fileprivate var holds: Int
        fileprivate var lotExpiries: Int
    }

    var extent: Extent {
        Extent(
            accounts: accounts.count, entries: entries.count, transfers: transfers.count, holds: holds.count,
            lotExpiries: lotExpiries.count)
    }

    /// Takes back what was added since; nothing of it was given to a store.
    mutating func cut(to extent: Extent) {
        accounts.removeLast(accounts.count - extent.accounts)
        entries.removeLast(entries.count - extent.entries)
        transfers.removeLast(transfers.count - extent.transfers)
        holds.removeLast(holds.count - extent.holds)
        lotExpiries.removeLast(lotExpiries.count - extent.lotExpiries)
    }
}

/// The last number given of each sequence of the journal. A block stores them, which says what rows are its own.
package struct JournalPosition: Hashable, Sendable {
    package var currency: Int64 = 0
    package var account: PlayerID = 0
    package var entry: EntryID = 0
    package var transfer: TransferID = 0
    package var evidence: Int64 = 0
    package var assignment: Int64 = 0
    package var notification: Int64 = 0
    package var request: Int64 = 0
    /// The time of the last entry.
    package var time: Timestamp = 0

    package init() {}
}
