import AppStore
import LedgerClient
import LedgerWire

/// A file of lots that are to be carried over from other books, checked as far as it says by itself.
struct ImportFile {
    /// One request, with the lines that its lots stand on, in the order of its lots.
    struct Part {
        var carried: LotImport
        var lines: [Int]
    }

    /// A line that is wrong, and why.
    struct Fault: Comparable {
        var line: Int
        var words: String

        static func < (left: Fault, right: Fault) -> Bool { (left.line, left.words) < (right.line, right.words) }
    }

    /// The requests, by account.
    private(set) var parts: [Part] = []
    private(set) var faults: [Fault] = []

    private enum Column: String, CaseIterable {
        case account, currency, `class`, amount, product, price, priceCurrency, purchaseDate, transactionId

        var isOfPurchase: Bool {
            switch self {
            case .account, .currency, .class, .amount: false
            case .product, .price, .priceCurrency, .purchaseDate, .transactionId: true
            }
        }
    }

    private struct Row {
        var line: Int
        var lotClass: LotClass
        var lot: ImportedLot
    }

    private var rows: [AccountName: [Row]] = [:]
    /// Whose each purchase is, and on which line it stood first.
    private var owners: [TransactionID: (account: AccountName, line: Int)] = [:]
    private let now: Timestamp

    /// - Parameter now: no purchase is later.
    init(_ bytes: [UInt8], now: Timestamp) {
        self.now = now
        var reader = CSVReader(bytes)
        do throws(CSVReader.Fault) {
            guard let header = try reader.next() else {
                faults.append(Fault(line: 1, words: "the file has no header"))
                return
            }
            guard let places = places(header) else { return }
            while let record = try reader.next() { read(record, places, header.fields.count) }
        } catch {
            faults.append(Fault(line: error.line, words: error.words))
        }
        for (account, rows) in rows { divide(rows, of: account) }
        parts.sort { ($0.carried.account.text, $0.lines[0]) < ($1.carried.account.text, $1.lines[0]) }
        faults.sort()
    }

    /// Where each column stands; `nil` where the header is wrong.
    private mutating func places(_ header: CSVReader.Record) -> [Column: Int]? {
        var places: [Column: Int] = [:]
        for (place, name) in header.fields.enumerated() {
            guard let column = Column(rawValue: name) else {
                let names = Column.allCases.map(\.rawValue).joined(separator: ", ")
                faults.append(Fault(line: header.line, words: "'\(name)' is none of the columns \(names)"))
                continue
            }
            if places.updateValue(place, forKey: column) != nil {
                faults.append(Fault(line: header.line, words: "the column \(name) is there twice"))
            }
        }
        for column in Column.allCases where !column.isOfPurchase && places[column] == nil {
            faults.append(Fault(line: header.line, words: "the column \(column.rawValue) is missing"))
        }
        return faults.isEmpty ? places : nil
    }

    // MARK: Rows

    private mutating func read(_ record: CSVReader.Record, _ places: [Column: Int], _ count: Int) {
        guard record.fields.count == count else {
            let words = "it has \(record.fields.count) fields, and the header \(count)"
            return faults.append(Fault(line: record.line, words: words))
        }
        var wrong = false
        func fault(_ file: inout ImportFile, _ words: String) {
            file.faults.append(Fault(line: record.line, words: words))
            wrong = true
        }
        func text(_ column: Column) -> String { places[column].map { record.fields[$0] } ?? "" }
        let account = AccountName(text(.account))
        if account == nil {
            fault(&self, "account must be 1 to \(Limits.accountBytesMax) bytes of text without control characters")
        }
        let currency = CurrencyCode(text(.currency))
        if currency == nil { fault(&self, "currency '\(text(.currency))' is no currency's code") }
        let lotClass = LotClass.allCases.first { $0.name == text(.class) }
        if lotClass == nil { fault(&self, "class must be paid or free, not '\(text(.class))'") }
        let amount = Int64(text(.amount)).flatMap { Amount($0) }
        if amount == nil { fault(&self, "amount must be an integer from 1 to 2^53 - 1, not '\(text(.amount))'") }
        var purchase: ImportedPurchase?
        let missing = Column.allCases.filter { $0.isOfPurchase && text($0).isEmpty }
        if missing.count < Column.allCases.count(where: \.isOfPurchase) {
            if missing.isEmpty {
                purchase = self.purchase(text) { fault(&$0, $1) }
            } else {
                fault(&self, "it is of a purchase, and has no \(missing.map(\.rawValue).joined(separator: ", no "))")
            }
        } else if lotClass == .paid {
            fault(&self, "a paid lot needs \(missing.map(\.rawValue).joined(separator: ", "))")
        }
        guard !wrong, let account, let currency, let lotClass, let amount else { return }
        if let purchase {
            let first = owners[purchase.transaction]
            if let first, first.account != account {
                return fault(
                    &self, "transaction \(purchase.transaction) is another account's already, on line \(first.line)")
            }
            if first == nil { owners[purchase.transaction] = (account, record.line) }
        }
        rows[account, default: []].append(
            Row(
                line: record.line, lotClass: lotClass,
                lot: ImportedLot(currency: currency, amount: amount, purchase: purchase)))
    }

