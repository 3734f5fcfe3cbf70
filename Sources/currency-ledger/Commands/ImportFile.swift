import AppStore
import LedgerClient
import LedgerWire

/// A file of lots that are to be carried over from other books, checked as far as it says by itself.
struct ImportFile {
    /// One request, with the lines that its lots stand on, and its purchases of which nothing is left, in their order.
    struct Part {
        var carried: LotImport
        var lotLines: [Int]
        var usedUpLines: [Int]

        var firstLine: Int { (lotLines + usedUpLines).min() ?? 0 }

        /// Each purchase with the line that it stands on first.
        var purchases: [TransactionID: Int] {
            let lots = zip(carried.lots, lotLines).compactMap { lot, line in
                lot.purchase.map { ($0.transaction, line) }
            }
            let usedUp = zip(carried.usedUp, usedUpLines).map { ($0.transaction, $1) }
            return Dictionary(lots + usedUp, uniquingKeysWith: min)
        }
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

    /// The lines of one account.
    private struct Rows {
        var lots: [Row] = []
        var usedUp: [(line: Int, purchase: UsedUpPurchase)] = []
    }

    private var rows: [AccountName: Rows] = [:]
    /// Whose each purchase is, and on which line it stood first.
    private var owners: [TransactionID: (account: AccountName, line: Int)] = [:]
    private let now: Timestamp
    private let name: String

    /// - Parameters:
    ///   - name: what the import is called: each account is imported once under each name.
    ///   - now: no purchase is later.
    init(_ bytes: [UInt8], name: String, now: Timestamp) {
        self.now = now
        self.name = name
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
        parts.sort { ($0.carried.account.text, $0.firstLine) < ($1.carried.account.text, $1.firstLine) }
        faults.sort()
    }

