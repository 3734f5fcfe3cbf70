/// What somebody holds in their hands and wants explained.
public enum FindQuery: Hashable, Sendable {
    /// An account's name.
    case account(AccountName)
    /// The token under which an app bought.
    case token(AppAccountToken)
    /// The key of a request.
    case key(RequestKey)
    /// The App Store's id of a purchase.
    case transaction(TransactionID)
}

/// What it is, and whose.
public enum Finding: Hashable, Sendable {
    /// The ledger knows nothing of it.
    case unknown
    /// An account that the ledger has.
    case account(Account)
    /// A purchase.
    case purchase(Purchase)
    /// A request that had its answer.
    case request(Request)

    /// An account that was found.
    public struct Account: Hashable, Sendable {
        /// What its player said last of telling Apple about consumption.
        public struct Consent: Hashable, Sendable {
            /// Whether Apple may be told.
            public var consumption: Bool
            /// When that was recorded.
            public var time: Timestamp
            /// The name of the token that recorded it; `nil` where nobody needs one.
            public var actor: String?

            /// What a player said.
            public init(consumption: Bool, time: Timestamp, actor: String?) {
                self.consumption = consumption
                self.time = time
                self.actor = actor
            }
        }

        /// Its name, or that of the account to which it is linked.
        public var name: AccountName
        /// Whether what was asked for is a token that is linked to the account.
        public var isLinked: Bool
        /// `nil` where nothing was ever recorded.
        public var consent: Consent?

        /// An account that was found.
        public init(name: AccountName, isLinked: Bool = false, consent: Consent? = nil) {
            self.name = name
            self.isLinked = isLinked
            self.consent = consent
        }
    }

    /// A purchase that was found.
    public struct Purchase: Hashable, Sendable {
        /// Its id.
        public var transaction: TransactionID
        /// What was bought.
        public var product: String
        /// Whose it is; `nil` while no account is known.
        public var account: AccountName?
        /// The entry that credited it; `nil` while no account is known.
        public var entry: JournalEntry?

        /// A purchase that was found.
        public init(transaction: TransactionID, product: String, account: AccountName?, entry: JournalEntry?) {
            self.transaction = transaction
            self.product = product
            self.account = account
            self.entry = entry
        }
    }

    /// A request that was found.
    public struct Request: Hashable, Sendable {
        /// What became of a request, once and for ever.
        public enum Answer: Hashable, Sendable {
            /// It was carried out.
            case posted(JournalEntry)
            /// It recorded a consent. Nothing tells whose.
            case recorded(ConsentReceipt)
            /// It carried over so many purchases of which nothing was left, and posted nothing. Nothing tells whose.
            case usedUp(Int64)
            /// It was refused. Nothing is kept of whose it was.
            case refused(Refusal)
        }

        /// Its key.
        public var key: RequestKey
        /// What became of it.
        public var answer: Answer

        /// A request that was found.
        public init(key: RequestKey, answer: Answer) {
            self.key = key
            self.answer = answer
        }
    }

    /// Whose it is: each account once, in the order in which an entry touched their wallets. Empty where nobody's is
    /// known.
    public var accounts: [AccountName] {
        switch self {
        case .unknown: return []
        case .account(let account): return [account.name]
        case .purchase(let purchase): return purchase.account.map { [$0] } ?? []
        case .request(let request):
            guard case .posted(let entry) = request.answer else { return [] }
            var seen: Set<AccountName> = []
            return entry.transfers.map(\.account).filter { seen.insert($0).inserted }
        }
    }
}
