package import LedgerTypes
package import StrictJSON

extension ConsumptionQuery {
    init(_ reader: inout JSONReader) throws(JSONError) {
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
}

extension ConsumptionBody: WireValue {
    /// The result: `requestBody` is sent to Apple as it stands (Send Consumption Information V2).
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("requestBody")
        writer.beginObject()
        writer.key("customerConsented")
        writer.bool(true)
        writer.key("consumptionPercentage")
        writer.integer(consumptionPercentage)
        writer.key("deliveryStatus")
        writer.string(deliveryStatus.rawValue)
        if let refundPreference {
            writer.key("refundPreference")
            writer.string(refundPreference.rawValue)
        }
        writer.key("sampleContentProvided")
        writer.bool(sampleContentProvided)
        writer.endObject()
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var body: ConsumptionBody?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "requestBody": body = try ConsumptionBody(body: &reader)
            default: try reader.skip()
            }
        }
        self = try reader.required(body, "requestBody")
    }

    private init(body reader: inout JSONReader) throws(JSONError) {
        var percentage: Int64?
        var deliveryStatus: DeliveryStatus?
        var refundPreference: RefundPreference?
        var sampleContentProvided: Bool?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "consumptionPercentage": percentage = try reader.integer()
            case "deliveryStatus": deliveryStatus = try reader.oneOf()
            case "refundPreference": refundPreference = try reader.oneOf()
            case "sampleContentProvided": sampleContentProvided = try reader.bool()
            default: try reader.skip()
            }
        }
        self.init(
            sampleContentProvided: try reader.required(sampleContentProvided, "sampleContentProvided"),
            deliveryStatus: try reader.required(deliveryStatus, "deliveryStatus"),
            consumptionPercentage: try reader.required(percentage, "consumptionPercentage"),
            refundPreference: refundPreference)
    }
}
