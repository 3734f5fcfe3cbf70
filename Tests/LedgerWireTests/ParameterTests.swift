import Ledger
import LedgerWire
import Testing

/// The parameters of each method: the member that a refusal names, and what it says of it.
@Suite struct ParameterTests {
    struct Case: CustomTestStringConvertible, Sendable {
        var method: String
        var params: String
        var path: String
        var says: String

        init(_ method: String, _ params: String, _ path: String, _ says: String) {
            (self.method, self.params, self.path, self.says) = (method, params, path, says)
        }

        var testDescription: String { "\(method) \(params.prefix(80))" }
    }

    private static func spend(_ members: String) -> String {
        #"{"key":"k","account":"p",\#(members)}"#
    }

    /// A correction with these members besides.
    private static func adjust(_ members: String, of lotClass: String = "free") -> String {
        #"{"key":"k","account":"p","currency":"gems","class":"\#(lotClass)",\#(members)}"#
    }

    /// An import of these lots.
    private static func lots(_ lots: String) -> String { #"{"key":"k","account":"p","lots":[\#(lots)]}"# }

    /// A lot of a purchase with these members besides.
    private static func bought(_ members: String) -> String {
        #"{"currency":"gems","amount":1,"product":"p","price":1,"priceCurrency":"EUR",\#(members)}"#
    }

    /// A purchase of another store with these members besides.
    private static func external(_ members: String) -> String {
        #"{"account":"p","product":"gems","purchaseDate":1,\#(members)}"#
    }

    private static let gems = #"{"currency":"gems","amount":1}"#

    private static let release = #"{"method":"release","params":{"holdKey":"h"}}"#

    private static func atomic(_ operations: String..., key: String = #""key":"k","#) -> String {
        atomic(operations, key: key)
    }

    private static func atomic(_ operations: [String], key: String = #""key":"k","#) -> String {
        #"{\#(key)"operations":[\#(operations.joined(separator: ","))]}"#
    }

    private static let refused: [Case] = [
        Case("authenticate", "{}", "token", "is missing"),
        Case("authenticate", #"{"token":""}"#, "token", "1 to 1024 bytes"),
        Case("authenticate", #"{"token":"\#(String(repeating: "t", count: 1_025))"}"#, "token", "1 to 1024 bytes"),
        Case("authenticate", #"{"token":1}"#, "token", "must be a string"),
        Case("info", #"{"a":1}"#, "a", "not a parameter"),
        Case("credit", "{}", "signedTransaction", "is missing"),
        Case("credit", #"{"signedTransaction":null}"#, "signedTransaction", "must be a string"),
        Case("credit", #"{"signedTransaction":"a","signedTransaction":"a"}"#, "signedTransaction", "given twice"),
        Case("credit", #"{"signedTransaction":"a","account":""}"#, "account", "1 to 128 bytes"),
        Case("credit", #"{"signedTransaction":"a","account":null}"#, "account", "must be a string"),
        Case("notify", #"{"signedTransaction":"a"}"#, "signedTransaction", "not a parameter"),
        Case("notify", #"{"account":"p"}"#, "signedPayload", "is missing"),
        Case("purchase", #"{"transactionId":2000000849195831}"#, "transactionId", "must be a string"),
        Case("purchase", #"{"transactionId":"01"}"#, "transactionId", "decimal digits"),
        Case("purchase", #"{"transactionId":"9223372036854775808"}"#, "transactionId", "decimal digits"),
        Case("purchase", #"{"limit":1}"#, "transactionId", "is missing"),
        Case("purchase", #"{"transactionId":"1","limit":0}"#, "limit", "from 1 to 1000"),
        Case("purchase", #"{"transactionId":"1","limit":1001}"#, "limit", "from 1 to 1000"),
        Case("purchase", #"{"transactionId":"1","before":0}"#, "before", "from 1 to 9007199254740991"),
        Case("purchase", #"{"transactionId":"1","before":null}"#, "before", "must be a number"),
        Case("purchase", #"{"transactionId":"1","after":1}"#, "after", "not a parameter"),
        Case("spend", #"{"account":"p","debits":[\#(gems)]}"#, "key", "is missing"),
        Case("spend", #"{"key":"k","debits":[\#(gems)]}"#, "account", "is missing"),
        Case("spend", #"{"key":"k","account":"p"}"#, "debits", "is missing"),
        Case("spend", #"{"key":"","account":"p","debits":[\#(gems)]}"#, "key", "1 to 64 printable"),
        Case("spend", #"{"key":"é","account":"p","debits":[\#(gems)]}"#, "key", "printable ASCII"),
        Case(
            "spend", #"{"key":"\#(String(repeating: "k", count: 65))","account":"p","debits":[\#(gems)]}"#, "key",
            "1 to 64"),
        Case("spend", #"{"key":"k","account":"a\u0000b","debits":[\#(gems)]}"#, "account", "control characters"),
        Case(
            "spend", #"{"key":"k","account":"\#(String(repeating: "a", count: 129))","debits":[\#(gems)]}"#, "account",
            "128"),
        Case("spend", spend(#""debits":{}"#), "debits", "must be an array"),
        Case("spend", spend(#""debits":[]"#), "debits", "1 to 16 debits"),
        Case("spend", spend(#""debits":[1]"#), "debits[0]", "must be an object"),
        Case("spend", spend(#""debits":[{"amount":1}]"#), "debits[0].currency", "is missing"),
        Case("spend", spend(#""debits":[{"currency":"gems"}]"#), "debits[0].amount", "is missing"),
        Case("spend", spend(#""debits":[\#(gems),{"currency":"x","amount":0}]"#), "debits[1].amount", "from 1 to"),
        Case("spend", spend(#""debits":[{"currency":"x","amount":-1}]"#), "debits[0].amount", "from 1 to"),
        Case(
            "spend", spend(#""debits":[{"currency":"x","amount":9007199254740992}]"#), "debits[0].amount", "from 1 to"),
        Case(
            "spend", spend(#""debits":[{"currency":"x","amount":99999999999999999999}]"#), "debits[0].amount",
            "out of range"),
        Case("spend", spend(#""debits":[{"currency":"x","amount":1.0}]"#), "debits[0].amount", "without fraction"),
        Case("spend", spend(#""debits":[{"currency":"x","amount":1e2}]"#), "debits[0].amount", "without fraction"),
        Case("spend", spend(#""debits":[{"currency":"x","amount":"1"}]"#), "debits[0].amount", "must be a number"),
        Case("spend", spend(#""debits":[{"currency":"a b","amount":1}]"#), "debits[0].currency", "currency's code"),
        Case("spend", spend(#""debits":[{"currency":"x","amount":1,"amount":1}]"#), "debits[0].amount", "given twice"),
        Case("spend", spend(#""debits":[{"currency":"x","amount":1,"lot":1}]"#), "debits[0].lot", "not a parameter"),
        Case("spend", spend(#""debits":[\#(gems),\#(gems)]"#), "debits[1].currency", "another currency"),
        Case("spend", spend(#""debits":[\#(gems)],"funds":"free""#), "funds", "any or paid"),
        Case("spend", spend(#""debits":[\#(gems)],"expectedVersion":-1"#), "expectedVersion", "from 0 to"),
        Case(
            "spend", spend(#""debits":[\#(gems)],"minimumRemaining":9007199254740992"#), "minimumRemaining", "from 0 to"
        ),
        Case(
            "spend", spend(#""debits":[\#(gems),{"currency":"x","amount":1}],"expectedVersion":1"#), "expectedVersion",
            "only with one"),
        Case(
            "spend", spend(#""debits":[\#(gems),{"currency":"x","amount":1}],"minimumRemaining":1"#),
            "minimumRemaining", "only with one"),
        Case(
            "spend", spend(#""debits":[\#(gems)],"note":"\#(String(repeating: "é", count: 129))""#), "note",
            "at most 256"),
        Case("spend", spend(#""debits":[\#(gems)],"note":1"#), "note", "must be a string"),
        Case("spend", spend(#""debits":[\#(gems)],"Note":"n""#), "Note", "not a parameter"),
        Case("grant", #"{"key":"k","account":"p","currency":"gems"}"#, "amount", "is missing"),
        Case("grant", #"{"key":"k","account":"p","amount":1}"#, "currency", "is missing"),
        Case("grant", #"{"key":"k","account":"p","currency":"gems","amount":true}"#, "amount", "must be a number"),
        Case(
            "grant", #"{"key":"k","account":"p","currency":"gems","amount":1,"expiresAt":-1}"#, "expiresAt",
            "milliseconds since 1970"),
        Case(
            "grant", #"{"key":"k","account":"p","currency":"gems","amount":1,"expiresAt":9007199254740992}"#,
            "expiresAt", "milliseconds since 1970"),
        Case("reverse", #"{"key":"k"}"#, "spendKey", "is missing"),
        Case("reverse", #"{"spendKey":"s"}"#, "key", "is missing"),
        Case("reverse", #"{"key":"k","spendKey":""}"#, "spendKey", "1 to 64 printable"),
        Case("reverse", #"{"key":"k","spendKey":"s","operation":64}"#, "operation", "from 0 to 63"),
        Case("reverse", #"{"key":"k","spendKey":"s","operation":-1}"#, "operation", "from 0 to 63"),
        Case("reverse", #"{"key":"k","spendKey":"s","debits":[]}"#, "debits", "1 to 16 debits"),
        Case(
            "reverse", #"{"key":"k","spendKey":"s","debits":[\#(gems),\#(gems)]}"#, "debits[1].currency",
            "another currency"),
        Case("reverse", #"{"key":"k","spendKey":"s","account":"p"}"#, "account", "not a parameter"),
        Case("hold", #"{"key":"k","account":"p","currency":"gems","amount":1}"#, "timeoutMilliseconds", "is missing"),
        Case("hold", #"{"key":"k","account":"p","timeoutMilliseconds":1,"amount":1}"#, "currency", "is missing"),
        Case("hold", #"{"key":"k","account":"p","timeoutMilliseconds":1,"currency":"gems"}"#, "amount", "is missing"),
        Case("hold", #"{"timeoutMilliseconds":0}"#, "timeoutMilliseconds", "from 1 to 2592000000"),
        Case("hold", #"{"timeoutMilliseconds":2592000001}"#, "timeoutMilliseconds", "from 1 to 2592000000"),
        Case("hold", #"{"note":"n"}"#, "note", "not a parameter"),
        Case("capture", #"{"key":"k"}"#, "holdKey", "is missing"),
        Case("capture", #"{"key":"k","holdKey":"h","amount":0}"#, "amount", "from 1 to"),
        Case("capture", #"{"key":"k","holdKey":"h","operation":1.0}"#, "operation", "without fraction"),
        Case("capture", #"{"key":"k","holdKey":"h","debits":[]}"#, "debits", "not a parameter"),
        Case("release", #"{"key":"k"}"#, "holdKey", "is missing"),
        Case("release", #"{"key":"k","holdKey":"h","amount":1}"#, "amount", "not a parameter"),
        Case("atomic", #"{"key":"k"}"#, "operations", "is missing"),
        Case("atomic", atomic(release, release, key: ""), "key", "is missing"),
        Case("atomic", atomic(), "operations", "2 to 64 operations"),
        Case("atomic", atomic(release), "operations", "2 to 64 operations"),
        Case("atomic", atomic(Array(repeating: release, count: 65)), "operations", "2 to 64 operations"),
        Case("atomic", atomic(release, "1"), "operations[1]", "must be an object"),
        Case("atomic", atomic(release, #"{"params":{}}"#), "operations[1].method", "is missing"),
        Case("atomic", atomic(release, #"{"method":"release"}"#), "operations[1].params", "is missing"),
        Case("atomic", atomic(release, #"{"method":"release","params":[]}"#), "operations[1].params", "an object"),
        Case("atomic", atomic(release, #"{"params":[],"method":"release"}"#), "operations[1].params", "an object"),
        Case(
            "atomic", atomic(release, #"{"method":"release","params":{"holdKey":"h"},"id":1}"#), "operations[1].id",
            "not a member"),
        Case(
            "atomic", atomic(#"{"method":"atomic","params":{}}"#, release), "operations[0].method",
            "one of spend, grant, reverse, hold, capture, release"),
        Case("atomic", atomic(#"{"params":{},"method":"ping"}"#, release), "operations[0].method", "must be one of"),
        Case("atomic", atomic(#"{"method":"credit","params":{}}"#, release), "operations[0].method", "must be one of"),
        Case("atomic", atomic(#"{"method":7,"params":{}}"#, release), "operations[0].method", "must be a string"),
        Case(
            "atomic", atomic(release, release, release, #"{"method":"release","params":{"key":"x","holdKey":"h"}}"#),
            "operations[3].params.key", "must be left out"),
        Case(
            "atomic", atomic(release, #"{"params":{"key":"x","holdKey":"h"},"method":"release"}"#),
            "operations[1].params.key", "must be left out"),
        Case(
            "atomic", atomic(release, #"{"method":"spend","params":{"account":"p","debits":[{"currency":"x"}]}}"#),
            "operations[1].params.debits[0].amount", "is missing"),
        Case(
            "atomic", atomic(release, #"{"params":{"account":"p","debits":[{"currency":"x"}]},"method":"spend"}"#),
            "operations[1].params.debits[0].amount", "is missing"),
        Case(
            "atomic",
            atomic(
                release,
                #"""
                {"method":"spend","params":{"account":"p","debits":[\#(gems),{"currency":"x","amount":1}],\#
                "expectedVersion":1}}
                """#
            ), "operations[1].params.expectedVersion", "only with one"),
        Case(
            "atomic", #"{"key":"k","note":"n","operations":[\#(release),\#(release)]}"#, "note", "not a parameter"),
        Case("journal", "{}", "after", "is missing"),
        Case("journal", #"{"after":-1}"#, "after", "from 0"),
        Case("journal", #"{"after":9007199254740992}"#, "after", "from 0 to 9007199254740991"),
        Case("journal", #"{"after":null}"#, "after", "must be a number"),
        Case("journal", #"{"after":0,"limit":0}"#, "limit", "from 1 to 1000"),
        Case("journal", #"{"after":0,"limit":1001}"#, "limit", "from 1 to 1000"),
        Case("journal", #"{"after":0,"waitMilliseconds":30001}"#, "waitMilliseconds", "from 0 to 30000"),
        Case("journal", #"{"after":0,"waitMilliseconds":-1}"#, "waitMilliseconds", "from 0 to 30000"),
        Case("journal", #"{"after":0,"account":"p"}"#, "account", "not a parameter"),
        Case("find", "{}", "params", "exactly one of account, token, key and transactionId"),
        Case("find", #"{"account":"a","token":"a"}"#, "token", "must be a UUID"),
        Case("find", #"{"account":"a","key":"k"}"#, "key", "one too many"),
        Case("find", #"{"transactionId":"1","account":"a"}"#, "account", "one too many"),
        Case("find", #"{"account":"a","account":"a"}"#, "account", "given twice"),
        Case("find", #"{"account":""}"#, "account", "1 to 128 bytes"),
        Case("find", #"{"account":null}"#, "account", "must be a string"),
        Case("find", #"{"account":"\u007ferased 1"}"#, "account", "control characters"),
        Case("find", #"{"token":"7e3fb204-14e0-4d0b-9d0e-c6e3e2a1b0a"}"#, "token", "must be a UUID"),
        Case("find", #"{"token":"7e3fb20414e04d0b9d0ec6e3e2a1b0af"}"#, "token", "must be a UUID"),
        Case("find", #"{"key":""}"#, "key", "1 to 64 printable"),
        Case("find", #"{"transactionId":1}"#, "transactionId", "must be a string"),
        Case("find", #"{"transactionId":"01"}"#, "transactionId", "decimal digits"),
        Case("find", #"{"entry":1}"#, "entry", "not a parameter"),
        Case("balance", "{}", "account", "is missing"),
        Case("balance", #"{"account":"p","currency":""}"#, "currency", "currency's code"),
        Case("balance", #"{"account":"p","asOf":-1}"#, "asOf", "milliseconds"),
        Case("balance", #"{"account":"p","asOf":"2026-01-01"}"#, "asOf", "must be a number"),
        Case("history", #"{"account":"p","limit":0}"#, "limit", "from 1 to 1000"),
        Case("history", #"{"account":"p","limit":1001}"#, "limit", "from 1 to 1000"),
        Case("history", #"{"account":"p","before":0}"#, "before", "from 1"),
        Case("history", #"{"account":"p","before":9007199254740992}"#, "before", "from 1 to 9007199254740991"),
        Case("lots", "{}", "account", "is missing"),
        Case("lots", #"{"account":"p","limit":1001}"#, "limit", "from 1 to 1000"),
        Case("holds", #"{"account":"p","before":0}"#, "before", "from 1"),
        Case("holds", #"{"account":"p","asOf":1}"#, "asOf", "not a parameter"),
        Case("report", "{}", "kind", "is missing"),
        Case("report", #"{"kind":"debt"}"#, "kind", "must be one of balances, trial, debts"),
        Case(
            "report", #"{"kind":"notifications","currency":"gems"}"#, "currency", "is not of the report notifications"),
        Case("report", #"{"kind":"trial","from":1}"#, "from", "is not of the report trial"),
        Case("report", #"{"kind":"lots","to":1}"#, "to", "the report lots has asOf"),
        Case("report", #"{"kind":"sales","asOf":1,"to":1}"#, "to", "give one of them"),
        Case("report", #"{"kind":"sales","from":2,"to":1}"#, "from", "is later than the period's end"),
        Case("report", #"{"kind":"balances","by":"effective"}"#, "by", "is not of the report balances"),
        Case("report", #"{"kind":"debts","by":"posted"}"#, "by", "is not of the report debts"),
        Case("report", #"{"kind":"sales","by":"paid"}"#, "by", "must be one of posted, effective"),
        Case("report", #"{"kind":"sales","currency":"gems"}"#, "currency", "is not of the report sales"),
        Case("report", #"{"kind":"sales","to":1,"after":"revenue.0.1"}"#, "after", "next of a page of sales"),
        Case(
            "report", #"{"kind":"notifications","scope":"all"}"#, "scope",
            "is of the reports consumption_requests and lots only"),
        Case("report", #"{"kind":"consumption_requests","scope":"some"}"#, "scope", "must be one of open, all"),
        Case("report", #"{"kind":"closings","currency":"gems"}"#, "currency", "is not of the report closings"),
        Case("external", external(#""transactionId":"1""#), "source", "is missing"),
        Case("external", external(#""source":"app_store","transactionId":"1""#), "source", "the ledger's own sources"),
        Case("external", external(#""source":"a b","transactionId":"1""#), "source", "letters, digits"),
        Case("external", external(#""source":"shop""#), "transactionId", "is missing"),
        Case(
            "external", external(#""source":"shop","transactionId":"a\u0007""#), "transactionId", "control characters"),
        Case("external", external(#""source":"shop","transactionId":"1","quantity":0"#), "quantity", "from 1 to"),
        Case("external", external(#""source":"shop","transactionId":"1","price":5"#), "priceCurrency", "is missing"),
        Case(
            "external", external(#""source":"shop","transactionId":"1","priceCurrency":"EUR""#), "price", "is missing"),
        Case(
            "external", external(#""source":"shop","transactionId":"1","price":5,"priceCurrency":"eur""#),
            "priceCurrency", "three capital letters"),
        Case("external", external(#""source":"shop","transactionId":"1","revoked":100001"#), "revoked", "from 0 to"),
        Case("adjust", adjust(#""amount":0,"reason":"r","approval":"t""#), "amount", "must not be 0"),
        Case("adjust", adjust(#""amount":9007199254740992,"reason":"r","approval":"t""#), "amount", "from -"),
        Case("adjust", adjust(#""amount":1,"reason":"","approval":"t""#), "reason", "must say why"),
        Case("adjust", adjust(#""amount":1,"reason":"r""#), "approval", "is missing"),
        Case("adjust", adjust(#""amount":1,"reason":"r","approval":"""#), "approval", "must be 1 to"),
        Case(
            "adjust", adjust(#""amount":1,"reason":"r","approval":"t""#, of: "given"), "class", "must be paid or free"),
        Case("import", lots(""), "lots", "must be with usedUp 1 to 256"),
        Case(
            "import", lots(Array(repeating: #"{"currency":"gems","amount":1}"#, count: 257).joined(separator: ",")),
            "lots", "must be at most 256"),
        Case("import", lots(#"{"currency":"gems","amount":0}"#), "lots[0].amount", "must be an integer from 1"),
        Case("import", lots(#"{"currency":"gems","amount":1,"price":5}"#), "lots[0].transactionId", "is missing"),
        Case(
            "import", lots(bought(#""transactionId":"4611686018427387904","purchaseDate":1"#)),
            "lots[0].transactionId", "below 2^62"),
        Case("import", lots(bought(#""transactionId":"1""#)), "lots[0].purchaseDate", "is missing"),
        Case(
            "import",
            lots(
                bought(#""transactionId":"1","purchaseDate":1"#) + ","
                    + bought(#""transactionId":"1","purchaseDate":1"#)),
            "lots[1]", "must be of another currency"),
        Case(
            "import",
            lots(
                bought(#""transactionId":"1","purchaseDate":1"#) + ","
                    + bought(#""transactionId":"1","purchaseDate":2"#)),
            "lots[1]", "must say the same of its purchase"),
        Case("close", "{}", "through", "is missing"),
        Case("close", #"{"through":-1}"#, "through", "milliseconds"),
        Case("close", #"{"through":"2026-01-31"}"#, "through", "must be a number"),
        Case("close", #"{"through":1,"key":"k"}"#, "key", "not a parameter"),
        Case("consumption", #"{"transactionId":"1"}"#, "customerConsented", "is missing"),
        Case("consumption", #"{"transactionId":"1","customerConsented":false}"#, "customerConsented", "must be true"),
        Case(
            "consumption", #"{"transactionId":"1","customerConsented":true,"deliveryStatus":"LOST"}"#, "deliveryStatus",
            "must be one of DELIVERED"),
        Case(
            "consumption", #"{"transactionId":"1","customerConsented":true,"refundPreference":"NO"}"#,
            "refundPreference", "must be one of DECLINE"),
        Case("consumption", #"{"customerConsented":true}"#, "transactionId", "is missing"),
        Case("report", #"{"kind":"trial","limit":4001}"#, "limit", "from 1 to 4000"),
        Case(
            "report", #"{"kind":"debts","asOf":1,"after":"balances.1.2"}"#, "after",
            "is not the next of a page of debts"),
        Case("report", #"{"after":"1.2","kind":"debts","asOf":1}"#, "after", "is not the next of a page of debts"),
        Case("report", #"{"kind":"debts","after":"debts.1.2"}"#, "asOf", "the asOf of the page before"),
        Case("report", #"{"kind":"trial","after":"x"}"#, "after", "next of a page"),
        Case("report", #"{"kind":"trial","asOf":1.5}"#, "asOf", "without fraction"),
        Case("report", #"{"kind":\#(nested(40))}"#, "kind", "must be a string"),
        Case("report", #"{"other":\#(nested(100_000))}"#, "other", "is not a parameter"),
        Case("spend", #"{"debits":\#(nested(40))}"#, "debits[0]", "must be an object"),
        Case("atomic", nested(2), "params", "must be an object"),
        Case("ping", "{\((0...1_024).map { "\"m\($0)\":0" }.joined(separator: ","))}", "m0", "is not a parameter"),
    ]

    private static func nested(_ depth: Int) -> String {
        String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }

    @Test(arguments: refused)
    func aRefusedParameterIsNamed(expected: Case) throws {
        for line in [
            #"{"jsonrpc":"2.0","id":1,"method":"\#(expected.method)","params":\#(expected.params)}"#,
            #"{"params":\#(expected.params),"jsonrpc":"2.0","id":1,"method":"\#(expected.method)"}"#,
        ] {
            let error = try #require(parse(line).error)
            #expect(error.reason == "invalid_params")
            #expect(error.code == -32602)
            #expect(error.path == expected.path)
            #expect(error.message.hasPrefix(expected.path + " "))
            #expect(error.message.contains(expected.says), "\(error.message)")
            #expect(parse(line).message?.id == .integer(1))
        }
    }

    @Test func theLimitsThemselvesAreAllowed() throws {
        let currencies = (1...16).map { #"{"currency":"c\#($0)","amount":9007199254740991}"# }.joined(separator: ",")
        let note = String(repeating: "é", count: 128)
        let key = String(repeating: "k", count: 64)
        let account = String(repeating: "ä", count: 64)
        let line = parse(
            #"""
            {"jsonrpc":"2.0","id":1,"method":"spend","params":{"key":"\#(key)","account":"\#(account)",\#
            "debits":[\#(currencies)],"note":"\#(note)"}}
            """#
        )
        guard case .ledger(.keyed(.spend(let spend))) = line.request else {
            Issue.record("\(line)")
            return
        }
        #expect(spend.debits.count == 16)
        #expect(spend.debits.last?.amount.units == Limits.amountMax)
        #expect(spend.note == note)
        #expect(spend.key.text == key)
        #expect(spend.account.text == account)
        #expect(spend.funds == .any)
    }

    @Test func sixtyFourOperationsAreAllowedInAnyOrderOfMembers() throws {
        let inner = #"{"params":{"holdKey":"h","operation":63},"method":"release"}"#
        let operations = Array(repeating: inner, count: 64).joined(separator: ",")
        let line = parse(
            #"{"jsonrpc":"2.0","id":1,"method":"atomic","params":{"operations":[\#(operations)],"key":"k"}}"#)
        let key = try Samples.key("k")
        let release = KeyedOperation.release(Release(key: key, holdKey: try Samples.key("h"), operation: 63))
        #expect(
            line.request
                == .ledger(.atomic(Atomic(key: key, operations: Array(repeating: release, count: 64)))))
    }

    @Test func seventeenDebitsAreTooMany() throws {
        let currencies = (1...17).map { #"{"currency":"c\#($0)","amount":1}"# }.joined(separator: ",")
        let line = parse(
            #"{"jsonrpc":"2.0","id":1,"method":"spend","params":{"key":"k","account":"p","debits":[\#(currencies)]}}"#)
        #expect(line.error?.path == "debits")
    }

    @Test func aUUIDInAnyLetterCaseIsOneAccount() throws {
        let line = parse(
            #"{"jsonrpc":"2.0","id":1,"method":"balance","params":{"account":"7E3FB204-14E0-4D0B-9D0E-C6E3E2A1B0AF"}}"#)
        let name = try Samples.account("7e3fb204-14e0-4d0b-9d0e-c6e3e2a1b0af")
        #expect(line.request == .ledger(.balance(BalanceQuery(account: name))))
        #expect(name.text == "7e3fb204-14e0-4d0b-9d0e-c6e3e2a1b0af")
    }

    @Test func aSignedObjectIsTakenByteForByteEscapesUndone() {
        let line = parse(#"{"jsonrpc":"2.0","id":1,"method":"credit","params":{"signedTransaction":"a\u002eb\/c é"}}"#)
        #expect(line.request == .ledger(.credit(Credit(signedTransaction: Array("a.b/c é".utf8)))))
    }

    @Test func optionalMembersHaveTheirDefaults() throws {
        let player = try Samples.account("p")
        #expect(
            parse(#"{"jsonrpc":"2.0","id":1,"method":"history","params":{"account":"p"}}"#).request
                == .ledger(.history(HistoryQuery(account: player, currency: nil, limit: 100, before: nil))))
        #expect(
            parse(#"{"jsonrpc":"2.0","id":1,"method":"report","params":{"kind":"balances"}}"#).request
                == .ledger(.report(ReportRequest(kind: .balances, limit: 1_000))))
        #expect(
            parse(#"{"jsonrpc":"2.0","id":1,"method":"journal","params":{"after":0}}"#).request
                == .ledger(.journal(JournalQuery(after: 0, limit: 100))))
    }
}
