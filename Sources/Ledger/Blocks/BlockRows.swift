/// The rows that a batch appends, in the order in which they were decided: what a ``Block`` holds. Nothing in the
/// journal is ever changed.
package struct BlockRows: Sendable {
    /// Whose books these are: the one row of the first block, and of no other.
    package struct LedgerRow: Hashable, Sendable {
        package var bundleID: String
        package var environment: String

        package init(bundleID: String, environment: String) {
            self.bundleID = bundleID
            self.environment = environment
        }
    }

    package struct CurrencyRow: Hashable, Sendable {
        package var id: CurrencyID
        package var code: CurrencyCode

        package init(id: CurrencyID, code: CurrencyCode) {
            self.id = id
            self.code = code
        }
    }

    /// A token's name, which entries refer to by number.
    package struct ActorRow: Hashable, Sendable {
        package var id: ActorID
        package var name: String

        package init(id: ActorID, name: String) {
            self.id = id
            self.name = name
        }
    }

    package struct AccountRow: Hashable, Sendable {
        package var id: PlayerID
        /// `nil` where it was erased from the block.
        package var name: AccountName?

        package init(id: PlayerID, name: AccountName?) {
            self.id = id
            self.name = name
        }
    }

    /// The header segment of JWS, as it was sent: the same for every purchase that one certificate signs.
    package struct HeaderRow: Hashable, Sendable {
        package var id: HeaderID
        package var text: ArraySlice<UInt8>

        package init(id: HeaderID, text: ArraySlice<UInt8>) {
            self.id = id
            self.text = text
        }
    }

    /// What is said once of a lot: with the transfer that opens it.
    package struct LotRow: Hashable, Sendable {
        /// The transfer that opens it.
        package var id: LotID
        package var lotClass: LotClass
        /// Its share of what was paid, in thousandths of the price's currency; 0 where unknown or free.
        package var price: Int64
        /// From when on it can no longer be spent; free lots only.
        package var expiresAt: Timestamp?

        package init(id: LotID, lotClass: LotClass, price: Int64, expiresAt: Timestamp?) {
            self.id = id
            self.lotClass = lotClass
            self.price = price
            self.expiresAt = expiresAt
        }
    }

    /// A purchase as it was first recorded.
    package struct PurchaseRow: Hashable, Sendable {
        package var facts: PurchaseFacts
        /// What the catalog granted for the full quantity.
        package var grants: [PurchaseRegister.Grant]
        /// Whose it is; `nil` where that was not known yet (then an `AssignmentRow` says it later).
        package var account: PlayerID?
        /// Its first evidence.
        package var evidence: EvidenceID
        /// The entry that opened its lots; `nil` where it has no account yet.
        package var entry: EntryID?

        package init(
            facts: PurchaseFacts, grants: [PurchaseRegister.Grant], account: PlayerID?, evidence: EvidenceID,
            entry: EntryID?
        ) {
            self.facts = facts
            self.grants = grants
            self.account = account
            self.evidence = evidence
            self.entry = entry
        }
    }

    /// A JWS that said something new of a purchase. `header.text`, a dot, and payload and signature in base64url with
    /// a dot between them are the JWS again, byte for byte.
    package struct EvidenceRow: Hashable, Sendable {
        package var id: EvidenceID
        package var transaction: TransactionID
        package var isFirst: Bool
        package var signedDate: Timestamp
        package var revoked: Int64
        package var time: Timestamp
        package var entry: EntryID?
        package var header: HeaderID
        package var payload: ArraySlice<UInt8>
        /// The 64 bytes r‖s.
        package var signature: ArraySlice<UInt8>

        package init(
            id: EvidenceID, transaction: TransactionID, isFirst: Bool, signedDate: Timestamp, revoked: Int64,
            time: Timestamp, entry: EntryID?, header: HeaderID, payload: ArraySlice<UInt8>,
            signature: ArraySlice<UInt8>
        ) {
            self.id = id
            self.transaction = transaction
            self.isFirst = isFirst
            self.signedDate = signedDate
            self.revoked = revoked
            self.time = time
            self.entry = entry
            self.header = header
            self.payload = payload
            self.signature = signature
        }
    }

    /// The account of a purchase that was recorded without one.
    package struct AssignmentRow: Hashable, Sendable {
        package var id: Int64
        package var transaction: TransactionID
        package var account: PlayerID
        package var time: Timestamp
        package var entry: EntryID

        package init(id: Int64, transaction: TransactionID, account: PlayerID, time: Timestamp, entry: EntryID) {
            self.id = id
            self.transaction = transaction
            self.account = account
            self.time = time
            self.entry = entry
        }
    }

    /// A verified notification, once. The header segment of the transaction nested in its payload is cut out: the
    /// payload as it was signed is `payload[..nested.at]`, the nested header's text, `payload[nested.at..]`.
    package struct NotificationRow: Hashable, Sendable {
        /// The header segment that was cut out of the payload, and where.
        package struct Nested: Hashable, Sendable {
            package var header: HeaderID
            package var at: Int64

            package init(header: HeaderID, at: Int64) {
                self.header = header
                self.at = at
            }
        }

        package var id: Int64
        package var uuid: String
        package var type: String
        package var subtype: String?
        package var signedDate: Timestamp
        /// Why the customer asked for a refund, where Apple asks how much was consumed.
        package var reason: String?
        package var time: Timestamp
        /// The purchase that it carries, where that grants currency.
        package var transaction: TransactionID?
        /// The transaction that it is about, where that grants nothing.
        package var subject: TransactionID?
        package var header: HeaderID
        package var payload: ArraySlice<UInt8>
        package var nested: Nested?
        /// The 64 bytes r‖s.
        package var signature: ArraySlice<UInt8>

        package init(
            id: Int64, uuid: String, type: String, subtype: String?, signedDate: Timestamp, reason: String?,
            time: Timestamp, transaction: TransactionID?, subject: TransactionID? = nil, header: HeaderID,
            payload: ArraySlice<UInt8>, nested: Nested?, signature: ArraySlice<UInt8>
        ) {
            self.id = id
            self.uuid = uuid
            self.type = type
            self.subtype = subtype
            self.signedDate = signedDate
            self.reason = reason
            self.time = time
            self.transaction = transaction
            self.subject = subject
            self.header = header
            self.payload = payload
            self.nested = nested
            self.signature = signature
        }
    }

    /// A used key with its answer.
    package struct RequestRow: Hashable, Sendable {
        package var id: Int64
        package var key: RequestKey
        package var fingerprint: Digest
        package var entry: EntryID?
        package var answer: ArraySlice<UInt8>

        package init(id: Int64, key: RequestKey, fingerprint: Digest, entry: EntryID?, answer: ArraySlice<UInt8>) {
            self.id = id
            self.key = key
            self.fingerprint = fingerprint
            self.entry = entry
            self.answer = answer
        }
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

        package init(
            id: TransferID, entry: EntryID, account: PlayerID, currency: CurrencyID, amount: Int64,
            expiresAt: Timestamp
        ) {
            self.id = id
            self.entry = entry
            self.account = account
            self.currency = currency
            self.amount = amount
            self.expiresAt = expiresAt
        }

        /// The hold as it was before its first transfer.
        package var opening: OpenHold { OpenHold(id: id, currency: currency, expiresAt: expiresAt) }
    }

    /// An account's name was erased: from now on it is an account without a name, and another may get that name.
    package struct ErasureRow: Hashable, Sendable {
        package var account: PlayerID
        package var time: Timestamp
        package var actor: ActorID?

        package init(account: PlayerID, time: Timestamp, actor: ActorID?) {
            self.account = account
            self.time = time
            self.actor = actor
        }
    }

    /// From its block on decisions follow another catalog.
    package struct CatalogRow: Hashable, Sendable {
        /// 1 of the first, and one more of each that follows.
        package var version: Int64
        /// SHA-256 of the catalog's file.
        package var digest: Digest
        package var time: Timestamp

        package init(version: Int64, digest: Digest, time: Timestamp) {
            self.version = version
            self.digest = digest
            self.time = time
        }
    }

    /// The first block's only: whose books these are.
    package var ledger: LedgerRow?
    package var currencies: [CurrencyRow] = []
    package var actors: [ActorRow] = []
    package var accounts: [AccountRow] = []
    package var headers: [HeaderRow] = []
    package var entries: [Entry] = []
    package var transfers: [Transfer] = []
    package var lots: [LotRow] = []
    package var purchases: [PurchaseRow] = []
    package var evidence: [EvidenceRow] = []
    package var assignments: [AssignmentRow] = []
    package var notifications: [NotificationRow] = []
    package var requests: [RequestRow] = []
    package var holds: [HoldRow] = []
    /// Accounts whose names were erased from the blocks that added them.
    package var erasures: [ErasureRow] = []
    /// The end of the period that was closed last: entries from now on are later.
    package var closedThrough: Timestamp?
    package var links: [LinkRow] = []
    package var consents: [ConsentRow] = []
    package var calls: [CallRow] = []
    /// Periods that somebody closed by name; each is later than the one before.
    package var closings: [ClosingRow] = []
    /// What other stores call the purchases that they sold.
    package var externals: [ExternalRow] = []
    package var statements: [StatementRow] = []
    package var adjustments: [AdjustmentRow] = []
    /// Catalogs that decisions follow from this block on, each later than the one before.
    package var catalogs: [CatalogRow] = []

    package init() {}

    package var isEmpty: Bool {
        entries.isEmpty && evidence.isEmpty && requests.isEmpty && notifications.isEmpty && assignments.isEmpty
            && accounts.isEmpty && purchases.isEmpty && transfers.isEmpty && currencies.isEmpty && holds.isEmpty
            && lots.isEmpty && headers.isEmpty && actors.isEmpty && erasures.isEmpty && ledger == nil
            && closedThrough == nil && links.isEmpty && consents.isEmpty && calls.isEmpty && closings.isEmpty
            && externals.isEmpty && statements.isEmpty && adjustments.isEmpty && catalogs.isEmpty
    }

    /// Whether nobody asked for any of it: only holds and lots whose time is over.
    package var isOnlyWhatFellDue: Bool {
        requests.isEmpty && evidence.isEmpty && notifications.isEmpty && assignments.isEmpty && closedThrough == nil
            && currencies.isEmpty && erasures.isEmpty && ledger == nil && links.isEmpty && consents.isEmpty
            && calls.isEmpty && closings.isEmpty && externals.isEmpty && statements.isEmpty && catalogs.isEmpty
            && entries.allSatisfy { $0.kind == .expiry || $0.kind == .holdExpiry }
    }

    /// How many operations made it, about; those that are neither asked for under a key nor signed by Apple are few.
    package var operationCount: Int {
        requests.count + evidence.count + notifications.count + links.count + consents.count + calls.count
            + statements.count
    }

    /// Adds what was decided behind it.
    mutating func append(_ later: BlockRows) {
        precondition(later.ledger == nil, "only the first block says whose books these are")
        currencies += later.currencies
        actors += later.actors
        accounts += later.accounts
        headers += later.headers
        entries += later.entries
        transfers += later.transfers
        lots += later.lots
        purchases += later.purchases
        evidence += later.evidence
        assignments += later.assignments
        notifications += later.notifications
        requests += later.requests
        holds += later.holds
        erasures += later.erasures
        closedThrough = later.closedThrough ?? closedThrough
        links += later.links
        consents += later.consents
        calls += later.calls
        closings += later.closings
        externals += later.externals
        statements += later.statements
        adjustments += later.adjustments
        catalogs += later.catalogs
    }

    /// How much of it there is, of the rows that an atomic may add.
    struct Extent {
        fileprivate var actors: Int
        fileprivate var accounts: Int
        fileprivate var entries: Int
        fileprivate var transfers: Int
        fileprivate var lots: Int
        fileprivate var holds: Int
    }

    var extent: Extent {
        Extent(
            actors: actors.count, accounts: accounts.count, entries: entries.count, transfers: transfers.count,
            lots: lots.count,
            holds: holds.count)
    }

    /// Takes back what was added since; nothing of it was given to a log.
    mutating func cut(to extent: Extent) {
        actors.removeLast(actors.count - extent.actors)
        accounts.removeLast(accounts.count - extent.accounts)
        entries.removeLast(entries.count - extent.entries)
        transfers.removeLast(transfers.count - extent.transfers)
        lots.removeLast(lots.count - extent.lots)
        holds.removeLast(holds.count - extent.holds)
    }
}

