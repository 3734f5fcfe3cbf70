/// One wallet's balance. `available` is never negative.
public struct Balance: Hashable, Sendable {
    /// What can be spent.
    public var available: Int64
    /// What holds have set aside.
    public var held: Int64
    /// What later credits pay first.
    public var debt: Int64
    /// The part of `available` that was bought.
    public var paid: Int64
    /// How many entries have changed the wallet.
    public var version: Int64

    /// The part of `available` that was given.
    public var free: Int64 { available - paid }

    /// A balance; all zero for a wallet never touched.
    public init(available: Int64 = 0, held: Int64 = 0, debt: Int64 = 0, paid: Int64 = 0, version: Int64 = 0) {
        self.available = available
        self.held = held
        self.debt = debt
        self.paid = paid
        self.version = version
    }
}

/// A wallet's balance with its currency.
public struct CurrencyBalance: Hashable, Sendable {
    /// The currency.
    public var currency: CurrencyCode
    /// The balance.
    public var balance: Balance

    /// A wallet's balance with its currency.
    public init(currency: CurrencyCode, balance: Balance) {
        self.currency = currency
        self.balance = balance
    }
}

/// What a signed transaction did.
public enum PurchaseOutcome: String, CaseIterable, Sendable {
    /// The purchase was credited now.
    case credited
    /// It stands already as this or a newer JWS says.
    case alreadyCredited = "already_credited"
    /// The JWS carried a revocation, whole or in part, not seen before.
    case reversed
    /// It is revoked already, wholly or in part, as this or a newer JWS says.
    case alreadyReversed = "already_reversed"
    /// A refund was itself reversed.
    case reinstated
    /// Recorded, but no account is known yet; a later credit that names one posts it.
    case unassigned
}

/// A signed change of one currency.
public struct PostedAmount: Hashable, Sendable {
    /// The currency.
    public var currency: CurrencyCode
    /// Negative for a reversal.
    public var units: Int64

    /// A signed change of one currency.
    public init(currency: CurrencyCode, units: Int64) {
        self.currency = currency
        self.units = units
    }
}

/// The answer to `credit`, and to a `notify` that carries a consumable's transaction.
public struct PurchaseReceipt: Hashable, Sendable {
    /// What the JWS did.
    public var outcome: PurchaseOutcome
    /// The purchase.
    public var transaction: TransactionID
    /// Whose it is; `nil` where it is unassigned.
    public var account: AccountName?
    /// What this request changed; empty where nothing.
    public var posted: [PostedAmount]
    /// The wallets of the currencies that the purchase grants.
    public var balances: [CurrencyBalance]
    /// The last entry that posted something for the purchase.
    public var entry: EntryID?
    /// Whether the app may call `Transaction.finish()`.
    public var finish: Bool

    /// The answer to `credit`.
    public init(
        outcome: PurchaseOutcome, transaction: TransactionID, account: AccountName?, posted: [PostedAmount],
        balances: [CurrencyBalance], entry: EntryID?, finish: Bool
    ) {
        self.outcome = outcome
        self.transaction = transaction
        self.account = account
        self.posted = posted
        self.balances = balances
        self.entry = entry
        self.finish = finish
    }
}

/// The answer to `notify`.
public struct NotificationReceipt: Hashable, Sendable {
    /// Apple's type, as sent.
    public var type: String
    /// Apple's subtype, as sent.
    public var subtype: String?
    /// Apple's id of the notification, on which it is deduplicated.
    public var uuid: String
    /// Whether it had been recorded before.
    public var duplicate: Bool
    /// What the consumable's transaction in it did; `nil` where it carries none.
    public var purchase: PurchaseReceipt?

    /// The answer to `notify`.
    public init(type: String, subtype: String?, uuid: String, duplicate: Bool, purchase: PurchaseReceipt?) {
        self.type = type
        self.subtype = subtype
        self.uuid = uuid
        self.duplicate = duplicate
        self.purchase = purchase
    }
}

