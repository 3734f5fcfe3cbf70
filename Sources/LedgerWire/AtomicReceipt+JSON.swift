package import LedgerTypes
package import StrictJSON

extension AtomicReceipt.Result: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        switch self {
        case .spend(let drawn), .capture(let drawn):
            writer.key("drawn")
            writer.write(drawn)
        case .reverse(let returned):
            writer.key("returned")
            writer.write(returned)
        case .hold(let expiresAt):
            writer.key("expiresAt")
            writer.integer(expiresAt)
        case .grant, .release:
            break
        }
        writer.endObject()
    }

    /// A capture reads as a spend and a release as a grant, whose results look the same: ``AtomicReceipt/told(by:)``.
    package init(from reader: inout JSONReader) throws(JSONError) {
        var drawn: [DrawnLot]?
        var returned: [DrawnLot]?
        var expiresAt: Timestamp?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "drawn": drawn = try reader.list(of: DrawnLot.self)
            case "returned": returned = try reader.list(of: DrawnLot.self)
            case "expiresAt": expiresAt = try reader.integer()
            default: try reader.skip()
            }
        }
        switch (drawn, returned, expiresAt) {
        case (let drawn?, nil, nil): self = .spend(drawn: drawn)
        case (nil, let returned?, nil): self = .reverse(returned: returned)
        case (nil, nil, let expiresAt?): self = .hold(expiresAt: expiresAt)
        case (nil, nil, nil): self = .grant
        default: throw reader.fail("is not the result of one operation")
        }
    }

    /// This result as the operation's; `nil` where it cannot be.
    fileprivate func told(by operation: AtomicOperation) -> AtomicReceipt.Result? {
        switch (operation, self) {
        case (.spend, .spend), (.reverse, .reverse), (.grant, .grant), (.hold, .hold), (.capture, .capture),
            (.release, .release):
            self
        case (.capture, .spend(let drawn)): .capture(drawn: drawn)
        case (.release, .grant): .release
        default: nil
        }
    }
}

extension AtomicReceipt {
    /// The receipt that was read, with each result as the operation's that it answers; `nil` where they do not fit.
    package func told(by operations: [AtomicOperation]) -> AtomicReceipt? {
        guard operations.count == results.count else { return nil }
        var told = self
        for (index, operation) in operations.enumerated() {
            guard let result = results[index].told(by: operation) else { return nil }
            told.results[index] = result
        }
        return told
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
