import LedgerTypes
import StrictJSON

extension ReportRow.Notification {
    func writeMembers(to writer: inout JSONWriter) {
        writer.key("notificationUUID")
        writer.string(uuid)
        writer.key("notificationType")
        writer.string(type)
        writer.key("subtype")
        writer.string(orNull: subtype)
        writer.key("signedDate")
        writer.integer(signedDate)
        writer.key("time")
        writer.integer(time)
        writer.key("transactionId")
        writer.string(orNull: transaction?.description)
        writer.key("account")
        writer.string(orNull: account?.text)
        writer.key("verdict")
        writer.string(verdict.rawValue)
        writer.key("entry")
        writer.integer(orNull: entry)
        writer.key("posted")
        writer.write(posted)
    }

    init(from reader: inout JSONReader) throws(JSONError) {
        var uuid: String?
        var type: String?
        var subtype: String?
        var signedDate: Timestamp?
        var time: Timestamp?
        var transaction: TransactionID?
        var account: AccountName?
        var verdict: Verdict?
        var entry: EntryID?
        var posted: [PostedAmount]?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "notificationUUID": uuid = try reader.string()
            case "notificationType": type = try reader.string()
            case "subtype": subtype = try reader.orNull { (reader) throws(JSONError) in try reader.string() }
            case "signedDate": signedDate = try reader.integer()
            case "time": time = try reader.integer()
            case "transactionId":
                transaction = try reader.orNull { (reader) throws(JSONError) in try reader.transactionID() }
            case "account": account = try reader.orNull { (reader) throws(JSONError) in try reader.toldAccountName() }
            case "verdict": verdict = try reader.named(Verdict.init(rawValue:))
            case "entry": entry = try reader.orNull { (reader) throws(JSONError) in try reader.integer() }
            case "posted": posted = try reader.list(of: PostedAmount.self)
            default: try reader.skip()
            }
        }
        self.init(
            uuid: try reader.required(uuid, "notificationUUID"), type: try reader.required(type, "notificationType"),
            subtype: subtype, signedDate: try reader.required(signedDate, "signedDate"),
            time: try reader.required(time, "time"), transaction: transaction, account: account,
            verdict: try reader.required(verdict, "verdict"), entry: entry,
            posted: try reader.required(posted, "posted"))
    }
}

extension ReportRow.ConsumptionRequest {
    func writeMembers(to writer: inout JSONWriter) {
        writer.key("notificationUUID")
        writer.string(uuid)
        writer.key("transactionId")
        writer.string(transaction.description)
        writer.key("product")
        writer.string(product)
        writer.key("account")
        writer.string(orNull: account?.text)
        writer.key("reason")
        writer.string(orNull: reason)
        writer.key("signedDate")
        writer.integer(signedDate)
        writer.key("time")
        writer.integer(time)
        writer.key("deadline")
        writer.integer(deadline)
        writer.key("consent")
        writer.string(consent.rawValue)
        writer.key("state")
        writer.string(state.rawValue)
        writer.key("endedAt")
        writer.integer(orNull: endedAt)
        writer.key("code")
        writer.integer(orNull: code)
    }

    init(from reader: inout JSONReader) throws(JSONError) {
        var uuid: String?
        var transaction: TransactionID?
        var product: String?
        var account: AccountName?
        var reason: String?
        var signedDate: Timestamp?
        var time: Timestamp?
        var consent: Consent?
        var state: State?
        var endedAt: Timestamp?
        var code: Int64?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "notificationUUID": uuid = try reader.string()
            case "transactionId": transaction = try reader.transactionID()
            case "product": product = try reader.string()
            case "account": account = try reader.orNull { (reader) throws(JSONError) in try reader.toldAccountName() }
            case "reason": reason = try reader.orNull { (reader) throws(JSONError) in try reader.string() }
            case "signedDate": signedDate = try reader.integer()
            case "time": time = try reader.integer()
            case "consent": consent = try reader.named(Consent.init(rawValue:))
            case "state": state = try reader.named(State.init(rawValue:))
            case "endedAt": endedAt = try reader.orNull { (reader) throws(JSONError) in try reader.integer() }
            case "code": code = try reader.orNull { (reader) throws(JSONError) in try reader.integer() }
            default: try reader.skip()
            }
        }
        self.init(
            uuid: try reader.required(uuid, "notificationUUID"),
            transaction: try reader.required(transaction, "transactionId"),
            product: try reader.required(product, "product"), account: account, reason: reason,
            signedDate: try reader.required(signedDate, "signedDate"), time: try reader.required(time, "time"),
            consent: try reader.required(consent, "consent"), state: try reader.required(state, "state"),
            endedAt: endedAt, code: code)
    }
}
