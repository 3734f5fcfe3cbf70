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

    private static let gems = #"{"currency":"gems","amount":1}"#

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
            "grant", #"{"key":"k","account":"p","currency":"gems","amount":1,"expiresAt":1}"#, "expiresAt",
            "not a parameter"),
        Case("balance", "{}", "account", "is missing"),
        Case("balance", #"{"account":"p","currency":""}"#, "currency", "currency's code"),
        Case("balance", #"{"account":"p","asOf":-1}"#, "asOf", "milliseconds"),
        Case("balance", #"{"account":"p","asOf":"2026-01-01"}"#, "asOf", "must be a number"),
        Case("history", #"{"account":"p","limit":0}"#, "limit", "from 1 to 1000"),
        Case("history", #"{"account":"p","limit":1001}"#, "limit", "from 1 to 1000"),
        Case("history", #"{"account":"p","before":0}"#, "before", "from 1"),
        Case("report", "{}", "kind", "is missing"),
        Case("report", #"{"kind":"debt"}"#, "kind", "must be one of balances, trial, debts"),
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
        Case("report", #"{"kind":"trial","after":"x"}"#, "after", "next of a page"),
        Case("report", #"{"kind":"trial","asOf":1.5}"#, "asOf", "without fraction"),
    ]

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
            #"{"jsonrpc":"2.0","id":1,"method":"spend","params":{"key":"\#(key)","account":"\#(account)","debits":[\#(currencies)],"note":"\#(note)"}}"#
        )
        guard case .spend(let spend) = line.request else {
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
        #expect(line.request == .balance(account: name, currency: nil, asOf: nil))
        #expect(name.text == "7e3fb204-14e0-4d0b-9d0e-c6e3e2a1b0af")
    }

    @Test func aSignedObjectIsTakenByteForByteEscapesUndone() {
        let line = parse(#"{"jsonrpc":"2.0","id":1,"method":"credit","params":{"signedTransaction":"a\u002eb\/c é"}}"#)
        #expect(line.request == .credit(signedTransaction: Array("a.b/c é".utf8), account: nil))
    }

    @Test func optionalMembersHaveTheirDefaults() throws {
        let player = try Samples.account("p")
        #expect(
            parse(#"{"jsonrpc":"2.0","id":1,"method":"history","params":{"account":"p"}}"#).request
                == .history(HistoryQuery(account: player, currency: nil, limit: 100, before: nil)))
        #expect(
            parse(#"{"jsonrpc":"2.0","id":1,"method":"report","params":{"kind":"balances"}}"#).request
                == .report(kind: .balances, asOf: nil, currency: nil, limit: 1_000, after: nil))
    }
}
