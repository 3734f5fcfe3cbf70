package import LedgerTypes
package import StrictJSON

extension Finding: WireValue {
    private enum Kind: String {
        case account, purchase, request, unknown
    }

    private var kind: Kind {
        switch self {
        case .account: .account
        case .purchase: .purchase
        case .request: .request
        case .unknown: .unknown
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("kind")
        writer.string(kind.rawValue)
        writer.key("accounts")
        writer.beginArray()
        for account in accounts { writer.string(account.text) }
        writer.endArray()
        switch self {
        case .unknown: break
        case .account(let account):
            writer.key("linked")
            writer.bool(account.isLinked)
            writer.key("consent")
            writer.write(orNull: account.consent)
        case .purchase(let purchase):
            writer.key("transactionId")
            writer.string(purchase.transaction.description)
            writer.key("product")
            writer.string(purchase.product)
            writer.key("entry")
            writer.write(orNull: purchase.entry)
        case .request(let request):
            writer.key("key")
            writer.string(request.key.text)
            writer.key("entry")
            writer.write(orNull: request.entry)
            writer.key("refused")
            writer.write(orNull: request.refusal.map { WireError($0) })
            if case .recorded(let consent) = request.answer {
                writer.key("consent")
                writer.beginObject()
                writer.key("consumption")
                writer.bool(consent.consumption)
                writer.key("time")
                writer.integer(consent.time)
                writer.endObject()
            }
            if case .usedUp(let count) = request.answer { writer.member("usedUp", count) }
        }
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var kind: Kind?
        var usedUp: Int64?
        var accounts: [AccountName]?
        var transaction: TransactionID?
        var product: String?
        var key: RequestKey?
        var entry: JournalEntry?
        var refusal: Refusal?
        var isLinked: Bool?
        var consent: Finding.Account.Consent?
        try reader.object { (reader, name) throws(JSONError) in
            switch name {
            case "kind": kind = try reader.named { Kind(rawValue: $0) }
            case "accounts":
                var told: [AccountName] = []
                try reader.array { (reader, _) throws(JSONError) in told.append(try reader.toldAccountName()) }
                accounts = told
            case "transactionId": transaction = try reader.transactionID()
            case "product": product = try reader.string()
            case "key": key = try reader.requestKey()
            case "entry": entry = try reader.orNull { (reader) throws(JSONError) in try JournalEntry(from: &reader) }
            case "refused": refusal = try reader.orNull { (reader) throws(JSONError) in try reader.keptRefusal() }
            case "usedUp": usedUp = try reader.integer()
            case "linked": isLinked = try reader.bool()
            case "consent":
                consent = try reader.orNull { (reader) throws(JSONError) in try Account.Consent(from: &reader) }
            default: try reader.skip()
            }
        }
        let whose = try reader.required(accounts, "accounts")
        switch try reader.required(kind, "kind") {
        case .unknown: self = .unknown
        case .account:
            self = .account(
                Account(
                    name: try reader.required(whose.first, "accounts[0]"),
                    isLinked: try reader.required(isLinked, "linked"), consent: consent))
        case .purchase:
            self = .purchase(
                Purchase(
                    transaction: try reader.required(transaction, "transactionId"),
                    product: try reader.required(product, "product"), account: whose.first, entry: entry))
        case .request:
            let answer: Request.Answer =
                if let entry {
                    .posted(entry)
                } else if let consent {
                    .recorded(
                        ConsentReceipt(consumption: consent.consumption, time: consent.time, replayed: false))
                } else if let usedUp {
                    .usedUp(usedUp)
                } else {
                    .refused(try reader.required(refusal, "refused"))
                }
            self = .request(Request(key: try reader.required(key, "key"), answer: answer))
        }
    }
}

extension Finding.Request {
    fileprivate var entry: JournalEntry? {
        switch answer {
        case .posted(let entry): entry
        case .recorded, .usedUp, .refused: nil
        }
    }

    fileprivate var refusal: Refusal? {
        switch answer {
        case .posted, .recorded, .usedUp: nil
        case .refused(let refusal): refusal
        }
    }
}

extension JSONReader {
    /// The error of a refusal that is the answer of a key.
    fileprivate mutating func keptRefusal() throws(JSONError) -> Refusal {
        guard let refusal = Refusal(kept: try WireError(from: &self)) else {
            throw fail("is no refusal that a key keeps")
        }
        return refusal
    }
}
