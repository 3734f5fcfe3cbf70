package import LedgerTypes
package import StrictJSON

extension Credit: MethodParams {
    package init(params reader: inout JSONReader) throws(JSONError) {
        var jws: [UInt8]?
        var account: AccountName?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "signedTransaction": jws = try reader.signedObject()
            case "account": account = try reader.accountName()
            default: throw reader.unknownParameter()
            }
        }
        self.init(signedTransaction: try reader.required(jws, "signedTransaction"), account: account)
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.key("signedTransaction")
        signedTransaction.withUnsafeBufferPointer { writer.string(utf8: $0) }
        writer.member("account", account?.text)
    }
}

extension ExternalPurchase: MethodParams {
    package init(params reader: inout JSONReader) throws(JSONError) {
        var source: String?
        var identifier: String?
        var account: AccountName?
        var product: String?
        var quantity: Int64 = 1
        var price: Int64?
        var priceCurrency: String?
        var purchaseDate: Timestamp?
        var revoked: Int64?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "source": source = try reader.sourceName()
            case "transactionId": identifier = try reader.sourceIdentifier()
            case "account": account = try reader.accountName()
            case "product": product = try reader.productID()
            case "quantity": quantity = try reader.integer(in: 1...Limits.quantityMax)
            case "price": price = try reader.integer(in: 0...Limits.amountMax)
            case "priceCurrency": priceCurrency = try reader.priceCurrency()
            case "purchaseDate": purchaseDate = try reader.timestamp()
            case "revoked": revoked = try reader.integer(in: 0...Limits.wholeShare)
            default: throw reader.unknownParameter()
            }
        }
        let identity = ExternalIdentity(
            storedSource: try reader.required(source, "source"),
            identifier: try reader.required(identifier, "transactionId"))
        self.init(
            identity: identity, account: try reader.required(account, "account"),
            product: try reader.required(product, "product"), quantity: quantity, price: price,
            priceCurrency: priceCurrency, purchaseDate: try reader.required(purchaseDate, "purchaseDate"),
            revoked: revoked)
        if price != nil && priceCurrency == nil { throw reader.missing("priceCurrency") }
        if priceCurrency != nil && price == nil { throw reader.missing("price") }
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("source", identity.source)
        writer.member("transactionId", identity.identifier)
        writer.member("account", account.text)
        writer.member("product", product)
        if quantity != 1 { writer.member("quantity", quantity) }
        writer.member("price", price)
        writer.member("priceCurrency", priceCurrency)
        writer.member("purchaseDate", purchaseDate)
        writer.member("revoked", revoked)
    }
}

extension JSONReader {
    /// The name of another store.
    fileprivate mutating func sourceName() throws(JSONError) -> String {
        let name = try string()
        guard ExternalIdentity.isSource(name) else {
            let bytesMax = Limits.sourceBytesMax
            throw fail("must be 1 to \(bytesMax) letters, digits, _, - and ., none of the ledger's own sources")
        }
        return name
    }

    /// Another store's id of a purchase.
    fileprivate mutating func sourceIdentifier() throws(JSONError) -> String {
        let text = try string()
        guard ExternalIdentity.isIdentifier(text) else {
            throw fail(
                "must be 1 to \(Limits.sourceIdentifierBytesMax) bytes of text without control characters")
        }
        return text
    }
}

extension Notify: MethodParams {
    package init(params reader: inout JSONReader) throws(JSONError) {
        var jws: [UInt8]?
        var account: AccountName?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "signedPayload": jws = try reader.signedObject()
            case "account": account = try reader.accountName()
            default: throw reader.unknownParameter()
            }
        }
        self.init(signedPayload: try reader.required(jws, "signedPayload"), account: account)
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.key("signedPayload")
        signedPayload.withUnsafeBufferPointer { writer.string(utf8: $0) }
        writer.member("account", account?.text)
    }
}

extension PurchaseQuery: MethodParams {
    package init(params reader: inout JSONReader) throws(JSONError) {
        var transaction: TransactionID?
        var limit = Limits.purchasePageDefault
        var before: Int64?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "transactionId": transaction = try reader.transactionID()
            case "limit": limit = Int(try reader.integer(in: 1...Int64(Limits.purchasePageMax)))
            case "before": before = try reader.integer(in: 1...Limits.amountMax)
            default: throw reader.unknownParameter()
            }
        }
        self.init(transaction: try reader.required(transaction, "transactionId"), limit: limit, before: before)
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("transactionId", transaction.description)
        writer.member("limit", Int64(limit))
        writer.member("before", before)
    }
}

extension ConsumptionQuery: MethodParams {
    package init(params reader: inout JSONReader) throws(JSONError) {
        var transaction: TransactionID?
        var hasConsented: Bool?
        var sampleContentProvided = false
        var deliveryStatus: DeliveryStatus?
        var refundPreference: RefundPreference?
        try reader.object { (reader, name) throws(JSONError) in
            switch name {
            case "transactionId": transaction = try reader.transactionID()
            case "customerConsented": hasConsented = try reader.bool()
            case "sampleContentProvided": sampleContentProvided = try reader.bool()
            case "deliveryStatus": deliveryStatus = try reader.oneOf()
            case "refundPreference": refundPreference = try reader.oneOf()
            default: throw reader.unknownParameter()
            }
        }
        guard try reader.required(hasConsented, "customerConsented") else {
            throw reader.invalid(
                "customerConsented", "must be true: without the customer's consent nothing may be sent to Apple")
        }
        self.init(
            transaction: try reader.required(transaction, "transactionId"),
            sampleContentProvided: sampleContentProvided, deliveryStatus: deliveryStatus,
            refundPreference: refundPreference)
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("transactionId", transaction.description)
        writer.key("customerConsented")
        writer.bool(true)
        writer.key("sampleContentProvided")
        writer.bool(sampleContentProvided)
        writer.member("deliveryStatus", deliveryStatus?.rawValue)
        writer.member("refundPreference", refundPreference?.rawValue)
    }
}