    private mutating func purchase(
        _ text: (Column) -> String, _ fault: (inout ImportFile, String) -> Void
    ) -> ImportedPurchase? {
        let transaction = TransactionID(text(.transactionId)).flatMap {
            $0.number < TransactionID.ownNumbers ? $0 : nil
        }
        if transaction == nil {
            fault(&self, "transactionId '\(text(.transactionId))' is no transaction id of the App Store")
        }
        let product = text(.product)
        if product.utf8.count > Limits.codeBytesMax {
            fault(&self, "product must be 1 to \(Limits.codeBytesMax) bytes of text")
        }
        let price = ImportFile.thousandths(text(.price))
        if price == nil {
            fault(&self, "price must be a decimal with at most three digits behind the point, not '\(text(.price))'")
        }
        let currency = text(.priceCurrency)
        let isCode = currency.utf8.count == 3 && currency.utf8.allSatisfy { (0x41...0x5A).contains($0) }
        if !isCode { fault(&self, "priceCurrency must be three capital letters, as USD, not '\(currency)'") }
        let date = TimeText.milliseconds(text(.purchaseDate)).flatMap { 0...Limits.amountMax ~= $0 ? $0 : nil }
        if date == nil {
            fault(
                &self,
                "purchaseDate must be ISO 8601 or milliseconds since 1970, not '\(text(.purchaseDate))'")
        } else if let date, date > now {
            fault(&self, "purchaseDate \(UTCText.time(date)) has not come")
        }
        guard let transaction, let price, let date else { return nil }
        return ImportedPurchase(
            transaction: transaction, product: product, price: price, priceCurrency: currency, purchaseDate: date)
    }

    /// A price as people write it: `4.99`, `4` or `4.990`.
    private static func thousandths(_ text: String) -> Int64? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let isDigits = parts.allSatisfy { part in
            !part.isEmpty && part.utf8.allSatisfy { (0x30...0x39).contains($0) }
        }
        guard isDigits, 1...2 ~= parts.count, parts.count == 1 || parts[1].utf8.count <= 3 else { return nil }
        let fraction = parts.count == 2 ? String(parts[1]) : ""
        let padded = fraction + String(repeating: "0", count: 3 - fraction.utf8.count)
        return Int64(parts[0] + padded).flatMap { $0 <= Limits.amountMax ? $0 : nil }
    }

    // MARK: Requests

    /// Makes an account's rows requests, each of which the service takes whole.
    private mutating func divide(_ rows: [Row], of account: AccountName) {
        let placeholder = LotImport(key: RequestKey(stored: "import"), account: account, lots: rows.map(\.lot))
        if let conflict = placeholder.conflict {
            return faults.append(Fault(line: rows[conflict.lot].line, words: "it \(conflict.rule)"))
        }
        var paid: [TransactionID: Int64] = [:]
        for case let purchase? in rows.map(\.lot.purchase) { paid[purchase.transaction, default: 0] += purchase.price }
        for row in rows {
            let price = row.lot.purchase.flatMap { paid[$0.transaction] } ?? 0
            guard (price > 0) != (row.lotClass == .paid) else { continue }
            faults.append(
                Fault(
                    line: row.line,
                    words: price > 0 ? "a lot that was paid for is not free" : "a paid lot has a price above 0"))
        }
        var lines = Dictionary(grouping: rows) { $0.lot }.mapValues { $0.map(\.line) }
        func line(_ lot: ImportedLot) -> Int { lines[lot]?.isEmpty == false ? lines[lot]?.removeFirst() ?? 0 : 0 }
        var pending: [ImportedLot] = []
        var number = 0
        func flush(_ file: inout ImportFile) {
            if pending.isEmpty { return }
            file.parts.append(
                Part(
                    carried: LotImport(
                        key: ImportFile.key(account, pending, number), account: account, lots: pending),
                    lines: pending.map(line)))
            number += 1
            pending = []
        }
        for lots in placeholder.purchases + placeholder.gifts.map({ [$0] }) {
            if pending.count + lots.count > Limits.importedLotsMax { flush(&self) }
            pending += lots
        }
        flush(&self)
    }

    /// The same for the same lots of an account, in whichever order and file they stand: so a second run finds what the
    /// first one did.
    /// - Parameter number: which of the account's requests it is.
    private static func key(_ account: AccountName, _ lots: [ImportedLot], _ number: Int) -> RequestKey {
        var text = "\(account.text.utf8.count):\(account.text)/\(number)"
        for lot in lots {
            text += "/\(lot.currency):\(lot.amount.units)"
            guard let purchase = lot.purchase else { continue }
            text += ":\(purchase.transaction):\(purchase.price):\(purchase.priceCurrency):\(purchase.purchaseDate)"
            text += ":\(purchase.product.utf8.count):\(purchase.product)"
        }
        let digest = SHA256.hash(Array(text.utf8)).prefix(28).map { byte in
            String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }.joined()
        return RequestKey(stored: "import-" + digest)
    }
}
