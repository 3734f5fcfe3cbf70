internal import AppStore
internal import StrictJSON

/// A purchase as the simulated App Store keeps it: what it signs of it, and what it was told.
struct Purchase: Sendable {
    /// What stands; its `signedDate` is that of the newest signature.
    var transaction: TransactionPayload
    /// Whose purchase it is: one Apple Account.
    let customer: String
    /// When anything in `transaction` was changed last, in milliseconds since the UNIX epoch: histories are in this
    /// order.
    var changedAt: Int64
    /// Whether the app or its server has finished it.
    var isFinished: Bool
    /// When a refund was declined last.
    var refundDeclinedAt: Int64?
    var consumptionRequests: [ConsumptionRequest] = []
    var consumptionAnswers: [ConsumptionAnswer] = []
    var finishCalls: [FinishCall] = []

    /// A question of the App Store's about a refund.
    struct ConsumptionRequest: Sendable {
        let requestedAt: Int64
        let reason: String
    }

    /// What it was told.
    struct ConsumptionAnswer: Sendable {
        let answeredAt: Int64
        /// Whether there was a question within the 12 hours before.
        let isInTime: Bool
        /// Whether the connection was closed then, so that nobody knows that it was taken.
        let isReplyLost: Bool
        /// What it was told, as JSON.
        let body: [UInt8]
    }

    /// A call by which it was told that the purchase is finished, each time anew.
    struct FinishCall: Sendable {
        let calledAt: Int64
        /// Whether the connection was closed then, so that nobody knows that it was taken.
        let isReplyLost: Bool
    }

    var id: String { transaction.transactionID }
    var originalID: String { transaction.originalTransactionID ?? transaction.transactionID }

    /// The number of the customer's receipt: each transaction has one of its own.
    var orderID: String { Purchase.orderPrefix + String(Int64(id) ?? 0, radix: 36, uppercase: true) }

    private static let orderPrefix = "M"

    /// The transaction of an order; `nil` where it is no order id of the simulator's.
    static func transactionID(ofOrder order: String) -> String? {
        guard order.hasPrefix(orderPrefix), let number = Int64(order.dropFirst(), radix: 36) else { return nil }
        let id = String(number)
        return orderPrefix + String(number, radix: 36, uppercase: true) == order ? id : nil
    }

    /// Whether it was refunded, wholly or in part. What Family Sharing took back was not.
    var isRefunded: Bool { transaction.revocationDate != nil && transaction.revocationType != .familyRevoke }

    /// What is signed of it from now on says so.
    mutating func signAgain(at now: Int64) { transaction.signedDate = max(now, transaction.signedDate) }

    /// Changes what is signed of it. A later state has a later `signedDate`, also within one millisecond: the newest
    /// says what stands.
    mutating func change(at now: Int64, _ body: (inout TransactionPayload) -> Void) {
        changedAt = max(now, changedAt)
        transaction.signedDate = max(now, transaction.signedDate + 1)
        body(&transaction)
    }
}

// MARK: In the file

extension Purchase {
    func write(_ writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("transaction")
        writer.raw(transaction.json())
        writer.member("customer", customer)
        writer.member("changedAt", changedAt)
        writer.member("finished", isFinished)
        writer.member("refundDeclinedAt", refundDeclinedAt)
        writeCalls(&writer)
        writer.endObject()
    }

    private func writeCalls(_ writer: inout JSONWriter) {
        writeConsumption(&writer)
        writer.key("finishCalls")
        writer.beginArray()
        for call in finishCalls {
            writer.beginObject()
            writer.member("calledAt", call.calledAt)
            writer.member("replyLost", call.isReplyLost)
            writer.endObject()
        }
        writer.endArray()
    }

    private func writeConsumption(_ writer: inout JSONWriter) {
        writer.key("consumptionRequests")
        writer.beginArray()
        for request in consumptionRequests {
            writer.beginObject()
            writer.member("requestedAt", request.requestedAt)
            writer.member("reason", request.reason)
            writer.endObject()
        }
        writer.endArray()
        writer.key("consumptionAnswers")
        writer.beginArray()
        for answer in consumptionAnswers {
            writer.beginObject()
            writer.member("answeredAt", answer.answeredAt)
            writer.member("inTime", answer.isInTime)
            writer.member("replyLost", answer.isReplyLost)
            writer.key("body")
            writer.raw(answer.body)
            writer.endObject()
        }
        writer.endArray()
    }