/// What a spend took from one lot.
public struct DrawnLot: Hashable, Sendable {
    /// The currency.
    public var currency: CurrencyCode
    /// How much of it.
    public var amount: Amount
    /// From which lot.
    public var lot: LotID
    /// The purchase that the lot came from; `nil` for free currency.
    public var transaction: TransactionID?

    /// What a spend took from one lot.
    public init(currency: CurrencyCode, amount: Amount, lot: LotID, transaction: TransactionID?) {
        self.currency = currency
        self.amount = amount
        self.lot = lot
        self.transaction = transaction
    }
}

/// The answer to `spend`.
public struct SpendReceipt: Hashable, Sendable {
    /// The entry that posted it.
    public var entry: EntryID
    /// Whether this is the first answer given again.
    public var replayed: Bool
    /// The lots it drew, in the order drawn.
    public var drawn: [DrawnLot]
    /// The wallets it touched.
    public var balances: [CurrencyBalance]

    /// The answer to `spend`.
    public init(entry: EntryID, replayed: Bool, drawn: [DrawnLot], balances: [CurrencyBalance]) {
        self.entry = entry
        self.replayed = replayed
        self.drawn = drawn
        self.balances = balances
    }
}

/// The answer to `grant`.
public struct GrantReceipt: Hashable, Sendable {
    /// The entry that posted it.
    public var entry: EntryID
    /// Whether this is the first answer given again.
    public var replayed: Bool
    /// The wallet it touched.
    public var balances: [CurrencyBalance]

    /// The answer to `grant`.
    public init(entry: EntryID, replayed: Bool, balances: [CurrencyBalance]) {
        self.entry = entry
        self.replayed = replayed
        self.balances = balances
    }
}

/// The answer to `reverse`.
public struct ReversalReceipt: Hashable, Sendable {
    /// The entry that posted it.
    public var entry: EntryID
    /// Whether this is the first answer given again.
    public var replayed: Bool
    /// What went back into which lots.
    public var returned: [DrawnLot]
    /// The wallets it touched.
    public var balances: [CurrencyBalance]

    /// The answer to `reverse`.
    public init(entry: EntryID, replayed: Bool, returned: [DrawnLot], balances: [CurrencyBalance]) {
        self.entry = entry
        self.replayed = replayed
        self.returned = returned
        self.balances = balances
    }
}

/// The answer to `hold`.
public struct HoldReceipt: Hashable, Sendable {
    /// The entry that posted it.
    public var entry: EntryID
    /// Whether this is the first answer given again.
    public var replayed: Bool
    /// When the hold is released by itself.
    public var expiresAt: Timestamp
    /// The wallet it touched.
    public var balances: [CurrencyBalance]

    /// The answer to `hold`.
    public init(entry: EntryID, replayed: Bool, expiresAt: Timestamp, balances: [CurrencyBalance]) {
        self.entry = entry
        self.replayed = replayed
        self.expiresAt = expiresAt
        self.balances = balances
    }
}

/// The answer to `capture`.
public struct CaptureReceipt: Hashable, Sendable {
    /// The entry that posted it.
    public var entry: EntryID
    /// Whether this is the first answer given again.
    public var replayed: Bool
    /// The lots it spent from.
    public var drawn: [DrawnLot]
    /// The wallet it touched.
    public var balances: [CurrencyBalance]

    /// The answer to `capture`.
    public init(entry: EntryID, replayed: Bool, drawn: [DrawnLot], balances: [CurrencyBalance]) {
        self.entry = entry
        self.replayed = replayed
        self.drawn = drawn
        self.balances = balances
    }
}

/// The answer to `release`.
public struct ReleaseReceipt: Hashable, Sendable {
    /// The entry that posted it.
    public var entry: EntryID
    /// Whether this is the first answer given again.
    public var replayed: Bool
    /// The wallet it touched.
    public var balances: [CurrencyBalance]

