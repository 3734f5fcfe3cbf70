package import LedgerTypes
package import StrictJSON

extension ApprovedAdjustment: MethodParams {
    package init(params reader: inout JSONReader) throws(JSONError) {
        var key: RequestKey?
        var account: AccountName?
        var currency: CurrencyCode?
        var lotClass: LotClass?
        var units: Int64?
        var reason: String?
        var approval: String?
        try reader.object { (reader, name) throws(JSONError) in
            switch name {
            case "key": key = try reader.requestKey()
            case "account": account = try reader.accountName()
            case "currency": currency = try reader.currencyCode()
            case "class": lotClass = try reader.lotClass()
            case "amount": units = try reader.correction()
            case "reason": reason = try reader.reason()
            case "approval": approval = try reader.token()
            default: throw reader.unknownParameter()
            }
        }
        self.init(
            Adjustment(
                key: try reader.required(key, "key"), account: try reader.required(account, "account"),
                currency: try reader.required(currency, "currency"), lotClass: try reader.required(lotClass, "class"),
                units: try reader.required(units, "amount"), reason: try reader.required(reason, "reason")),
            approval: try reader.required(approval, "approval"))
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("key", adjustment.key.text)
        writer.member("account", adjustment.account.text)
        writer.member("currency", adjustment.currency.text)
        writer.member("class", adjustment.lotClass.name)
        writer.member("amount", adjustment.units)
        writer.member("reason", adjustment.reason)
        writer.member("approval", approval)
    }
}

extension JSONReader {
    fileprivate mutating func lotClass() throws(JSONError) -> LotClass {
        let name = try string()
        guard let lotClass = LotClass.allCases.first(where: { $0.name == name }) else {
            throw fail("must be paid or free")
        }
        return lotClass
    }

    /// A signed amount that is not 0.
    fileprivate mutating func correction() throws(JSONError) -> Int64 {
        let units = try integer(in: -Limits.amountMax...Limits.amountMax)
        if units == 0 { throw fail("must not be 0") }
        return units
    }

    fileprivate mutating func reason() throws(JSONError) -> String {
        let text = try note()
        if text.isEmpty { throw fail("must say why") }
        return text
    }
}
