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
