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

    /// The name used on the wire and in the database's views.
    public var name: String {
        switch self {
        case .credit: "credit"
        case .refund: "refund"
        case .reinstatement: "reinstatement"
        case .spend: "spend"
        case .grant: "grant"
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

    package init(
        id: TransferID, entry: EntryID, debit: LedgerAccount, credit: LedgerAccount, amount: Int64, lot: LotID,
        debtLot: LotID?, previous: TransferID
    ) {
        self.id = id
        self.entry = entry
        self.debit = debit
        self.credit = credit
        self.amount = amount
        self.lot = lot
        self.debtLot = debtLot
        self.previous = previous
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

    package var currencies: [CurrencyRow] = []
    package var accounts: [AccountRow] = []
    package var entries: [Entry] = []
    package var transfers: [Transfer] = []
    package var purchases: [PurchaseRow] = []
    package var evidence: [EvidenceRow] = []
    package var assignments: [AssignmentRow] = []
    package var notifications: [NotificationRow] = []
    package var requests: [RequestRow] = []

    package init() {}

    package var isEmpty: Bool {
        entries.isEmpty && evidence.isEmpty && requests.isEmpty && notifications.isEmpty && assignments.isEmpty
            && accounts.isEmpty && purchases.isEmpty && transfers.isEmpty && currencies.isEmpty
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
