import LedgerTypes

/// The requests of a run by their index, as bytes.
struct RequestSource {
    private let grant: RequestTemplate
    private let spend: RequestTemplate
    private let credit: RequestTemplate?
    private let purchases: SignedPurchases?
    private let wallets: Int
    private let firstWallet: Int
    private var keys: KeyMaker

    init(
        currency: CurrencyCode, granted: Amount, spent: Amount, purchases: SignedPurchases?, wallets: Int,
        firstWallet: Int, keys: KeyMaker
    ) {
        grant = .grant(currency, granted)
        spend = .spend(currency, spent)
        credit = purchases.map { .credit(header: $0.header) }
        self.purchases = purchases
        self.wallets = wallets
        self.firstWallet = firstWallet
        self.keys = keys
    }

    /// What the requests of a phase are.
    enum Kind {
        /// One for each wallet.
        case grants
        case workload(LoadPlan.Workload)
    }

    /// Writes request `index` of this kind, without a line end.
    mutating func write(_ index: Int, _ kind: Kind, now: Int64, to out: ByteQueue) {
        switch kind {
        case .grants: grant.write(index, wallet: firstWallet + index, keys: &keys, now: now, to: out)
        case .workload(.credits): write(index, purchase: index, to: out)
        case .workload(.spends):
            spend.write(index, wallet: firstWallet + index % wallets, keys: &keys, now: now, to: out)
        case .workload(.mixed):
            if index % 2 == 0 {
                write(index, purchase: index / 2, to: out)
            } else {
                spend.write(index, wallet: firstWallet + index / 2 % wallets, keys: &keys, now: now, to: out)
            }
        }
    }

    private func write(_ index: Int, purchase number: Int, to out: ByteQueue) {
        guard let credit, let purchases else { preconditionFailure("purchases were signed for a run with credits") }
        credit.write(
            index, wallet: firstWallet + number % wallets, purchase: purchases[number], count: purchases.stride, to: out
        )
    }
}
