package import LedgerTypes
package import StrictJSON

extension ConsumptionBody: WireValue {
    /// The result: `requestBody` is sent to Apple as it stands (Send Consumption Information V2).
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("requestBody")
        writer.beginObject()
        writer.key("customerConsented")
        writer.bool(true)
        if let consumptionPercentage {
            writer.key("consumptionPercentage")
            writer.integer(consumptionPercentage)
        }
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
            consumptionPercentage: percentage,
            refundPreference: refundPreference)
    }
}
