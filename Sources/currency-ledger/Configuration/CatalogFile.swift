import AppStore
import Ledger
import LedgerEngine

/// Reads a catalog:
/// ```json
/// {"currencies": {"gems": {"spendOrder": "free_first", "refundShortfall": "debt", "grantMax": 5000}, "tickets": {}},
///  "products": {"com.example.game.gems500": {"gems": 500},
///               "com.example.game.gems1200": [{"from": 0, "grants": {"gems": 1200}},
///                                             {"from": 1767225600000, "grants": {"gems": 1500}}]}}
/// ```
/// An offer may say how much of the price each currency stands for (`"priceShares": {"gems": 80, "tickets": 20}`), and
/// the catalog what the game prefers when Apple asks about a refund, by how much was consumed (`"refundPreferences":
/// [{"from": 0, "preference": "GRANT_FULL"}, {"from": 1, "preference": "DECLINE"}]`), and how long after that the
/// answer about consumption is sent (`"consumptionDelayMinutes": 60`).
///
/// What is no consumable has a type, and its amounts, or its offers, stand under it:
/// ```json
/// {"com.example.game.monthly": {"type": "auto_renewable", "grants": {"gems": 300}},
///  "com.example.game.vip": {"type": "non_consumable", "familyShared": true,
///                           "offers": [{"from": 0, "grants": {"gems": 9}}]}}
/// ```
///
/// A product grants its amounts for each unit bought. In a list, the offer with the latest `from` not after the
/// purchase's `purchaseDate` applies.
struct CatalogFile {
    /// Products of one catalog: App Store Connect allows 10,000 an app.
    private static let productsMax = 10_000
    /// The greatest share of a price, in whatever unit.
    private static let priceShareMax: Int64 = 1_000_000_000

    private var json: JSONFile
    /// The codes of the catalog's currencies; `nil` where the file does not list them.
    private var codes: Set<CurrencyCode>?

    /// A catalog with the SHA-256 of its file.
    /// - Throws: ``ConfigurationError`` with everything that is wrong.
    static func edition(_ path: String) throws(ConfigurationError) -> CatalogInForce.Edition {
        let bytes: [UInt8]
        do throws(FileError) {
            bytes = try File.read(path, bytesMax: Settings.fileBytesMax)
        } catch {
            throw ConfigurationError([error.description])
        }
        return CatalogInForce.Edition(try parse(bytes, name: path), digest: Digest(of: bytes, Composition.sha256))
    }

    /// - Parameter name: of the file, for errors.
    /// - Throws: ``ConfigurationError`` with everything that is wrong.
    static func parse(_ bytes: [UInt8], name: String) throws(ConfigurationError) -> Catalog {
        var file = CatalogFile(json: try JSONFile(bytes, name: name, membersMax: productsMax))
        return try file.catalog()
    }

    private mutating func catalog() throws(ConfigurationError) -> Catalog {
        var currencies: [CurrencyCode: CurrencySettings] = [:]
        var products: [String: Catalog.Product] = [:]
        var refundRules: [Catalog.RefundRule] = []
        var consumptionDelayMinutes: Int64 = 0
        let members = json.members(json.root) ?? []
        // What products grant is compared with the currencies, which may stand after them.
        for member in members where member.name == "currencies" {
            currencies = self.currencies(member.value)
            if case .object = member.value.content { codes = Set(currencies.keys) }
        }
        for member in members {
            switch member.name {
            case "currencies": break
            case "products": products = self.products(member.value)
            case "refundPreferences": refundRules = self.refundRules(member.value)
            case "consumptionDelayMinutes":
                consumptionDelayMinutes =
                    json.integer(member.value, in: 0...Catalog.consumptionDelayMinutesMax) ?? consumptionDelayMinutes
            default: json.note("is not a member of a catalog", member)
            }
        }
        require(["currencies", "products"], of: json.root)
        try json.check()
        return Catalog(
            currencies: currencies, products: products, refundRules: refundRules,
            consumptionDelayMinutes: consumptionDelayMinutes)
    }

    private mutating func require(_ names: [String], of object: JSONValue) {
        guard case .object(let members) = object.content else { return }
        for name in names where !members.contains(where: { $0.name == name }) { json.missing(name, in: object) }
    }

    private mutating func currencies(_ value: JSONValue) -> [CurrencyCode: CurrencySettings] {
        guard let members = json.members(value) else { return [:] }
        var currencies: [CurrencyCode: CurrencySettings] = [:]
        for member in members {
            guard let code = CurrencyCode(member.name) else {
                json.note("is not a currency's code: letters, digits, '_', '-' and '.', at most 100", member)
                continue
            }
            var settings = CurrencySettings()
            for member in json.members(member.value) ?? [] {
                switch member.name {
                case "spendOrder": settings.spendOrder = json.choice(member.value) ?? settings.spendOrder
                case "refundShortfall":
                    settings.refundShortfall = json.choice(member.value) ?? settings.refundShortfall
                case "grantMax":
                    settings.grantMax = json.integer(member.value, in: 1...Limits.amountMax) ?? settings.grantMax
                default: json.note("is not a setting of a currency", member)
                }
            }
            currencies[code] = settings
        }
        if members.isEmpty { json.note("must name a currency", value) }
        if currencies.count > Limits.currenciesMax {
            json.note("must name at most \(Limits.currenciesMax) currencies", value)
        }
        return currencies
    }