/// The last number given of each sequence of rows.
package struct LastNumbers: Hashable, Sendable {
    package var currency: Int64 = 0
    package var actor: ActorID = 0
    package var account: PlayerID = 0
    package var header: HeaderID = 0
    package var entry: EntryID = 0
    package var transfer: TransferID = 0
    package var evidence: EvidenceID = 0
    package var assignment: Int64 = 0
    package var notification: Int64 = 0
    package var request: Int64 = 0
    /// The time of the last entry.
    package var time: Timestamp = 0

    package init() {}

    /// Whether it has every number that an earlier or the same position has.
    package func hasReached(_ other: LastNumbers) -> Bool {
        currency >= other.currency && actor >= other.actor && account >= other.account && header >= other.header
            && entry >= other.entry && transfer >= other.transfer && evidence >= other.evidence
            && assignment >= other.assignment && notification >= other.notification && request >= other.request
    }
}

extension Digest {
    /// The identity of a ledger: SHA-256 of `currency-ledger 1`, the bundle id and the environment, each followed by a
    /// zero byte.
    package init(of ledger: BlockRows.LedgerRow, _ hash: HashFunction) {
        var bytes: [UInt8] = []
        for text in ["currency-ledger 1", ledger.bundleID, ledger.environment] {
            bytes.append(contentsOf: text.utf8)
            bytes.append(0)
        }
        self.init(of: bytes, hash)
    }
}
