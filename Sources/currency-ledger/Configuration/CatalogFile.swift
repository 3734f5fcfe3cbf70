import AppStore
import Ledger
import StrictJSON

/// Reads a catalog:
/// ```json
/// {"currencies": {"gems": {"spendOrder": "free_first", "refundShortfall": "debt"}, "tickets": {}},
///  "products": {"com.example.game.gems500": {"gems": 500},
///               "com.example.game.gems1200": [{"from": 0, "grants": {"gems": 1200}},
///                                             {"from": 1767225600000, "grants": {"gems": 1500}}]}}
/// ```
/// An offer may say how much of the price each currency stands for (`"priceShares": {"gems": 80, "tickets": 20}`), and
/// the catalog what the game prefers when Apple asks about a refund, by how much was consumed (`"refundPreferences":
/// [{"from": 0, "preference": "GRANT_FULL"}, {"from": 1, "preference": "DECLINE"}]`).
///
/// A product grants its amounts for each unit bought. In a list, the offer with the latest `from` not after the
/// purchase's `purchaseDate` applies.
enum CatalogFile {
    /// Products of one catalog: App Store Connect allows 10,000 an app.
    private static let productsMax = 10_000

    static func read(_ path: String) throws -> Catalog {
        try parse(try File.read(path, bytesMax: Settings.fileBytesMax), name: path)
    }

    static func parse(_ bytes: [UInt8], name: String) throws -> Catalog {
        do {
            return try bytes.withUnsafeBufferPointer { buffer in
                var reader = JSONReader(buffer, membersMax: productsMax)
                let catalog = try readCatalog(&reader)
                try reader.end()
                return catalog
            }
        } catch let error as JSONError {
            throw ConfigurationError(name, error.description)
        }
    }

