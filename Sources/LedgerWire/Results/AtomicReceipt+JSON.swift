package import LedgerTypes
package import StrictJSON

extension AtomicReceipt.Result: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("method")
        writer.ascii(method)
        switch self {
        case .spend(let drawn, let more), .capture(let drawn, let more):
            writer.key("drawn")
            writer.write(drawn)
            if more > 0 {
                writer.key("drawnMore")
                writer.integer(Int64(more))
            }
        case .reverse(let returned, let more):
            writer.key("returned")
            writer.write(returned)
            if more > 0 {
                writer.key("returnedMore")
                writer.integer(Int64(more))
            }
        case .hold(let expiresAt):
            writer.key("expiresAt")
            writer.integer(expiresAt)
        case .grant, .release:
            break
        }
        writer.endObject()
    }

    /// The protocol's name of the operation that it is the result of.
    private var method: StaticString {
        switch self {
        case .spend: "spend"
        case .reverse: "reverse"
        case .grant: "grant"
        case .hold: "hold"
        case .capture: "capture"
        case .release: "release"
        }
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var method: String?
        var drawn: [DrawnLot]?
        var returned: [DrawnLot]?
        var more = 0
        var expiresAt: Timestamp?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "method": method = try reader.string()
            case "drawn": drawn = try reader.list(of: DrawnLot.self)
            case "returned": returned = try reader.list(of: DrawnLot.self)
            case "drawnMore", "returnedMore": more = Int(try reader.integer())
            case "expiresAt": expiresAt = try reader.integer()
            default: try reader.skip()
            }
        }
        switch try reader.required(method, "method") {
        case "spend": self = .spend(drawn: try reader.required(drawn, "drawn"), more: more)
        case "reverse": self = .reverse(returned: try reader.required(returned, "returned"), more: more)
        case "grant": self = .grant
        case "hold": self = .hold(expiresAt: try reader.required(expiresAt, "expiresAt"))
        case "capture": self = .capture(drawn: try reader.required(drawn, "drawn"), more: more)
        case "release": self = .release
        default: throw reader.invalid("method", "is a name that this version does not know")
        }
    }
}

extension AtomicReceipt: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("entry")
        writer.integer(entry)
        writer.key("replayed")
        writer.bool(replayed)
        writer.key("results")
        writer.write(results)
        writer.key("balances")
        writer.beginObject()
        for account in balances {
            writer.key(account.account.text)
            writer.balances(account.balances)
        }
        writer.endObject()
        writer.endObject()
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var entry: EntryID?
        var replayed: Bool?
        var results: [Result]?
        var balances: [AccountBalances]?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "entry": entry = try reader.integer()
            case "replayed": replayed = try reader.bool()
            case "results": results = try reader.list(of: Result.self)
            case "balances": balances = try reader.balancesByAccount()
            default: try reader.skip()
            }
        }
        self.init(
            entry: try reader.required(entry, "entry"), replayed: try reader.required(replayed, "replayed"),
            results: try reader.required(results, "results"), balances: try reader.required(balances, "balances"))
    }
}

extension JSONReader {
    /// `{"player-1": {"gems": {…}}}`
    fileprivate mutating func balancesByAccount() throws(JSONError) -> [AccountBalances] {
        var accounts: [AccountBalances] = []
        try object { (reader, key) throws(JSONError) in
            guard let account = AccountName(told: key.string) else {
                throw reader.fail("is not the balances of an account")
            }
            accounts.append(AccountBalances(account: account, balances: try reader.balances()))
        }
        return accounts
    }
}
