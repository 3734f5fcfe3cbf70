package import LedgerTypes
package import StrictJSON

extension PurchaseView.Grant: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("lot")
        writer.integer(orNull: lot)
        writer.key("currency")
        writer.string(currency.text)
        writer.key("granted")
        writer.integer(granted)
        writer.key("spent")
        writer.integer(spent)
        writer.key("held")
        writer.integer(held)
        writer.key("revoked")
        writer.integer(revoked)
        writer.key("debt")
        writer.integer(debt)
        writer.key("writtenOff")
        writer.integer(writtenOff)
        writer.key("repaid")
        writer.integer(repaid)
        if adjusted != 0 {
            writer.key("adjusted")
            writer.integer(adjusted)
        }
        writer.key("remaining")
        writer.integer(remaining)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var lot: LotID?
        var currency: CurrencyCode?
        var granted: Int64?
        var spent: Int64?
        var held: Int64?
        var revoked: Int64?
        var debt: Int64?
        var writtenOff: Int64?
        var repaid: Int64?
        var adjusted: Int64 = 0
        var remaining: Int64?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "lot": lot = try reader.orNull { (reader) throws(JSONError) in try reader.integer() }
            case "currency": currency = try reader.currencyCode()
            case "granted": granted = try reader.integer()
            case "spent": spent = try reader.integer()
            case "held": held = try reader.integer()
            case "revoked": revoked = try reader.integer()
            case "debt": debt = try reader.integer()
            case "writtenOff": writtenOff = try reader.integer()
            case "repaid": repaid = try reader.integer()
            case "adjusted": adjusted = try reader.integer()
            case "remaining": remaining = try reader.integer()
            default: try reader.skip()
            }
        }
        self.init(
            lot: lot, currency: try reader.required(currency, "currency"),
            granted: try reader.required(granted, "granted"), spent: try reader.required(spent, "spent"),
            held: try reader.required(held, "held"), revoked: try reader.required(revoked, "revoked"),
            debt: try reader.required(debt, "debt"), writtenOff: try reader.required(writtenOff, "writtenOff"),
            repaid: try reader.required(repaid, "repaid"), adjusted: adjusted,
            remaining: try reader.required(remaining, "remaining"))
    }
}

extension PurchaseView.Event: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("number")
        writer.integer(number)
        writer.key("kind")
        writer.string(kind.rawValue)
        writer.key("time")
        writer.integer(time)
        writer.key("signedDate")
        writer.integer(orNull: signedDate)
        if let revoked {
            writer.key("revoked")
            writer.integer(revoked)
        }
        if let reason {
            writer.key("reason")
            writer.string(reason)
        }
        if let deadline {
            writer.key("deadline")
            writer.integer(deadline)
        }
        if let end {
            writer.key("end")
            writer.string(end.name)
            if let code = end.code {
                writer.key("code")
                writer.integer(code)
            }
        }
        if let body {
            writer.key("body")
            writer.string(body)
        }
        writer.key("entry")
        writer.integer(orNull: entry)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var number: Int64?
        var kind: Kind?
        var time: Timestamp?
        var signedDate: Timestamp?
        var revoked: Int64?
        var entry: EntryID?
        var reason: String?
        var end: String?
        var code: Int64?
        var body: String?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "number": number = try reader.integer()
            case "kind": kind = try reader.named { Kind(rawValue: $0) }
            case "time": time = try reader.integer()
            case "signedDate": signedDate = try reader.orNull { (reader) throws(JSONError) in try reader.integer() }
            case "revoked": revoked = try reader.integer()
            case "entry": entry = try reader.orNull { (reader) throws(JSONError) in try reader.integer() }
            case "reason": reason = try reader.string()
            case "end": end = try reader.string()
            case "code": code = try reader.integer()
            case "body": body = try reader.string()
            default: try reader.skip()
            }
        }
        let callEnd = end.flatMap { AppStoreCallEnd(name: $0, code: code) }
        if end != nil && callEnd == nil { throw reader.invalid("end", "and code are no end of a call") }
        self.init(
            number: try reader.required(number, "number"), kind: try reader.required(kind, "kind"),
            time: try reader.required(time, "time"), signedDate: signedDate, revoked: revoked, entry: entry,
            reason: reason, end: callEnd, body: body)
    }
}

extension ExternalIdentity: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("source")
        writer.string(source)
        writer.key("transactionId")
        writer.string(identifier)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var source: String?
        var identifier: String?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "source": source = try reader.string()
            case "transactionId": identifier = try reader.string()
            default: try reader.skip()
            }
        }
        self.init(
            storedSource: try reader.required(source, "source"),
            identifier: try reader.required(identifier, "transactionId"))
    }
}

extension PurchaseView: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("transactionId")
        writer.string(transaction.description)
        // Of what the App Store sold nothing more is to be said.
        switch source {
        case .appStore: break
        case .imported, .external:
            writer.key("source")
            writer.string(source.name)
        }
        if let external {
            writer.key("external")
            external.write(to: &writer)
        }
        writer.key("state")
        writer.string(state.rawValue)
        writer.key("account")
        writer.string(orNull: account?.text)
        writer.key("product")
        writer.string(product)
        writer.member("quantity", quantity)
        writer.key("purchaseDate")
        writer.integer(purchaseDate)
        writer.key("price")
        writer.integer(orNull: price)
        writer.key("priceCurrency")
        writer.string(orNull: priceCurrency)
        writer.key("revoked")
        writer.integer(revoked)
        writer.key("grants")
        writer.write(grants)
        writer.key("consumption")
        writer.integer(consumption)
        writer.key("events")
        writer.write(events)
        writer.key("next")
        writer.integer(orNull: next)
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var transaction: TransactionID?
        var source = PurchaseSource.appStore
        var external: ExternalIdentity?
        var state: State?
        var account: AccountName?
        var product: String?
        var quantity: Int64?
        var purchaseDate: Timestamp?
        var price: Int64?
        var priceCurrency: String?
        var revoked: Int64?
        var grants: [Grant]?
        var consumption: Int64?
        var events: [Event]?
        var next: Int64?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "transactionId": transaction = try reader.transactionID()
            case "source": source = try reader.named(PurchaseSource.init(name:))
            case "external": external = try ExternalIdentity(from: &reader)
            case "state": state = try reader.named(State.init(rawValue:))
            case "account": account = try reader.orNull { (reader) throws(JSONError) in try reader.toldAccountName() }
            case "product": product = try reader.string()
            case "quantity": quantity = try reader.integer()
            case "purchaseDate": purchaseDate = try reader.integer()
            case "price": price = try reader.orNull { (reader) throws(JSONError) in try reader.integer() }
            case "priceCurrency":
                priceCurrency = try reader.orNull { (reader) throws(JSONError) in try reader.string() }
            case "revoked": revoked = try reader.integer()
            case "grants": grants = try reader.list(of: Grant.self)
            case "consumption": consumption = try reader.integer()
            case "events": events = try reader.list(of: Event.self)
            case "next": next = try reader.orNull { (reader) throws(JSONError) in try reader.integer() }
            default: try reader.skip()
            }
        }
        self.init(
            transaction: try reader.required(transaction, "transactionId"), source: source, external: external,
            state: try reader.required(state, "state"),
            account: account, product: try reader.required(product, "product"),
            quantity: quantity,
            purchaseDate: try reader.required(purchaseDate, "purchaseDate"), price: price,
            priceCurrency: priceCurrency, revoked: try reader.required(revoked, "revoked"),
            grants: try reader.required(grants, "grants"), consumption: try reader.required(consumption, "consumption"),
            events: try reader.required(events, "events"), next: next)
    }
}
