package import LedgerTypes
package import StrictJSON

extension HistoryEntry.Movement: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("debit")
        writer.string(debit.name)
        writer.key("credit")
        writer.string(credit.name)
        writer.key("currency")
        writer.string(currency.text)
        writer.key("amount")
        writer.integer(amount.units)
        writer.key("change")
        writer.integer(change)
        writer.key("lot")
        writer.integer(lot)
        if let debtLot {
            writer.key("debtLot")
            writer.integer(debtLot)
        }
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var debit: AccountKind?
        var credit: AccountKind?
        var currency: CurrencyCode?
        var amount: Amount?
        var change: Int64?
        var lot: LotID?
        var debtLot: LotID?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "debit": debit = try reader.named(AccountKind.init(name:))
            case "credit": credit = try reader.named(AccountKind.init(name:))
            case "currency": currency = try reader.currencyCode()
            case "amount": amount = try reader.amount()
            case "change": change = try reader.integer()
            case "lot": lot = try reader.integer()
            case "debtLot": debtLot = try reader.integer()
            default: try reader.skip()
            }
        }
        self.init(
            debit: try reader.required(debit, "debit"), credit: try reader.required(credit, "credit"),
            currency: try reader.required(currency, "currency"), amount: try reader.required(amount, "amount"),
            change: try reader.required(change, "change"), lot: try reader.required(lot, "lot"), debtLot: debtLot)
    }
}

extension HistoryEntry: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("entry")
        writer.integer(entry)
        writer.key("time")
        writer.integer(time)
        writer.key("kind")
        writer.string(kind.name)
        writer.member("key", key?.text)
        writer.member("note", note)
        writer.member("transactionId", transaction?.description)
        writer.member("product", product)
        writer.member("quantity", quantity)
        writer.member("price", price)
        writer.member("priceCurrency", priceCurrency)
        writer.member("actor", actor)
        writer.key("transfers")
        writer.write(transfers)
        if transfersMore > 0 {
            writer.key("transfersMore")
            writer.integer(Int64(transfersMore))
        }
        writer.key("balances")
        writer.balances(balances)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var entry: EntryID?
        var time: Timestamp?
        var kind: EntryKind?
        var key: RequestKey?
        var note: String?
        var transaction: TransactionID?
        var product: String?
        var quantity: Int64?
        var price: Int64?
        var priceCurrency: String?
        var actor: String?
        var transfers: [Movement]?
        var transfersMore = 0
        var balances: [CurrencyBalance]?
        try reader.object { (reader, name) throws(JSONError) in
            switch name {
            case "entry": entry = try reader.integer()
            case "time": time = try reader.integer()
            case "kind": kind = try reader.named(EntryKind.init(name:))
            case "key": key = try reader.requestKey()
            case "note": note = try reader.string()
            case "transactionId": transaction = try reader.transactionID()
            case "product": product = try reader.string()
            case "quantity": quantity = try reader.integer()
            case "price": price = try reader.integer()
            case "priceCurrency": priceCurrency = try reader.string()
            case "actor": actor = try reader.string()
            case "transfers": transfers = try reader.list(of: Movement.self)
            case "transfersMore": transfersMore = Int(try reader.integer())
            case "balances": balances = try reader.balances()
            default: try reader.skip()
            }
        }
        self.init(
            entry: try reader.required(entry, "entry"), time: try reader.required(time, "time"),
            kind: try reader.required(kind, "kind"), key: key, note: note, transaction: transaction,
            product: product, quantity: quantity, price: price, priceCurrency: priceCurrency, actor: actor,
            transfers: try reader.required(transfers, "transfers"), transfersMore: transfersMore,
            balances: try reader.required(balances, "balances"))
    }
}

extension HistoryPage: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("entries")
        writer.write(entries)
        writer.key("next")
        writer.integer(orNull: next)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var entries: [HistoryEntry]?
        var next: EntryID?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "entries": entries = try reader.list(of: HistoryEntry.self)
            case "next": next = try reader.orNull { (reader) throws(JSONError) in try reader.integer() }
            default: try reader.skip()
            }
        }
        self.init(entries: try reader.required(entries, "entries"), next: next)
    }
}

extension AccountKind {
    init?(name: String) {
        guard let kind = AccountKind.allCases.first(where: { $0.name == name }) else { return nil }
        self = kind
    }
}

extension EntryKind {
    init?(name: String) {
        guard let kind = EntryKind.allCases.first(where: { $0.name == name }) else { return nil }
        self = kind
    }
}
