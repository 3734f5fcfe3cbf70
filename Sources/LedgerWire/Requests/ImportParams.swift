package import LedgerTypes
package import StrictJSON

extension LotImport: MethodParams {
    package init(params reader: inout JSONReader) throws(JSONError) {
        var key: RequestKey?
        var account: AccountName?
        var lots: [ImportedLot] = []
        var usedUp: [UsedUpPurchase] = []
        try reader.object { (reader, name) throws(JSONError) in
            switch name {
            case "key": key = try reader.requestKey()
            case "account": account = try reader.accountName()
            case "lots": lots = try reader.importedLots()
            case "usedUp": usedUp = try reader.usedUpPurchases()
            default: throw reader.unknownParameter()
            }
        }
        self.init(
            key: try reader.required(key, "key"), account: try reader.required(account, "account"),
            lots: lots, usedUp: usedUp)
        guard 1...Limits.importedLotsMax ~= lots.count + usedUp.count else {
            throw reader.invalid("lots", "must be with usedUp 1 to \(Limits.importedLotsMax)")
        }
        switch conflict {
        case .lot(let index, let rule)?: throw reader.invalid("lots[\(index)]", rule)
        case .usedUp(let index, let rule)?: throw reader.invalid("usedUp[\(index)]", rule)
        case nil: break
        }
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("key", key.text)
        writer.member("account", account.text)
        writer.key("lots")
        writer.beginArray()
        for lot in lots {
            writer.beginObject()
            writer.member("currency", lot.currency.text)
            writer.member("amount", lot.amount.units)
            if let purchase = lot.purchase {
                writer.member("transactionId", purchase.transaction.description)
                writer.member("product", purchase.product)
                writer.member("price", purchase.price)
                writer.member("priceCurrency", purchase.priceCurrency)
                writer.member("purchaseDate", purchase.purchaseDate)
            }
            writer.endObject()
        }
        writer.endArray()
        if usedUp.isEmpty { return }
        writer.key("usedUp")
        writer.beginArray()
        for purchase in usedUp {
            writer.beginObject()
            writer.member("transactionId", purchase.transaction.description)
            writer.member("product", purchase.product)
            writer.member("purchaseDate", purchase.purchaseDate)
            writer.endObject()
        }
        writer.endArray()
    }
}

extension JSONReader {
    fileprivate mutating func importedLots() throws(JSONError) -> [ImportedLot] {
        try importedItems { (reader) throws(JSONError) in try reader.importedLot() }
    }

    fileprivate mutating func usedUpPurchases() throws(JSONError) -> [UsedUpPurchase] {
        try importedItems { (reader) throws(JSONError) in try reader.usedUpPurchase() }
    }

    /// No more is read than may be there.
    private mutating func importedItems<Item>(
        _ item: (inout JSONReader) throws(JSONError) -> Item
    ) throws(JSONError) -> [Item] {
        var items: [Item] = []
        var count = 0
        try array { (reader, index) throws(JSONError) in
            count = index + 1
            guard count <= Limits.importedLotsMax else { return try reader.skip() }
            items.append(try item(&reader))
        }
        guard count <= Limits.importedLotsMax else { throw fail("must be at most \(Limits.importedLotsMax)") }
        return items
    }

    private mutating func usedUpPurchase() throws(JSONError) -> UsedUpPurchase {
        var transaction: TransactionID?
        var product: String?
        var purchaseDate: Timestamp?
        try object { (reader, key) throws(JSONError) in
            switch key {
            case "transactionId": transaction = try reader.importedTransactionID()
            case "product": product = try reader.productID()
            case "purchaseDate": purchaseDate = try reader.timestamp()
            default: throw reader.unknownParameter()
            }
        }
        return UsedUpPurchase(
            transaction: try required(transaction, "transactionId"), product: try required(product, "product"),
            purchaseDate: try required(purchaseDate, "purchaseDate"))
    }

    private mutating func importedLot() throws(JSONError) -> ImportedLot {
        var currency: CurrencyCode?
        var amount: Amount?
        var transaction: TransactionID?
        var product: String?
        var price: Int64?
        var priceCurrency: String?
        var purchaseDate: Timestamp?
        try object { (reader, key) throws(JSONError) in
            switch key {
            case "currency": currency = try reader.currencyCode()
            case "amount": amount = try reader.amount()
            case "transactionId": transaction = try reader.importedTransactionID()
            case "product": product = try reader.productID()
            case "price": price = try reader.integer(in: 0...Limits.amountMax)
            case "priceCurrency": priceCurrency = try reader.priceCurrency()
            case "purchaseDate": purchaseDate = try reader.timestamp()
            default: throw reader.unknownParameter()
            }
        }
        let isBought =
            transaction != nil || product != nil || price != nil || priceCurrency != nil
            || purchaseDate != nil
        let purchase =
            !isBought
            ? nil
            : ImportedPurchase(
                transaction: try required(transaction, "transactionId"), product: try required(product, "product"),
                price: try required(price, "price"), priceCurrency: try required(priceCurrency, "priceCurrency"),
                purchaseDate: try required(purchaseDate, "purchaseDate"))
        return ImportedLot(
            currency: try required(currency, "currency"), amount: try required(amount, "amount"), purchase: purchase)
    }

    /// One of the App Store's: those of other stores have numbers of the ledger's own.
    private mutating func importedTransactionID() throws(JSONError) -> TransactionID {
        let id = try transactionID()
        guard id.number < TransactionID.ownNumbers else {
            throw fail("must be a transaction id of the App Store: below 2^62")
        }
        return id
    }
}

extension ImportReceipt: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("entry")
        writer.integer(orNull: entry)
        writer.key("replayed")
        writer.bool(replayed)
        writer.member("entries", entries)
        writer.member("usedUp", usedUp)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var entry: EntryID?
        var entries: Int64?
        var usedUp: Int64?
        var replayed: Bool?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "entry": entry = try reader.orNull { (reader) throws(JSONError) in try reader.integer() }
            case "entries": entries = try reader.integer()
            case "usedUp": usedUp = try reader.integer()
            case "replayed": replayed = try reader.bool()
            default: try reader.skip()
            }
        }
        self.init(
            entry: entry, entries: try reader.required(entries, "entries"),
            usedUp: try reader.required(usedUp, "usedUp"), replayed: try reader.required(replayed, "replayed"))
    }
}
