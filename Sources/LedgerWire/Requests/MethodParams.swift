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

/// Who a connection is, and how it asks.
package struct Authentication: Hashable, MethodParams {
    /// Of who asks.
    package var token: String?
    /// Whether a node that follows answers `not_leader` to what it would have to pass on: who asks knows all nodes.
    package var isDirect: Bool
    /// Of a node that passes on what a client asked: that client's name. The token is the node's own then.
    package var client: String?

    package init(token: String?, isDirect: Bool = false, client: String? = nil) {
        self.token = token
        self.isDirect = isDirect
        self.client = client
    }

    package init(params reader: inout JSONReader) throws(JSONError) {
        self.init(token: nil)
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "token": token = try reader.token()
            case "direct": isDirect = try reader.bool()
            case "client": client = try reader.token()
            default: throw reader.unknownParameter()
            }
        }
        if client != nil, token == nil { throw reader.missing("token") }
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("token", token)
        if isDirect {
            writer.key("direct")
            writer.bool(true)
        }
        writer.member("client", client)
    }

    /// The client of a node that passes on what the App Store posted: no token has this name.
    package static let appStore = "App Store"

    var saysNothing: Bool { token == nil && !isDirect }
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
