import AppStore
import Ledger

/// A game with its signing chain, and values that workloads are made of.
struct Studio {
    static let now: Int64 = 1_800_000_000_000
    static let bundleID = "com.example.game"
    static let product = "com.example.game.gems500"
    static let units: Int64 = 500
    /// Wallets that take turns.
    static let walletCount = 1_000

    let chain: SandboxChain
    let catalog: Catalog
    let currency: CurrencyCode
    let accounts: [AccountName]

    init() throws {
        let year: Int64 = 365 * 86_400_000
        chain = try SandboxChain(notBefore: Studio.now - year, notAfter: Studio.now + year)
        guard let currency = CurrencyCode("gems"), let amount = Amount(Studio.units) else {
            throw HotPathError("the sample currency is none")
        }
        self.currency = currency
        let grant = CurrencyAmount(currency: currency, amount: amount)
        catalog = Catalog(
            currencies: [currency: CurrencySettings()],
            products: [Studio.product: [Catalog.Offer(from: 0, grants: [grant])]])
        accounts = try (0..<Studio.walletCount).map { number in
            guard let name = AccountName("player-\(number)") else { throw HotPathError("the sample account is none") }
            return name
        }
    }

    var app: App { App(bundleID: Studio.bundleID, environment: .sandbox) }

    func payload(_ number: Int) -> TransactionPayload {
        .sample(
            transactionID: String(2_000_000_000_000_000 + number), bundleID: Studio.bundleID,
            productID: Studio.product, now: Studio.now)
    }

    func jws(_ number: Int) throws -> [UInt8] { try chain.jws(payload: payload(number).json()) }

    /// A purchase as it comes out of the verification, with evidence of the length of a real one's.
    func purchase(_ number: Int, like sample: Evidence) -> SignedPurchase {
        SignedPurchase(
            facts: PurchaseFacts(
                transaction: TransactionID(number: Int64(2_000_000_000_000_000 + number)), product: Studio.product,
                quantity: 1, purchaseDate: Studio.now - 60_000, price: 4_990, priceCurrency: "USD"),
            signedDate: Studio.now - 30_000, revoked: 0,
            evidence: JWSParts(
                headerDigest: Digest(sha256: sample.header.digest), header: sample.header.segment,
                payload: sample.payload,
                signature: sample.signature))
    }

    func evidence() throws -> Evidence {
        let verifier = Verifier(app: app, anchors: [chain.root])
        return try verifier.verify(transaction: try jws(0), now: Studio.now).evidence
    }
}
