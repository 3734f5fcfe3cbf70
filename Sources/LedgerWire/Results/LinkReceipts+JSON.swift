package import LedgerTypes
package import StrictJSON

extension LinkReceipt: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("outcome")
        writer.string(outcome.rawValue)
        writer.key("account")
        writer.string(account.text)
        writer.key("entry")
        writer.integer(orNull: entry)
        writer.key("moved")
        writer.balances(moved)
        writer.key("balances")
        writer.balances(balances)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var outcome: LinkOutcome?
        var account: AccountName?
        var entry: EntryID?
        var moved: [CurrencyBalance]?
        var balances: [CurrencyBalance]?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "outcome": outcome = try reader.named(LinkOutcome.init(rawValue:))
            case "account": account = try reader.toldAccountName()
            case "entry": entry = try reader.orNull { (reader) throws(JSONError) in try reader.integer() }
            case "moved": moved = try reader.balances()
            case "balances": balances = try reader.balances()
            default: try reader.skip()
            }
        }
        self.init(
            outcome: try reader.required(outcome, "outcome"), account: try reader.required(account, "account"),
            entry: entry, moved: try reader.required(moved, "moved"),
            balances: try reader.required(balances, "balances"))
    }
}

extension ConsentReceipt: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("consumption")
        writer.bool(consumption)
        writer.key("time")
        writer.integer(time)
        writer.key("replayed")
        writer.bool(replayed)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var consumption: Bool?
        var time: Timestamp?
        var replayed: Bool?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "consumption": consumption = try reader.bool()
            case "time": time = try reader.integer()
            case "replayed": replayed = try reader.bool()
            default: try reader.skip()
            }
        }
        self.init(
            consumption: try reader.required(consumption, "consumption"), time: try reader.required(time, "time"),
            replayed: try reader.required(replayed, "replayed"))
    }
}

extension Finding.Account.Consent: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("consumption")
        writer.bool(consumption)
        writer.key("time")
        writer.integer(time)
        writer.key("actor")
        writer.string(orNull: actor)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var consumption: Bool?
        var time: Timestamp?
        var actor: String?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "consumption": consumption = try reader.bool()
            case "time": time = try reader.integer()
            case "actor": actor = try reader.orNull { (reader) throws(JSONError) in try reader.string() }
            default: try reader.skip()
            }
        }
        self.init(
            consumption: try reader.required(consumption, "consumption"), time: try reader.required(time, "time"),
            actor: actor)
    }
}
