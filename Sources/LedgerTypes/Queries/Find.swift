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
    case account(AccountName)
    /// A purchase.
    case purchase(Purchase)
    /// A request that had its answer.
    case request(Request)

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
        case .account(let account): return [account]
        case .purchase(let purchase): return purchase.account.map { [$0] } ?? []
        case .request(let request):
            guard case .posted(let entry) = request.answer else { return [] }
            var seen: Set<AccountName> = []
            return entry.transfers.map(\.account).filter { seen.insert($0).inserted }
        }
    }
}
