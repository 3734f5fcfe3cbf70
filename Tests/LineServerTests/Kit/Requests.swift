/// Request lines as a client writes them.
enum Requests {
    /// - Parameter id: JSON text; `nil` for a request that wants no answer.
    static func call(_ method: String, _ params: String? = nil, id: String? = "1") -> String {
        let params = params.map { #","params":\#($0)"# } ?? ""
        let id = id.map { #","id":\#($0)"# } ?? ""
        return #"{"jsonrpc":"2.0","method":"\#(method)"\#(params)\#(id)}"#
    }

    static func call(_ method: String, _ params: String? = nil, id: Int) -> String {
        call(method, params, id: String(id))
    }

    static func ping(_ id: Int) -> String { call("ping", id: id) }

    static func grant(
        _ key: String, _ account: String, _ amount: Int, of currency: String = "gems", id: String? = "1"
    ) -> String {
        call(
            "grant", #"{"key":"\#(key)","account":"\#(account)","currency":"\#(currency)","amount":\#(amount)}"#, id: id
        )
    }

    static func spend(
        _ key: String, _ account: String, _ amount: Int, of currency: String = "gems", id: String? = "1"
    ) -> String {
        call(
            "spend",
            #"{"key":"\#(key)","account":"\#(account)","debits":[{"currency":"\#(currency)","amount":\#(amount)}]}"#,
            id: id)
    }

    static func balance(_ account: String, asOf: Int64? = nil, id: String? = "1") -> String {
        let asOf = asOf.map { #","asOf":\#($0)"# } ?? ""
        return call("balance", #"{"account":"\#(account)"\#(asOf)}"#, id: id)
    }

    static func history(_ account: String, id: String? = "1") -> String {
        call("history", #"{"account":"\#(account)"}"#, id: id)
    }

    static func report(_ kind: String, asOf: Int64? = nil, id: String? = "1") -> String {
        let asOf = asOf.map { #","asOf":\#($0)"# } ?? ""
        return call("report", #"{"kind":"\#(kind)"\#(asOf)}"#, id: id)
    }

    static func journal(after: Int, limit: Int? = nil, wait: Int? = nil, id: String? = "1") -> String {
        let limit = limit.map { #","limit":\#($0)"# } ?? ""
        let wait = wait.map { #","waitMilliseconds":\#($0)"# } ?? ""
        return call("journal", #"{"after":\#(after)\#(limit)\#(wait)}"#, id: id)
    }

    static func credit(_ jws: String, account: String? = nil, id: String? = "1") -> String {
        let account = account.map { #","account":"\#($0)""# } ?? ""
        return call("credit", #"{"signedTransaction":"\#(jws)"\#(account)}"#, id: id)
    }

    static func notify(_ jws: String, account: String? = nil, id: String? = "1") -> String {
        let account = account.map { #","account":"\#($0)""# } ?? ""
        return call("notify", #"{"signedPayload":"\#(jws)"\#(account)}"#, id: id)
    }

    static func authenticate(_ token: String, id: Int = 1) -> String {
        call("authenticate", #"{"token":"\#(token)"}"#, id: id)
    }
}