    private static func readCatalog(_ reader: inout JSONReader) throws(JSONError) -> Catalog {
        var currencies: [CurrencyCode: CurrencySettings]?
        var products: [String: [Catalog.Offer]]?
        var refundRules: [Catalog.RefundRule] = []
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "currencies": currencies = try readCurrencies(&reader)
            case "products": products = try readProducts(&reader)
            case "refundPreferences": refundRules = try readRefundRules(&reader)
            default: throw reader.fail("is not a member of a catalog")
            }
        }
        guard let currencies else { throw reader.missing("currencies") }
        guard let products else { throw reader.missing("products") }
        try check(products, currencies)
        return Catalog(currencies: currencies, products: products, refundRules: refundRules)
    }

    private static func readCurrencies(
        _ reader: inout JSONReader
    ) throws(JSONError) -> [CurrencyCode: CurrencySettings] {
        var currencies: [CurrencyCode: CurrencySettings] = [:]
        try reader.object { (reader, key) throws(JSONError) in
            guard let code = CurrencyCode(key.string) else {
                throw reader.fail("is not a currency's code: letters, digits, '_', '-' and '.', at most 100")
            }
            var settings = CurrencySettings()
            try reader.object { (reader, key) throws(JSONError) in
                switch key {
                case "spendOrder": settings.spendOrder = try choice(&reader)
                case "refundShortfall": settings.refundShortfall = try choice(&reader)
                default: throw reader.fail("is not a setting of a currency")
                }
            }
            currencies[code] = settings
        }
        guard !currencies.isEmpty else { throw reader.fail("must name a currency") }
        guard currencies.count <= Limits.currenciesMax else {
            throw reader.fail("must name at most \(Limits.currenciesMax) currencies")
        }
        return currencies
    }

    private static func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ reader: inout JSONReader
    ) throws(JSONError) -> Choice {
        guard let value = Choice(rawValue: try reader.string()) else {
            let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw reader.fail("must be one of \(names)")
        }
        return value
    }

    private static func readProducts(_ reader: inout JSONReader) throws(JSONError) -> [String: [Catalog.Offer]] {
        var products: [String: [Catalog.Offer]] = [:]
        try reader.object { (reader, key) throws(JSONError) in
            let product = key.string
            guard !product.isEmpty, product.utf8.count <= Limits.codeBytesMax else {
                throw reader.fail("is not a product id of 1 to \(Limits.codeBytesMax) bytes")
            }
            if try reader.peek() == .object {
                products[product] = [Catalog.Offer(from: Int64.min, grants: try readGrants(&reader))]
                return
            }
            var offers: [Catalog.Offer] = []
            try reader.array { (reader, _) throws(JSONError) in
                let offer = try readOffer(&reader)
                if offers.contains(where: { $0.from == offer.from }) {
                    throw reader.fail("repeats another offer's from")
                }
                offers.append(offer)
            }
            guard !offers.isEmpty else { throw reader.fail("must have an offer") }
            products[product] = offers
        }
        return products
    }

    private static func readOffer(_ reader: inout JSONReader) throws(JSONError) -> Catalog.Offer {
        var from: Timestamp?
        var grants: [CurrencyAmount]?
        var shares: [CurrencyCode: Int64] = [:]
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "from": from = try reader.integer()
            case "grants": grants = try readGrants(&reader)
            case "priceShares": shares = try readShares(&reader)
            default: throw reader.fail("is not a member of an offer")
            }
        }
        guard let from else { throw reader.missing("from") }
        guard let grants else { throw reader.missing("grants") }
        if !shares.isEmpty && Set(shares.keys) != Set(grants.map(\.currency)) {
            throw reader.fail("must give priceShares for just the currencies that it grants")
        }
        return Catalog.Offer(from: from, grants: grants, priceShares: shares)
    }

    private static func readShares(_ reader: inout JSONReader) throws(JSONError) -> [CurrencyCode: Int64] {
        var shares: [CurrencyCode: Int64] = [:]
        try reader.object { (reader, key) throws(JSONError) in
            guard let code = CurrencyCode(key.string) else { throw reader.fail("is not a currency's code") }
            let share = try reader.integer()
            guard (0...1_000_000_000).contains(share) else { throw reader.fail("must be from 0 to 1000000000") }
            shares[code] = share
        }
        guard shares.values.contains(where: { $0 > 0 }) else { throw reader.fail("must have one above 0") }
        return shares
    }

    private static func readRefundRules(_ reader: inout JSONReader) throws(JSONError) -> [Catalog.RefundRule] {
        var rules: [Catalog.RefundRule] = []
        try reader.array { (reader, _) throws(JSONError) in
            var from: Int64?
            var preference: RefundPreference?
            try reader.object { (reader, key) throws(JSONError) in
                switch key {
                case "from":
                    let share = try reader.integer()
                    guard (0...Limits.wholeShare).contains(share) else {
                        throw reader.fail("must be a consumption from 0 to \(Limits.wholeShare)")
                    }
                    from = share
                case "preference": preference = try choice(&reader)
                default: throw reader.fail("is not a member of a refund preference")
                }
            }
            guard let from else { throw reader.missing("from") }
            guard let preference else { throw reader.missing("preference") }
            if rules.contains(where: { $0.from == from }) { throw reader.fail("repeats another rule's from") }
            rules.append(Catalog.RefundRule(from: from, preference: preference))
        }
        return rules
    }

    private static func readGrants(_ reader: inout JSONReader) throws(JSONError) -> [CurrencyAmount] {
        let unitsMax = Limits.amountMax / AppStoreLimits.quantityMax
        var grants: [CurrencyAmount] = []
        try reader.object { (reader, key) throws(JSONError) in
            guard let code = CurrencyCode(key.string) else { throw reader.fail("is not a currency's code") }
            let units = try reader.integer()
            guard units <= unitsMax, let amount = Amount(units) else {
                throw reader.fail("must be an amount from 1 to \(unitsMax)")
            }
            grants.append(CurrencyAmount(currency: code, amount: amount))
        }
        guard !grants.isEmpty else { throw reader.fail("must grant something") }
        guard grants.count <= Limits.currenciesPerOperationMax else {
            throw reader.fail("must grant at most \(Limits.currenciesPerOperationMax) currencies")
        }
        return grants
    }

    /// Currencies may stand after products in the file, so what products grant is checked at the end.
    private static func check(
        _ products: [String: [Catalog.Offer]], _ currencies: [CurrencyCode: CurrencySettings]
    ) throws(JSONError) {
        for (product, offers) in products.sorted(by: { $0.key < $1.key }) {
            for grant in offers.flatMap(\.grants) where currencies[grant.currency] == nil {
                throw JSONError(
                    .invalid("is not among the catalog's currencies"), offset: 0,
                    path: "products.\(product).\(grant.currency)")
            }
        }
    }
}