    /// Where each column stands; `nil` where the header is wrong.
    private mutating func places(_ header: CSVReader.Record) -> [Column: Int]? {
        var places: [Column: Int] = [:]
        for (place, name) in header.fields.enumerated() {
            guard let column = Column(rawValue: name) else {
                let names = Column.allCases.map(\.rawValue).joined(separator: ", ")
                faults.append(Fault(line: header.line, words: "\(name.shown) is none of the columns \(names)"))
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
        // Of a purchase of which nothing is left they may be empty.
        let isUsedUp = text(.amount) == "0"
        func isMeant(_ column: Column) -> Bool { !(isUsedUp && text(column).isEmpty) }
        let currency = CurrencyCode(text(.currency))
        if currency == nil, isMeant(.currency) {
            fault(&self, "currency \(text(.currency).shown) is no currency's code")
        }
        let lotClass = LotClass.allCases.first { $0.name == text(.class) }
        if lotClass == nil, isMeant(.class) {
            fault(&self, "class must be paid or free, not \(text(.class).shown)")
        }
        if isUsedUp { return readUsedUp(text, line: record.line, account) { fault(&$0, $1) } }
        let amount = Int64(text(.amount)).flatMap { Amount($0) }
        if amount == nil { fault(&self, "amount must be an integer from 0 to 2^53 - 1, not \(text(.amount).shown)") }
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
        if let purchase, let other = take(purchase.transaction, of: account, line: record.line) {
            return fault(&self, other)
        }
        rows[account, default: Rows()].lots.append(
            Row(
                line: record.line, lotClass: lotClass,
                lot: ImportedLot(currency: currency, amount: amount, purchase: purchase)))
    }

    /// A purchase of which nothing is left.
    private mutating func readUsedUp(
        _ text: (Column) -> String, line: Int, _ account: AccountName?, _ fault: (inout ImportFile, String) -> Void
    ) {
        let missing = [Column.product, .purchaseDate, .transactionId].filter { text($0).isEmpty }
        guard missing.isEmpty else {
            let names = missing.map(\.rawValue).joined(separator: ", ")
            return fault(&self, "amount 0 is for a purchase of which nothing is left, and needs \(names)")
        }
        if !text(.price).isEmpty, ImportFile.thousandths(text(.price)) != 0 {
            fault(&self, "price is what is not earned yet: of a purchase of which nothing is left 0, or empty")
        }
        guard let (transaction, product, date) = identity(text, fault), let account else { return }
        if let other = take(transaction, of: account, line: line) { return fault(&self, other) }
        rows[account, default: Rows()].usedUp.append(
            (line, UsedUpPurchase(transaction: transaction, product: product, purchaseDate: date)))
    }

    /// Notes whose a purchase is.
    /// - Returns: what is wrong with that.
    private mutating func take(_ transaction: TransactionID, of account: AccountName, line: Int) -> String? {
        guard let first = owners[transaction] else {
            owners[transaction] = (account, line)
            return nil
        }
        if first.account == account { return nil }
        return "transaction \(transaction) is another account's already, on line \(first.line)"
    }

    private mutating func purchase(
        _ text: (Column) -> String, _ fault: (inout ImportFile, String) -> Void
    ) -> ImportedPurchase? {
        let identity = identity(text, fault)
        let price = ImportFile.thousandths(text(.price))
        if price == nil {
            fault(
                &self, "price must be a decimal with at most three digits behind the point, not \(text(.price).shown)")
        }
        let currency = text(.priceCurrency)
        let isCode = currency.utf8.count == 3 && currency.utf8.allSatisfy { (0x41...0x5A).contains($0) }
        if !isCode { fault(&self, "priceCurrency must be three capital letters, as USD, not \(currency.shown)") }
        guard let (transaction, product, date) = identity, let price else { return nil }
        return ImportedPurchase(
            transaction: transaction, product: product, price: price, priceCurrency: currency, purchaseDate: date)
    }

    /// Which purchase it is, of what and when.
    private mutating func identity(
        _ text: (Column) -> String, _ fault: (inout ImportFile, String) -> Void
    ) -> (TransactionID, product: String, date: Timestamp)? {
        let transaction = TransactionID(text(.transactionId)).flatMap {
            $0.number < TransactionID.ownNumbers ? $0 : nil
        }
        if transaction == nil {
            fault(&self, "transactionId \(text(.transactionId).shown) is no transaction id of the App Store")
        }
        let product = text(.product)
        if product.utf8.count > Limits.codeBytesMax {
            fault(&self, "product must be 1 to \(Limits.codeBytesMax) bytes of text")
        }
        let date = TimeText.milliseconds(text(.purchaseDate))
        if date == nil {
            fault(
                &self,
                "purchaseDate must be ISO 8601 or milliseconds since 1970, not \(text(.purchaseDate).shown)")
        } else if let date, date > now {
            fault(&self, "purchaseDate \(UTCText.time(date)) has not come")
        }
        guard let transaction, let date else { return nil }
        return (transaction, product, date)
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

    /// Makes an account's lines requests, each of which the service takes whole.
    private mutating func divide(_ rows: Rows, of account: AccountName) {
        var rows = rows
        mergeUsedUp(&rows)
        let whole = LotImport(
            key: RequestKey(stored: "import"), account: account, lots: rows.lots.map(\.lot),
            usedUp: rows.usedUp.map(\.purchase))
        switch whole.conflict {
        case .lot(let index, let rule)?:
            return faults.append(Fault(line: rows.lots[index].line, words: "it \(rule)"))
        case .usedUp(let index, let rule)?:
            return faults.append(Fault(line: rows.usedUp[index].line, words: "its purchase \(rule)"))
        case nil: break
        }
        checkClasses(rows.lots)
        var lotLines = Dictionary(grouping: rows.lots) { $0.lot }.mapValues { $0.map(\.line) }
        let usedUpLines = Dictionary(uniqueKeysWithValues: rows.usedUp.map { ($0.purchase, $0.line) })
        func line(_ lot: ImportedLot) -> Int {
            lotLines[lot]?.isEmpty == false ? lotLines[lot]?.removeFirst() ?? 0 : 0
        }
        var lots: [ImportedLot] = []
        var usedUp: [UsedUpPurchase] = []
        var number = 0
        func flush(_ file: inout ImportFile) {
            if lots.isEmpty && usedUp.isEmpty { return }
            let carried = LotImport(key: file.key(account, number), account: account, lots: lots, usedUp: usedUp)
            file.parts.append(
                Part(
                    carried: carried, lotLines: lots.map(line), usedUpLines: usedUp.map { usedUpLines[$0] ?? 0 }))
            number += 1
            (lots, usedUp) = ([], [])
        }
        for together in whole.purchases + whole.gifts.map({ [$0] }) {
            if lots.count + together.count > Limits.importedLotsMax { flush(&self) }
            lots += together
        }
        for purchase in whole.orderedUsedUp {
            if lots.count + usedUp.count == Limits.importedLotsMax { flush(&self) }
            usedUp.append(purchase)
        }
        flush(&self)
    }

    /// Of a bundle one currency may be used up and another not: then the purchase is that of what is left.
    private mutating func mergeUsedUp(_ rows: inout Rows) {
        let left = Dictionary(
            rows.lots.compactMap { row in row.lot.purchase.map { ($0.transaction, (row.line, $0)) } },
            uniquingKeysWith: { first, _ in first })
        var seen: [TransactionID: (line: Int, purchase: UsedUpPurchase)] = [:]
        var kept: [(line: Int, purchase: UsedUpPurchase)] = []
        for row in rows.usedUp {
            let same: (line: Int, purchase: UsedUpPurchase)
            if let (line, purchase) = left[row.purchase.transaction] {
                let of = UsedUpPurchase(
                    transaction: purchase.transaction, product: purchase.product, purchaseDate: purchase.purchaseDate)
                same = (line, of)
            } else if let before = seen[row.purchase.transaction] {
                same = before
            } else {
                seen[row.purchase.transaction] = row
                kept.append(row)
                continue
            }
            if same.purchase == row.purchase { continue }
            faults.append(Fault(line: row.line, words: "it must say the same of its purchase as line \(same.line)"))
        }
        rows.usedUp = kept
    }

    private mutating func checkClasses(_ rows: [Row]) {
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
    }

    /// The same for the same account under the same name, whatever is imported: so a second run finds what the first
    /// one did, and what differs from it is refused.
    /// - Parameter number: which of the account's requests it is.
    private func key(_ account: AccountName, _ number: Int) -> RequestKey {
        let text = "\(name.utf8.count):\(name)/\(account.text)/\(number)"
        let digest = SHA256.hash(Array(text.utf8)).prefix(28).map { byte in
            String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }.joined()
        return RequestKey(stored: "import-" + digest)
    }
}

extension String {
    /// A field for people: its beginning, and nothing that a terminal would obey.
    fileprivate var shown: String {
        // More than any right field has.
        let beginning = unicodeScalars.prefix(128)
        let words = beginning.map { scalar in
            scalar.properties.generalCategory == .control ? scalar.escaped(asASCII: true) : String(scalar)
        }
        let isWhole = beginning.endIndex == unicodeScalars.endIndex
        return "'\(words.joined())'" + (isWhole ? "" : "… (\(utf8.count) bytes)")
    }
}
