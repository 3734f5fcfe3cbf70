package import LedgerTypes
package import StrictJSON

extension Balance: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("available")
        writer.integer(available)
        writer.key("held")
        writer.integer(held)
        writer.key("debt")
        writer.integer(debt)
        writer.key("paid")
        writer.integer(paid)
        writer.key("free")
        writer.integer(free)
        writer.key("version")
        writer.integer(version)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var available: Int64?
        var held: Int64?
        var debt: Int64?
        var paid: Int64?
        var version: Int64?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "available": available = try reader.integer()
            case "held": held = try reader.integer()
            case "debt": debt = try reader.integer()
            case "paid": paid = try reader.integer()
            case "version": version = try reader.integer()
            default: try reader.skip()
            }
        }
        self.init(
            available: try reader.required(available, "available"), held: try reader.required(held, "held"),
            debt: try reader.required(debt, "debt"), paid: try reader.required(paid, "paid"),
            version: try reader.required(version, "version"))
    }
}

extension JSONWriter {
    /// `{"gems": {…}}`
    mutating func balances(_ balances: [CurrencyBalance]) {
        beginObject()
        for balance in balances {
            key(balance.currency.text)
            balance.balance.write(to: &self)
        }
        endObject()
    }
}

extension JSONReader {
    mutating func balances() throws(JSONError) -> [CurrencyBalance] {
        var balances: [CurrencyBalance] = []
        try object { (reader, key) throws(JSONError) in
            guard let currency = CurrencyCode(key.string) else { throw reader.fail("is not the balance of a currency") }
            balances.append(CurrencyBalance(currency: currency, balance: try Balance(from: &reader)))
        }
        return balances
    }
}

extension AccountBalances: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("account")
        writer.string(account.text)
        writer.key("balances")
        writer.balances(balances)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var account: AccountName?
        var balances: [CurrencyBalance]?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "account": account = try reader.toldAccountName()
            case "balances": balances = try reader.balances()
            default: try reader.skip()
            }
        }
        self.init(
            account: try reader.required(account, "account"), balances: try reader.required(balances, "balances"))
    }
}

/// Whether an account's name was erased; not where there was none of that name.
package struct ForgetReceipt: WireValue {
    package var erased: Bool

    package init(erased: Bool) { self.erased = erased }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("erased")
        writer.bool(erased)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var erased: Bool?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "erased": erased = try reader.bool()
            default: try reader.skip()
            }
        }
        self.init(erased: try reader.required(erased, "erased"))
    }
}
