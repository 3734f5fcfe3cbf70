import AppStore
import AppStoreSimulator
import ArgumentParser
import Foundation
import Ledger
import StrictJSON

struct CatalogCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "catalog", abstract: "Makes catalogs.", subcommands: [Import.self])

    struct Import: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints a catalog for a StoreKit configuration (.storekit).",
            discussion: """
                The file says what is for sale, not what it grants: give that with --amount, as

                currency-ledger catalog import Game.storekit --amount com.example.game.gems500=gems:500

                or name the currencies with --currency. A product whose reference name has one number, directly before \
                or behind the code of one of them ("500 Gems", "gems500"), then grants as much of it. A product of \
                which neither says it is an error. Subscriptions and \
                non-consumables are left out, unless --amount says what they grant.
                """)

        @Argument(help: "The file.", completion: .file(extensions: ["storekit"]))
        var file: String

        @Option(help: "PRODUCT=CURRENCY:UNITS, what one unit of a product grants. Repeat it for several.")
        var amount: [ProductAmount] = []

        @Option(help: "A currency whose amounts stand in reference names. Repeat it for several.")
        var currency: [String] = []

        func validate() throws {
            for code in currency where CurrencyCode(code) == nil {
                throw ValidationError("--currency: '\(code)' is not a currency's code.")
            }
        }

        func run() throws {
            let products = try granting(StoreKitFile(path: file))
            let codes = Set(currency + amount.map(\.currency.text)).compactMap { CurrencyCode($0) }.sorted()
            var grants: [(product: StoreKitProduct, amounts: [ProductAmount])] = []
            var missing: [String] = []
            for product in products {
                var amounts = amount.filter { $0.product == product.productID }
                if amounts.isEmpty, let named = ProductAmount(named: product, among: codes) {
                    Console.error(
                        "\(product.productID): \(named.units) \(named.currency), after its reference name "
                            + JSONValue.quoted(product.referenceName))
                    amounts = [named]
                }
                if amounts.isEmpty { missing.append(product.productID) }
                grants.append((product, amounts))
            }
            guard missing.isEmpty else {
                throw Failure(
                    """
                    it is not known what these grant: \(missing.joined(separator: ", ")); \
                    say it with --amount PRODUCT=CURRENCY:UNITS
                    """)
            }
            let json = Import.json(codes, grants)
            _ = try CatalogFile.parse(json, name: "the catalog")
            Console.print(try JSONPrinter().print(json))
        }

        /// The file's consumables, and what else grants something; what is left out is named on standard error.
        private func granting(_ file: StoreKitFile) throws -> [StoreKitProduct] {
            for one in amount where !file.products.contains(where: { $0.productID == one.product }) {
                throw Failure("--amount: \(self.file) has no product \(one.product)")
            }
            return file.products.filter { product in
                if product.type == .consumable || amount.contains(where: { $0.product == product.productID }) {
                    return true
                }
                Console.error("\(product.productID) is left out: it is a \(product.type.rawValue) without an --amount")
                return false
            }
        }

        private static func json(
            _ codes: [CurrencyCode], _ grants: [(product: StoreKitProduct, amounts: [ProductAmount])]
        ) -> [UInt8] {
            var writer = JSONWriter()
            writer.beginObject()
            writer.key("currencies")
            writer.beginObject()
            for code in codes {
                writer.key(code.text)
                writer.beginObject()
                writer.endObject()
            }
            writer.endObject()
            writer.key("products")
            writer.beginObject()
            for (product, amounts) in grants {
                writer.key(product.productID)
                if let type = product.type.catalogName {
                    writer.beginObject()
                    writer.key("type")
                    writer.string(type)
                    writer.key("grants")
                    write(amounts, to: &writer)
                    writer.endObject()
                } else {
                    write(amounts, to: &writer)
                }
            }
            writer.endObject()
            writer.endObject()
            return writer.bytes
        }

        private static func write(_ amounts: [ProductAmount], to writer: inout JSONWriter) {
            writer.beginObject()
            for amount in amounts {
                writer.key(amount.currency.text)
                writer.integer(amount.units)
            }
            writer.endObject()
        }
    }
}

extension TransactionPayload.ProductType {
    /// The type that a product's entry in a catalog names; `nil` of a consumable, which needs none.
    fileprivate var catalogName: String? {
        switch self {
        case .nonConsumable: ProductType.nonConsumable.rawValue
        case .autoRenewableSubscription: ProductType.autoRenewable.rawValue
        case .nonRenewingSubscription: ProductType.nonRenewing.rawValue
        default: nil
        }
    }
}

/// What one unit of a product grants of a currency.
struct ProductAmount: ExpressibleByArgument {
    let product: String
    let currency: CurrencyCode
    let units: Int64

    /// `PRODUCT=CURRENCY:UNITS`
    init?(argument: String) {
        guard let equals = argument.lastIndex(of: "="), let colon = argument.lastIndex(of: ":"), equals < colon,
            let currency = CurrencyCode(String(argument[argument.index(after: equals)..<colon])),
            let units = Int64(argument[argument.index(after: colon)...]), units > 0, equals > argument.startIndex
        else { return nil }
        product = String(argument[..<equals])
        self.currency = currency
        self.units = units
    }

    /// What a product's reference name says; `nil` where it has no number or several, or the number does not stand
    /// directly before or behind a currency's code, and alone ("500K", "500 %" and "-500" are other numbers), or the
    /// name has another currency's code too.
    init?(named product: StoreKitProduct, among codes: [CurrencyCode]) {
        let name = product.referenceName.lowercased()
        let numbers = name.matches(of: /[0-9]+/)
        guard numbers.count == 1, let units = Int64(numbers[0].0), units > 0,
            name.filter(\.isNumber).count == numbers[0].0.count
        else { return nil }
        let (left, right) = (name[..<numbers[0].range.lowerBound], name[numbers[0].range.upperBound...])
        let before = left.trimmingCharacters(in: .whitespaces)
        let behind = right.trimmingCharacters(in: .whitespaces)
        let found = codes.filter { code in
            let code = code.text.lowercased()
            return ProductAmount.isWord(code, endOf: before) || ProductAmount.isWord(code, beginningOf: behind)
        }
        guard found.count == 1 else { return nil }
        let code = found[0].text.lowercased()
        let isAlone =
            left.last.map { $0.isWhitespace || ProductAmount.isWord(code, endOf: String(left)) } ?? true
            && right.first.map { $0.isWhitespace || ProductAmount.isWord(code, beginningOf: String(right)) } ?? true
        let words = Set(name.split { !$0.isLetter }.map(String.init))
        guard isAlone, !codes.contains(where: { $0 != found[0] && words.contains($0.text.lowercased()) }) else {
            return nil
        }
        self.product = product.productID
        currency = found[0]
        self.units = units
    }

    private static func isWord(_ code: String, endOf text: String) -> Bool {
        text.hasSuffix(code) && !(text.dropLast(code.count).last?.isLetter ?? false)
    }

    private static func isWord(_ code: String, beginningOf text: String) -> Bool {
        text.hasPrefix(code) && !(text.dropFirst(code.count).first?.isLetter ?? false)
    }
}
