package import LedgerTypes
package import StrictJSON

extension JournalEntry.Line: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("transfer")
        writer.integer(transfer)
        writer.key("account")
        writer.string(account.text)
        writer.key("debit")
        writer.string(debit.name)
        writer.key("credit")
        writer.string(credit.name)
        writer.key("currency")
        writer.string(currency.text)
        writer.key("amount")
        writer.integer(amount.units)
        writer.key("lot")
        writer.integer(lot)
        if let debtLot {
            writer.key("debtLot")
            writer.integer(debtLot)
        }
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var transfer: TransferID?
        var account: AccountName?
        var debit: AccountKind?
        var credit: AccountKind?
        var currency: CurrencyCode?
        var amount: Amount?
        var lot: LotID?
        var debtLot: LotID?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "transfer": transfer = try reader.integer()
            case "account": account = try reader.toldAccountName()
            case "debit": debit = try reader.named(AccountKind.init(name:))
            case "credit": credit = try reader.named(AccountKind.init(name:))
            case "currency": currency = try reader.currencyCode()
            case "amount": amount = try reader.amount()
            case "lot": lot = try reader.integer()
            case "debtLot": debtLot = try reader.integer()
            default: try reader.skip()
            }
        }
        self.init(
            transfer: try reader.required(transfer, "transfer"), account: try reader.required(account, "account"),
            debit: try reader.required(debit, "debit"), credit: try reader.required(credit, "credit"),
            currency: try reader.required(currency, "currency"), amount: try reader.required(amount, "amount"),
            lot: try reader.required(lot, "lot"), debtLot: debtLot)
    }
}

extension JournalEntry: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("entry")
        writer.integer(entry)
        writer.key("time")
        writer.integer(time)
        writer.key("kind")
        writer.string(kind.name)
        if let key {
            writer.key("key")
            writer.string(key.text)
        }
        if let note {
            writer.key("note")
            writer.string(note)
        }
        if let transaction {
            writer.key("transactionId")
            writer.string(transaction.description)
        }
        writer.member("actor", actor)
        writer.key("transfers")
        writer.write(transfers)
        if transfersMore > 0 {
            writer.key("transfersMore")
            writer.integer(Int64(transfersMore))
        }
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var entry: EntryID?
        var time: Timestamp?
        var kind: EntryKind?
        var key: RequestKey?
        var note: String?
        var transaction: TransactionID?
        var actor: String?
        var transfers: [Line]?
        var transfersMore = 0
        try reader.object { (reader, name) throws(JSONError) in
            switch name {
            case "entry": entry = try reader.integer()
            case "time": time = try reader.integer()
            case "kind": kind = try reader.named(EntryKind.init(name:))
            case "key": key = try reader.requestKey()
            case "note": note = try reader.string()
            case "transactionId": transaction = try reader.transactionID()
            case "actor": actor = try reader.string()
            case "transfers": transfers = try reader.list(of: Line.self)
            case "transfersMore": transfersMore = Int(try reader.integer())
            default: try reader.skip()
            }
        }
        self.init(
            entry: try reader.required(entry, "entry"), time: try reader.required(time, "time"),
            kind: try reader.required(kind, "kind"), key: key, note: note, transaction: transaction,
            actor: actor, transfers: try reader.required(transfers, "transfers"), transfersMore: transfersMore)
    }
}

extension JournalPage: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("entries")
        writer.write(entries)
        writer.key("next")
        writer.integer(next)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var entries: [JournalEntry]?
        var next: EntryID?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "entries": entries = try reader.list(of: JournalEntry.self)
            case "next": next = try reader.integer()
            default: try reader.skip()
            }
        }
        self.init(entries: try reader.required(entries, "entries"), next: try reader.required(next, "next"))
    }
}
