package import LedgerTypes
package import StrictJSON

/// No parameters: an empty object, or none.
package struct NoParams: MethodParams {
    package init() {}

    package init(params reader: inout JSONReader) throws(JSONError) {
        try reader.object { (reader, _) throws(JSONError) in throw reader.unknownParameter() }
    }

    package func writeMembers(to writer: inout JSONWriter) {}
}

/// A token, which gives a role; or none, where it is the ledger alone that is named.
package struct Authentication: MethodParams {
    package var token: String?

    package init(token: String?) { self.token = token }

    package init(params reader: inout JSONReader) throws(JSONError) {
        var token: String?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "token": token = try reader.token()
            default: throw reader.unknownParameter()
            }
        }
        self.init(token: token)
    }

    package func writeMembers(to writer: inout JSONWriter) { writer.member("token", token) }
}

/// Names the account whose name is to be erased.
package struct ForgetQuery: MethodParams {
    package var account: AccountName

    package init(_ account: AccountName) { self.account = account }

    package init(params reader: inout JSONReader) throws(JSONError) {
        var account: AccountName?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "account": account = try reader.accountName()
            default: throw reader.unknownParameter()
            }
        }
        self.init(try reader.required(account, "account"))
    }

    package func writeMembers(to writer: inout JSONWriter) { writer.member("account", account.text) }
}

extension JSONWriter {
    /// Nothing where there is no value.
    mutating func member(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        key(name)
        string(value)
    }

    /// Nothing where there is no value.
    mutating func member(_ name: StaticString, _ value: Int64?) {
        guard let value else { return }
        key(name)
        integer(value)
    }
}