    init(_ reader: inout JSONReader) throws(JSONError) {
        var transaction: TransactionPayload?, customer: String?, changedAt: Int64?
        var isFinished = false, declinedAt: Int64?
        var requests: [ConsumptionRequest] = [], answers: [ConsumptionAnswer] = [], finishCalls: [FinishCall] = []
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "transaction":
                let range = try reader.raw()
                transaction = try TransactionPayload(json: reader.bytes(range))
            case "customer": customer = try reader.string()
            case "changedAt": changedAt = try reader.integer()
            case "finished": isFinished = try reader.bool()
            case "refundDeclinedAt": declinedAt = try reader.optionalInteger()
            case "consumptionRequests":
                try reader.array { (reader, _) throws(JSONError) in requests.append(try ConsumptionRequest(&reader)) }
            case "consumptionAnswers":
                try reader.array { (reader, _) throws(JSONError) in answers.append(try ConsumptionAnswer(&reader)) }
            case "finishCalls":
                try reader.array { (reader, _) throws(JSONError) in finishCalls.append(try FinishCall(&reader)) }
            default: throw reader.failAtNext("is not a member of a purchase")
            }
        }
        guard let transaction else { throw reader.missing("transaction") }
        guard let customer else { throw reader.missing("customer") }
        guard let changedAt else { throw reader.missing("changedAt") }
        self.init(
            transaction: transaction, customer: customer, changedAt: changedAt, isFinished: isFinished,
            refundDeclinedAt: declinedAt, consumptionRequests: requests, consumptionAnswers: answers,
            finishCalls: finishCalls)
    }
}

extension Purchase.ConsumptionRequest {
    fileprivate init(_ reader: inout JSONReader) throws(JSONError) {
        var requestedAt: Int64 = 0, reason = ""
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "requestedAt": requestedAt = try reader.integer()
            case "reason": reason = try reader.string()
            default: throw reader.failAtNext("is not a member of a request")
            }
        }
        self.init(requestedAt: requestedAt, reason: reason)
    }
}

extension Purchase.ConsumptionAnswer {
    fileprivate init(_ reader: inout JSONReader) throws(JSONError) {
        var answeredAt: Int64 = 0, isInTime = false, isReplyLost = false, body: [UInt8] = []
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "answeredAt": answeredAt = try reader.integer()
            case "inTime": isInTime = try reader.bool()
            case "replyLost": isReplyLost = try reader.bool()
            case "body":
                let range = try reader.raw()
                body = Array(reader.bytes(range))
            default: throw reader.failAtNext("is not a member of an answer")
            }
        }
        self.init(answeredAt: answeredAt, isInTime: isInTime, isReplyLost: isReplyLost, body: body)
    }
}

extension Purchase.FinishCall {
    fileprivate init(_ reader: inout JSONReader) throws(JSONError) {
        var calledAt: Int64 = 0, isReplyLost = false
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "calledAt": calledAt = try reader.integer()
            case "replyLost": isReplyLost = try reader.bool()
            default: throw reader.failAtNext("is not a member of a call")
            }
        }
        self.init(calledAt: calledAt, isReplyLost: isReplyLost)
    }
}

// MARK: For people and tests

extension Purchase {
    /// One line of the state: what the books of a service are compared with.
    func writeState(_ writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("transactionId", id)
        writer.member("originalTransactionId", originalID)
        writer.member("orderId", orderID)
        writer.member("productId", transaction.productID)
        writer.member("type", transaction.type.rawValue)
        writer.member("quantity", transaction.quantity)
        writer.member("customer", customer)
        writer.member("appAccountToken", transaction.appAccountToken)
        writer.member("price", transaction.price)
        writer.member("currency", transaction.currency)
        writer.member("storefront", transaction.storefront)
        writer.member("purchaseDate", transaction.purchaseDate)
        writer.member("revocationDate", transaction.revocationDate)
        writer.member("revocationType", transaction.revocationType?.rawValue)
        writer.member("revoked", transaction.revoked)
        writer.member("finished", isFinished)
        writer.member("refundDeclinedAt", refundDeclinedAt)
        writeCalls(&writer)
        writer.endObject()
    }
}
