package import LedgerTypes
package import StrictJSON

extension LotImport: MethodParams {
    package init(params reader: inout JSONReader) throws(JSONError) {
        var key: RequestKey?
        var account: AccountName?
        var lots: [ImportedLot]?
        try reader.object { (reader, name) throws(JSONError) in
            switch name {
            case "key": key = try reader.requestKey()
            case "account": account = try reader.accountName()
            case "lots": lots = try reader.importedLots()
            default: throw reader.unknownParameter()
            }
        }
        self.init(
            key: try reader.required(key, "key"), account: try reader.required(account, "account"),
            lots: try reader.required(lots, "lots"))
        if let conflict { throw reader.invalid("lots[\(conflict.lot)]", conflict.rule) }
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
    }
}

extension JSONReader {
    fileprivate mutating func importedLots() throws(JSONError) -> [ImportedLot] {
        var lots: [ImportedLot] = []
        var count = 0
        try array { (reader, index) throws(JSONError) in
            count = index + 1
            guard count <= Limits.importedLotsMax else { return try reader.skip() }
            lots.append(try reader.importedLot())
        }
        guard 1...Limits.importedLotsMax ~= count else { throw fail("must be 1 to \(Limits.importedLotsMax) lots") }
        return lots
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
        writer.member("entry", entry)
        writer.key("replayed")
        writer.bool(replayed)
        writer.member("entries", entries)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var entry: EntryID?
        var entries: Int64?
        var replayed: Bool?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "entry": entry = try reader.integer()
            case "entries": entries = try reader.integer()
            case "replayed": replayed = try reader.bool()
            default: try reader.skip()
            }
        }
        self.init(
            entry: try reader.required(entry, "entry"), entries: try reader.required(entries, "entries"),
            replayed: try reader.required(replayed, "replayed"))
    }
}
