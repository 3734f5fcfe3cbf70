package import LedgerTypes
package import StrictJSON

extension Link: MethodParams {
    package init(params reader: inout JSONReader) throws(JSONError) {
        var token: AppAccountToken?
        var account: AccountName?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "token": token = try reader.appAccountToken()
            case "account": account = try reader.accountName()
            default: throw reader.unknownParameter()
            }
        }
        self.init(token: try reader.required(token, "token"), account: try reader.required(account, "account"))
        if self.token.account == self.account {
            throw reader.invalid("account", "must be another than the token, which is an account of its own until then")
        }
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("token", token.text)
        writer.member("account", account.text)
    }
}

extension Consent: MethodParams {
    package init(params reader: inout JSONReader) throws(JSONError) {
        var key: RequestKey?
        var account: AccountName?
        var consumption: Bool?
        try reader.object { (reader, name) throws(JSONError) in
            switch name {
            case "key": key = try reader.requestKey()
            case "account": account = try reader.accountName()
            case "consumption": consumption = try reader.bool()
            default: throw reader.unknownParameter()
            }
        }
        self.init(
            key: try reader.required(key, "key"), account: try reader.required(account, "account"),
            consumption: try reader.required(consumption, "consumption"))
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("key", key.text)
        writer.member("account", account.text)
        writer.key("consumption")
        writer.bool(consumption)
    }
}
