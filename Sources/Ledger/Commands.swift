/// Which lots a spend may draw.
public enum Funds: String, CaseIterable, Sendable {
    /// All of them, in the currency's order.
    case any
    /// Paid lots only.
    case paid
}

/// Debits a player's wallets, all or nothing.
public struct Spend: Hashable, Sendable {
    /// The caller's name for this request.
    public var key: RequestKey
    /// Whose wallets.
    public var account: AccountName
    /// 1 … 16 different currencies.
    public var debits: [CurrencyAmount]
    /// What a support agent should read beside it.
    public var note: String?
    /// Which lots may be drawn.
    public var funds: Funds
    /// Refuse unless the wallet's version is this one (only with one debit).
    public var expectedVersion: Int64?
    /// Refuse unless this much would be left available (only with one debit).
    public var minimumRemaining: Int64?

    /// A spend. The server refuses as `invalid_params` one whose debits name a currency twice or are too many.
    public init(
        key: RequestKey, account: AccountName, debits: [CurrencyAmount], note: String? = nil, funds: Funds = .any,
        expectedVersion: Int64? = nil, minimumRemaining: Int64? = nil
    ) {
        self.key = key
        self.account = account
        self.debits = debits
        self.note = note
        self.funds = funds
        self.expectedVersion = expectedVersion
        self.minimumRemaining = minimumRemaining
    }
}

/// Gives free currency: a reward, a compensation.
public struct Grant: Hashable, Sendable {
    /// The caller's name for this request.
    public var key: RequestKey
    /// Whose wallet.
    public var account: AccountName
    /// What is given.
    public var currency: CurrencyCode
    /// How much.
    public var amount: Amount
    /// What a support agent should read beside it.
    public var note: String?

    /// A grant of free currency.
    public init(
        key: RequestKey, account: AccountName, currency: CurrencyCode, amount: Amount, note: String? = nil
    ) {
        self.key = key
        self.account = account
        self.currency = currency
        self.amount = amount
        self.note = note
    }
}

/// A JWS in parts, so that its header, the same for every purchase under one certificate, is stored once.
/// `base64url(header).base64url(payload).base64url(signature)` is the JWS again, byte for byte.
package final class Evidence: Sendable {
    /// SHA-256 of `header`.
    package let headerDigest: Digest
    /// The header segment as it was sent (base64url text).
    package let header: [UInt8]
    /// The decoded payload.
    package let payload: [UInt8]
    /// The 64 bytes r‖s.
    package let signature: [UInt8]

    package init(headerDigest: Digest, header: [UInt8], payload: [UInt8], signature: [UInt8]) {
        self.headerDigest = headerDigest
        self.header = header
        self.payload = payload
        self.signature = signature
    }
}

/// What stays true of a purchase however often Apple signs it anew.
package struct PurchaseFacts: Hashable, Sendable {
    package var transaction: TransactionID
    package var product: String
    package var quantity: Int64
    package var purchaseDate: Timestamp
    /// The price in thousandths of `priceCurrency`, as Apple states it.
    package var price: Int64?
    package var priceCurrency: String?
    /// The purchase's own `appAccountToken`.
    package var token: AccountName?

    package init(
        transaction: TransactionID, product: String, quantity: Int64, purchaseDate: Timestamp, price: Int64? = nil,
        priceCurrency: String? = nil, token: AccountName? = nil
    ) {
        self.transaction = transaction
        self.product = product
        self.quantity = quantity
        self.purchaseDate = purchaseDate
        self.price = price
        self.priceCurrency = priceCurrency
        self.token = token
    }
}

/// One verified JWS of one consumable purchase. Made only from a transaction whose signature was verified.
package struct SignedPurchase: Sendable {
    package var facts: PurchaseFacts
    package var signedDate: Timestamp
    /// How much of the purchase is revoked, 0 … 100000 thousandths of a percent of the full quantity.
    package var revoked: Int64
    package var evidence: Evidence

    package init(facts: PurchaseFacts, signedDate: Timestamp, revoked: Int64, evidence: Evidence) {
        self.facts = facts
        self.signedDate = signedDate
        self.revoked = revoked
        self.evidence = evidence
    }
}

/// A verified App Store Server Notification.
package struct SignedNotification: Sendable {
    package var uuid: String
    package var type: String
    package var subtype: String?
    package var signedDate: Timestamp
    /// Why the customer asked for a refund, where Apple asks how much was consumed.
    package var reason: String?
    package var evidence: Evidence
    /// The consumable purchase it carries, if it carries one.
    package var purchase: SignedPurchase?

    package init(
        uuid: String, type: String, subtype: String?, signedDate: Timestamp, reason: String? = nil, evidence: Evidence,
        purchase: SignedPurchase?
    ) {
        self.reason = reason
        self.uuid = uuid
        self.type = type
        self.subtype = subtype
        self.signedDate = signedDate
        self.evidence = evidence
        self.purchase = purchase
    }
}

/// What can be asked of the books in a batch.
package enum Command: Sendable {
    case credit(SignedPurchase, account: AccountName?)
    case notify(SignedNotification, account: AccountName?)
    case spend(Spend)
    case grant(Grant)
    case balance(account: AccountName, currency: CurrencyCode?)
    case purchase(TransactionID)
    case consumption(ConsumptionQuery)
}

/// The state that a batch of commands reads: a store has it in the books before they decide.
package struct Needs {
    package var accounts: [AccountName] = []
    package var keys: [RequestKey] = []
    /// With a purchase come its account's wallets and its own lots, also those that are used up.
    package var transactions: [TransactionID] = []
    package var notifications: [String] = []

    package init() {}

    package mutating func add(_ command: Command) {
        switch command {
        case .credit(let signed, let account):
            add(signed, account)
        case .notify(let signed, let account):
            notifications.append(signed.uuid)
            if let purchase = signed.purchase { add(purchase, account) }
        case .spend(let spend):
            keys.append(spend.key)
            accounts.append(spend.account)
        case .grant(let grant):
            keys.append(grant.key)
            accounts.append(grant.account)
        case .balance(let account, _):
            accounts.append(account)
        case .purchase(let transaction):
            transactions.append(transaction)
        case .consumption(let query):
            transactions.append(query.transaction)
        }
    }

    private mutating func add(_ signed: SignedPurchase, _ account: AccountName?) {
        transactions.append(signed.facts.transaction)
        if let account = signed.facts.token ?? account { accounts.append(account) }
    }
}