    private mutating func products(_ value: JSONValue) -> [String: Catalog.Product] {
        var products: [String: Catalog.Product] = [:]
        for member in json.members(value) ?? [] {
            if member.name.isEmpty || member.name.utf8.count > Limits.codeBytesMax {
                json.note("is not a product id of 1 to \(Limits.codeBytesMax) bytes", member)
            }
            switch member.value.content {
            case .object(let members) where members.contains(where: isOfProduct):
                products[member.name] = product(member.value)
            case .object: products[member.name] = Catalog.Product(offers: [always(member.value)])
            case .array(let elements): products[member.name] = Catalog.Product(offers: offers(member.value, elements))
            case .string, .number, .bool, .null:
                json.mustBe("the amounts that it grants, a list of offers, or a product with its type", member.value)
            }
        }
        return products
    }

    /// A currency may have such a name too, but an amount is a number.
    private func isOfProduct(_ member: JSONValue.Member) -> Bool {
        if case .number = member.value.content { return false }
        return ["type", "familyShared", "grants", "offers"].contains(member.name)
    }

    private mutating func product(_ value: JSONValue) -> Catalog.Product? {
        var type: ProductType?
        var isGrantedToFamily = false
        var offers: [[Catalog.Offer]] = []
        for member in json.members(value) ?? [] {
            switch member.name {
            case "type": type = json.choice(member.value)
            case "familyShared": isGrantedToFamily = json.bool(member.value) ?? false
            case "grants": offers.append([always(member.value)])
            case "offers": offers.append(json.elements(member.value).map { self.offers(member.value, $0) } ?? [])
            default: json.note("is not a member of a product", member)
            }
        }
        require(["type"], of: value)
        if offers.count != 1 { json.note("must have either grants or offers", value) }
        if isGrantedToFamily && type == .consumable { json.note("is a consumable, which no family can share", value) }
        return type.map {
            Catalog.Product(type: $0, isGrantedToFamily: isGrantedToFamily, offers: offers.first ?? [])
        }
    }

    private mutating func always(_ grants: JSONValue) -> Catalog.Offer {
        Catalog.Offer(from: Int64.min, grants: self.grants(grants) ?? [])
    }

    private mutating func offers(_ value: JSONValue, _ elements: [JSONValue]) -> [Catalog.Offer] {
        if elements.isEmpty { json.note("must have an offer", value) }
        var offers: [Catalog.Offer] = []
        for element in elements {
            guard let offer = offer(element) else { continue }
            if offers.contains(where: { $0.from == offer.from }) {
                json.note("repeats another offer's from, \(offer.from)", element)
            }
            offers.append(offer)
        }
        return offers
    }

    /// `nil` where it has no `from`, which is noted.
    private mutating func offer(_ value: JSONValue) -> Catalog.Offer? {
        guard let members = json.members(value) else { return nil }
        var from: Timestamp?
        var grants: [CurrencyAmount]?
        var shares: [CurrencyCode: Int64]?
        for member in members {
            switch member.name {
            case "from": from = json.integer(member.value)
            case "grants": grants = self.grants(member.value)
            case "priceShares": shares = self.shares(member.value)
            default: json.note("is not a member of an offer", member)
            }
        }
        require(["from", "grants"], of: value)
        if let shares, let grants, Set(shares.keys) != Set(grants.map(\.currency)) {
            json.note("must give priceShares for just the currencies that it grants", value)
        }
        return from.map { Catalog.Offer(from: $0, grants: grants ?? [], priceShares: shares ?? [:]) }
    }

    /// `nil` where there is a fault in them.
    private mutating func shares(_ value: JSONValue) -> [CurrencyCode: Int64]? {
        guard let members = json.members(value) else { return nil }
        var shares: [CurrencyCode: Int64] = [:]
        for member in members {
            guard let code = code(member), let share = json.integer(member.value, in: 0...Self.priceShareMax) else {
                continue
            }
            shares[code] = share
        }
        guard shares.count == members.count else { return nil }
        if !shares.values.contains(where: { $0 > 0 }) { json.note("must have one above 0", value) }
        return shares
    }

    private mutating func refundRules(_ value: JSONValue) -> [Catalog.RefundRule] {
        var rules: [Catalog.RefundRule] = []
        for element in json.elements(value) ?? [] {
            var from: Int64?
            var preference: RefundPreference?
            for member in json.members(element) ?? [] {
                switch member.name {
                case "from": from = json.integer(member.value, in: 0...Limits.wholeShare)
                case "preference": preference = json.choice(member.value)
                default: json.note("is not a member of a refund preference", member)
                }
            }
            require(["from", "preference"], of: element)
            guard let from else { continue }
            if rules.contains(where: { $0.from == from }) { json.note("repeats another rule's from, \(from)", element) }
            rules.append(Catalog.RefundRule(from: from, preference: preference ?? .decline))
        }
        return rules
    }

    /// `nil` where there is a fault in them.
    private mutating func grants(_ value: JSONValue) -> [CurrencyAmount]? {
        guard let members = json.members(value) else { return nil }
        if members.count > Limits.currenciesPerOperationMax {
            json.note("must grant at most \(Limits.currenciesPerOperationMax) currencies", value)
        }
        let unitsMax = Limits.amountMax / AppStoreLimits.quantityMax
        var grants: [CurrencyAmount] = []
        for member in members {
            let code = code(member)
            let amount = json.integer(member.value, in: 1...unitsMax).flatMap { Amount($0) }
            if let code, let amount { grants.append(CurrencyAmount(currency: code, amount: amount)) }
        }
        return grants.count == members.count ? grants : nil
    }

    /// The currency that a member is of; `nil`, and a fault, where the catalog has none of that name.
    private mutating func code(_ member: JSONValue.Member) -> CurrencyCode? {
        guard let codes else { return CurrencyCode(member.name) }
        if let code = CurrencyCode(member.name), codes.contains(code) { return code }
        let names = codes.sorted().map(\.text).joined(separator: ", ")
        json.note("is not among the catalog's currencies\(names.isEmpty ? "" : ": \(names)")", member)
        return nil
    }
}
