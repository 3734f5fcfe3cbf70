import LedgerTypes
import StrictJSON

/// Reads what the App Store posts: `{"signedPayload": …}` (App Store Server Notifications V2, `responseBodyV2`). It is
/// the request `notify`, answered with the id null.
package enum NotificationParser {
    /// `bytes` are the body of the App Store's request.
    package static func parse(_ bytes: UnsafeBufferPointer<UInt8>) -> Line {
        var reader = JSONReader(bytes)
        do throws(JSONError) {
            let payload = try payload(&reader)
            try reader.end()
            let notify = LedgerRequest.notify(Notify(signedPayload: payload))
            return .single(Message(id: .null, body: .success(.init(Methods.notify.method, .ledger(notify)))))
        } catch {
            return .invalid(.parseError("\(error.path.isEmpty ? "the body" : error.path) \(error.message)"))
        }
    }

    /// Members that Apple may add are passed over.
    private static func payload(_ reader: inout JSONReader) throws(JSONError) -> [UInt8] {
        var payload: [UInt8]?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "signedPayload": payload = try reader.signedObject()
            default: try reader.skip()
            }
        }
        return try reader.required(payload, "signedPayload")
    }
}