    /// The answer to `release`.
    public init(entry: EntryID, replayed: Bool, balances: [CurrencyBalance]) {
        self.entry = entry
        self.replayed = replayed
        self.balances = balances
    }
}

/// The answer to `atomic`.
public struct AtomicReceipt: Hashable, Sendable {
    /// What one operation did.
    public enum Result: Hashable, Sendable {
        /// The lots it drew.
        case spend(drawn: [DrawnLot])
        /// What went back into which lots.
        case reverse(returned: [DrawnLot])
        /// A grant.
        case grant
        /// When the hold is released by itself.
        case hold(expiresAt: Timestamp)
        /// The lots it spent from.
        case capture(drawn: [DrawnLot])
        /// A release.
        case release
    }

    /// The entry that posted all of it.
    public var entry: EntryID
    /// Whether this is the first answer given again.
    public var replayed: Bool
    /// One for each operation, in their order.
    public var results: [Result]
    /// The wallets that all of it touched, by account in the order of their names, after all of it.
    public var balances: [AccountBalances]

    /// The answer to `atomic`.
    public init(entry: EntryID, replayed: Bool, results: [Result], balances: [AccountBalances]) {
        self.entry = entry
        self.replayed = replayed
        self.results = results
        self.balances = balances
    }
}

/// The answer to `balance`.
public struct AccountBalances: Hashable, Sendable {
    /// Whose.
    public var account: AccountName
    /// Every wallet that the account has, by currency; empty for an account never seen.
    public var balances: [CurrencyBalance]

    /// The answer to `balance`.
    public init(account: AccountName, balances: [CurrencyBalance]) {
        self.account = account
        self.balances = balances
    }
}

/// The answer to `purchase`: everything the ledger knows of one purchase.
public struct PurchaseView: Hashable, Sendable {
    /// How much of a purchase stands.
    public enum State: String, CaseIterable, Sendable {
        /// All of it.
        case standing
        /// A part of it is revoked.
        case partlyRevoked = "partly_revoked"
        /// None of it.
        case revoked
        /// No account is known yet.
        case unassigned
    }

    /// One lot that the purchase opened.
    public struct Grant: Hashable, Sendable {
        /// The lot; `nil` while the purchase is unassigned.
        public var lot: LotID?
        /// The currency.
        public var currency: CurrencyCode
        /// What the catalog granted for the full quantity.
        public var granted: Int64
        /// What was spent of it.
        public var spent: Int64
        /// What holds have set aside of it.
        public var held: Int64
        /// What is revoked of it.
        public var revoked: Int64
        /// What of the revoked part is still owed.
        public var debt: Int64
        /// What of the revoked part was written off.
        public var writtenOff: Int64
        /// What of it paid debts.
        public var repaid: Int64
        /// What is left to spend.
        public var remaining: Int64

        /// One lot of a purchase.
        public init(
            lot: LotID?, currency: CurrencyCode, granted: Int64, spent: Int64, held: Int64, revoked: Int64,
            debt: Int64, writtenOff: Int64, repaid: Int64, remaining: Int64
        ) {
            self.lot = lot
            self.currency = currency
            self.granted = granted
            self.spent = spent
            self.held = held
            self.revoked = revoked
            self.debt = debt
            self.writtenOff = writtenOff
            self.repaid = repaid
            self.remaining = remaining
        }
    }

    /// One thing that the ledger was told of the purchase.
    public struct Event: Hashable, Sendable {
        /// What it was told.
        public enum Kind: String, CaseIterable, Sendable {
            /// A JWS that said something new.
            case signed
            /// The account, by a JWS that said nothing else that was new.
            case assigned
            /// Apple asks how much was consumed: the answer is due by `deadline`.
            case consumptionRequest = "consumption_request"
            /// Apple declined a refund.
            case refundDeclined = "refund_declined"
        }

        /// What it was told.
        public var kind: Kind
        /// When the ledger recorded it.
        public var time: Timestamp
        /// When Apple signed it; `nil` for an account's assignment.
        public var signedDate: Timestamp?
        /// The share that a JWS says is revoked, 0 … 100000.
        public var revoked: Int64?
        /// The entry that it posted; `nil` where it changed nothing.
        public var entry: EntryID?
        /// Why the customer asked for a refund, as Apple says it.
        public var reason: String?

        /// Until when Apple takes an answer: 12 hours after it asked.
        public var deadline: Timestamp? {
            kind == .consumptionRequest ? signedDate.map { $0 + Limits.consumptionAnswerMilliseconds } : nil
        }

        /// One thing that the ledger was told of a purchase.
        public init(
            kind: Kind = .signed, time: Timestamp, signedDate: Timestamp?, revoked: Int64?, entry: EntryID?,
            reason: String? = nil
        ) {
            self.kind = kind
            self.time = time
            self.signedDate = signedDate
            self.revoked = revoked
            self.entry = entry
            self.reason = reason
        }

        /// The order in which events are told: by time, then by kind; events that are equal in both keep their order.
        package static func isEarlier(_ left: Event, _ right: Event) -> Bool {
            (left.time, left.kind.rank) < (right.time, right.kind.rank)
        }
    }

    /// The purchase.
    public var transaction: TransactionID
    /// How much of it stands.
    public var state: State
    /// Whose it is.
    public var account: AccountName?
    /// The product bought.
    public var product: String
    /// How many of it.
    public var quantity: Int64
    /// When it was bought.
    public var purchaseDate: Timestamp
    /// The price in thousandths of `priceCurrency`, as Apple states it.
    public var price: Int64?
    /// The ISO 4217 code of the price.
    public var priceCurrency: String?
    /// The share that is revoked, 0 … 100000 thousandths of a percent.
    public var revoked: Int64
    /// What it granted, a lot for each currency.
    public var grants: [Grant]
    /// What was spent of it, 0 … 100000 thousandths of a percent; every currency weighs the same.
    public var consumption: Int64
    /// What the ledger was told of it, in the order of arrival.
    public var events: [Event]

    /// Everything the ledger knows of one purchase.
    public init(
        transaction: TransactionID, state: State, account: AccountName?, product: String, quantity: Int64,
        purchaseDate: Timestamp, price: Int64?, priceCurrency: String?, revoked: Int64, grants: [Grant],
        consumption: Int64, events: [Event]
    ) {
        self.transaction = transaction
        self.state = state
        self.account = account
        self.product = product
        self.quantity = quantity
        self.purchaseDate = purchaseDate
        self.price = price
        self.priceCurrency = priceCurrency
        self.revoked = revoked
        self.grants = grants
        self.consumption = consumption
        self.events = events
    }
}

extension PurchaseView.Event.Kind {
    fileprivate var rank: Int {
        switch self {
        case .signed: 0
        case .assigned: 1
        case .consumptionRequest, .refundDeclined: 2
        }
    }

    /// The kind of event that a notification of this type is for the purchase in it; `nil` where its JWS says all.
    package init?(notificationType: String) {
        switch notificationType {
        case "CONSUMPTION_REQUEST": self = .consumptionRequest
        case "REFUND_DECLINED": self = .refundDeclined
        default: return nil
        }
    }
}

/// What the books answer to a command.
package enum Outcome: Sendable {
    case purchase(PurchaseReceipt)
    case notification(NotificationReceipt)
    case spend(SpendReceipt)
    case grant(GrantReceipt)
    case reversal(ReversalReceipt)
    case hold(HoldReceipt)
    case capture(CaptureReceipt)
    case release(ReleaseReceipt)
    case atomic(AtomicReceipt)
    /// How many players had something expired; as many as were looked for where there may be more.
    case expired(players: Int)
    case balance(AccountBalances)
    case purchaseView(PurchaseView)
    case consumption(ConsumptionBody)
    case refused(Refusal)
}
