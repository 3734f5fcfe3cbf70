import LedgerWire
import Testing

/// The framing of a request, whatever its method: what is refused, by which reason, and with which id.
@Suite struct EnvelopeTests {
    struct Case: CustomTestStringConvertible, Sendable {
        var line: String
        var reason: WireReason
        var id: RequestID?
        var path: String?
        /// A part of the message.
        var says: String

        init(_ line: String, _ reason: WireReason, id: RequestID?, path: String? = nil, says: String) {
            (self.line, self.reason, self.id, self.path, self.says) = (line, reason, id, path, says)
        }

        var testDescription: String { String(line.prefix(100)) }
    }

    private static let refused: [Case] = [
        // Not JSON: the id cannot be told.
        Case("", .parseError, id: nil, says: "ends where a value should begin"),
        Case("   ", .parseError, id: nil, says: "ends"),
        Case("nonsense", .parseError, id: nil, says: "no value"),
        Case(#"{"jsonrpc":"2.0","id":1,"method":"ping""#, .parseError, id: nil, says: "is not JSON"),
        Case(#"{"jsonrpc":"2.0","id":1,"method":"ping"}}"#, .parseError, id: nil, says: "something follows"),
        Case(#"{"jsonrpc":"2.0","id":1,"method":"ping"} {}"#, .parseError, id: nil, says: "something follows"),
        Case(#"{"jsonrpc":"2.0","id":1,"method":"ping",}"#, .parseError, id: nil, says: "name is missing"),
        Case(#"{'jsonrpc':"2.0"}"#, .parseError, id: nil, says: "name is missing"),
        Case(#"{"jsonrpc":"2.0","id":01,"method":"ping"}"#, .parseError, id: nil, says: "begins with a zero"),
        Case(#"{"jsonrpc":"2.0","id":"\ud800","method":"ping"}"#, .parseError, id: nil, says: "surrogate"),
        Case(
            #"{"jsonrpc":"2.0","id":1,"method":"ping","params":"# + String(repeating: "[", count: 40)
                + String(repeating: "]", count: 40) + "}", .invalidParams, id: .integer(1), path: "params",
            says: "must be an object"),
        Case(
            #"{"jsonrpc":"2.0","params":{"token":"# + String(repeating: "[", count: 400_000)
                + String(repeating: "]", count: 400_000) + #"},"id":1,"method":"authenticate"}"#, .invalidParams,
            id: .integer(1), path: "token", says: "must be a string"),
        Case(
            #"{"jsonrpc":"2.0","id":1,"method":"authenticate","params":{"token":[{"a":1,}]}}"#, .parseError, id: nil,
            says: "name is missing"),
        Case(
            #"{"jsonrpc":"2.0","id":1,"method":"authenticate","params":{"token":[1,]}}"#, .parseError, id: nil,
            says: "an element is missing"),
        Case(
            #"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"#
                + (0...1_024).map { "\"m\($0)\":0" }.joined(separator: ",") + "}}", .invalidParams,
            id: .integer(1), path: "m0", says: "is not a parameter"),
        // An error in the text goes before every other, wherever it stands.
        Case(#"{"jsonrpc":"1.0","id":1,"method":"nothing","params":{"a":tru}}"#, .parseError, id: nil, says: "byte"),
        Case(#"[1,{"a":1,"a":2},]"#, .parseError, id: nil, says: "an element is missing"),
        // No request.
        Case("17", .invalidRequest, id: nil, says: "must be a request"),
        Case("null", .invalidRequest, id: nil, says: "must be a request"),
        Case(#""ping""#, .invalidRequest, id: nil, says: "must be a request"),
        Case("[]", .invalidRequest, id: nil, says: "at least one"),
        Case("{}", .invalidRequest, id: .null, says: "jsonrpc"),
        Case(#"{"id":1,"method":"ping"}"#, .invalidRequest, id: .integer(1), says: "jsonrpc"),
        Case(#"{"jsonrpc":"2.1","id":1,"method":"ping"}"#, .invalidRequest, id: .integer(1), says: "jsonrpc"),
        Case(#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, .invalidRequest, id: .integer(1), says: "jsonrpc"),
        Case(#"{"jsonrpc":"2.0","id":1}"#, .invalidRequest, id: .integer(1), says: "method"),
        Case(#"{"jsonrpc":"2.0","id":1,"method":7}"#, .invalidRequest, id: .integer(1), says: "method"),
        Case(#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, .invalidRequest, id: .null, says: "id must be"),
        Case(#"{"jsonrpc":"2.0","id":[{"a":1,"a":2}],"method":"ping"}"#, .invalidRequest, id: .null, says: "id must"),
        Case(#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, .invalidRequest, id: .null, says: "id must be"),
        Case(
            #"{"jsonrpc":"2.0","id":1,"method":"ping","params":null}"#, .invalidRequest, id: .integer(1), says: "params"
        ),
        Case(
            #"""
            {"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}
            """#, .invalidRequest, id: .integer(1), says: "params"),
        Case(
            #"{"jsonrpc":"2.0","id":1,"method":"ping","extra":0}"#, .invalidRequest, id: .integer(1), says: "no other"),
        Case(
            #"{"jsonrpc":"2.0","id":1,"method":"ping","Params":{}}"#, .invalidRequest, id: .integer(1), says: "no other"
        ),
        // A member given twice; the id only where it is not the id.
        Case(#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, .invalidRequest, id: .null, says: "twice"),
        Case(#"{"jsonrpc":"2.0","id":1,"i\u0064":1,"method":"ping"}"#, .invalidRequest, id: .null, says: "twice"),
        Case(
            #"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"}"#, .invalidRequest, id: .integer(1),
            says: "twice"),
        Case(
            #"{"jsonrpc":"2.0","id":1,"method":"ping","method":"info"}"#, .invalidRequest, id: .integer(1),
            says: "twice"),
        Case(
            #"{"jsonrpc":"2.0","id":1,"method":"ping","params":{},"params":{}}"#, .invalidRequest, id: .integer(1),
            says: "twice"),
        // An envelope's error goes before the method's, the method's before the parameters'.
        Case(
            #"{"jsonrpc":"1","id":1,"method":"nothing","params":[]}"#, .invalidRequest, id: .integer(1), says: "jsonrpc"
        ),
        Case(
            #"{"params":{"a":1,"a":1},"jsonrpc":"2.0","id":1,"method":"x"}"#, .methodNotFound, id: .integer(1),
            says: "name"),
        Case(#"{"jsonrpc":"2.0","id":1,"method":"Ping"}"#, .methodNotFound, id: .integer(1), says: "no method"),
        Case(
            #"{"jsonrpc":"2.0","id":1,"method":"atomic ","params":{}}"#, .methodNotFound, id: .integer(1),
            says: "no method"),
        Case(
            #"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, .invalidParams, id: .integer(1), path: "params",
            says: "by name"),
        Case(
            #"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":1}}"#, .invalidParams, id: .integer(1), path: "x",
            says: "not a parameter"),
    ]

    @Test(arguments: refused)
    func aRequestThatIsNotValidSaysWhy(expected: Case) throws {
        let line = parse(expected.line)
        let error = try #require(line.error)
        #expect(error.reason == expected.reason.rawValue)
        #expect(error.code == expected.reason.code)
        #expect(error.path == expected.path)
        #expect(error.message.contains(expected.says), "\(error.message)")
        #expect(line.message?.id == expected.id)
    }

    @Test func aNotificationIsNotAnsweredWhateverItsMethodAndParameters() {
        for line in [
            #"{"jsonrpc":"2.0","method":"ping"}"#, #"{"jsonrpc":"2.0","method":"nothing"}"#,
            #"{"jsonrpc":"2.0","method":"spend","params":{}}"#,
        ] {
            #expect(parse(line).answer { _ in .pong } == [], "\(line)")
        }
        #expect(parse(#"{"jsonrpc":"2.0","method":"ping"}"#).request == .ping)
    }

    @Test(arguments: [
        ("1", RequestID.integer(1)), ("-9223372036854775808", .integer(.min)), ("null", .null),
        ("9223372036854775808", .number("9223372036854775808")), ("1.0", .number("1.0")), ("1e2", .number("1e2")),
        (#""""#, .string("")), (#""a\u00e9\n""#, .string("aé\n")),
    ])
    func anIdComesBackAsItWasSent(text: String, id: RequestID) {
        let line = parse(#"{"jsonrpc":"2.0","id":\#(text),"method":"ping"}"#)
        #expect(line.message?.id == id)
        #expect(line.request == .ping)
        let sent = text == #""a\u00e9\n""# ? #""aé\n""# : text
        let answer = String(decoding: line.answer { _ in .pong }, as: UTF8.self)
        #expect(answer == #"{"jsonrpc":"2.0","id":\#(sent),"result":{}}"# + "\n")
    }

    @Test func membersMayComeInAnyOrder() throws {
        let members = [
            #""jsonrpc":"2.0""#, #""id":"x""#, #""method":"balance""#, #""params":{"account":"p","currency":"gems"}"#,
        ]
        let expected = Message(
            id: .string("x"),
            body: .success(
                Message.Asked(
                    Methods.balance.method,
                    .ledger(
                        .balance(
                            BalanceQuery(
                                account: try Samples.account("p"), currency: try Samples.currency("gems")))))))
        for order in permutations(members) {
            let text = "{" + order.joined(separator: ",") + "}"
            #expect(parse(text) == .single(expected), "\(text)")
        }
    }

    @Test func whiteSpaceEscapesAndACarriageReturnMakeNoDifference() {
        let text = " {\t\"json\\u0072pc\" : \"2\\u002e0\" , \"id\":1,\"method\" :\"pin\\u0067\" ,\"params\": { } } \r"
        #expect(
            parse(text)
                == .single(
                    Message(id: .integer(1), body: .success(Message.Asked(Methods.ping.method, .ping)))))
    }

    @Test func everyMethodTakesTheNameOfALedger() throws {
        let ledger = try #require(LedgerName("production-1.a_b"))
        for asked in try Samples.requests() {
            var writer = RequestWriter()
            asked.writeFor(&writer, ledger)
            let text = String(decoding: writer.bytes.dropLast(), as: UTF8.self)
            guard case .single(let message) = parse(text), case .success(let read) = message.body else {
                Issue.record("\(text)")
                continue
            }
            #expect(read.ledger == ledger && read.request == asked.message.request, "\(text)")
        }
        // Whatever stands before it.
        let early = #"{"params":{"ledger":"a","account":"p"},"method":"balance","id":1,"jsonrpc":"2.0"}"#
        guard case .single(let message) = parse(early), case .success(let read) = message.body else {
            Issue.record("\(early)")
            return
        }
        #expect(read.ledger == LedgerName("a"))
    }

    @Test(arguments: [
        #"1"#, #"null"#, #""""#, #""a b""#, #""a:b""#, #""é""#, #"{}"#, #""\#(String(repeating: "a", count: 65))""#,
    ])
    func whatNamesNoLedgerIsSaid(_ value: String) throws {
        let text = #"{"jsonrpc":"2.0","id":1,"method":"balance","params":{"account":"p","ledger":\#(value)}}"#
        let error = try #require(parse(text).error)
        #expect(error.reason == "invalid_params" && error.path == "ledger", "\(error)")
    }

    @Test func aLedgerIsNamedOnceAndNotWithinAnAtomic() throws {
        let twice = #"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"ledger":"a","ledger":"a"}}"#
        #expect(try #require(parse(twice).error).path == "ledger")
        let spend = #"{"method":"spend","params":{"account":"a","debits":[{"currency":"g","amount":1}],"ledger":"a"}}"#
        let atomic = #"{"key":"k","operations":[\#(spend),\#(spend)]}"#
        let error = try #require(
            parse(#"{"jsonrpc":"2.0","id":1,"method":"atomic","params":\#(atomic)}"#).error)
        #expect(error.path == "operations[0].params.ledger", "\(error)")
        let nobody = try #require(parse(#"{"jsonrpc":"2.0","id":1,"method":"authenticate","params":{}}"#).error)
        #expect(nobody.path == "token")
    }

    @Test func theResultOfAWriteSaysWhichOfSeveralLedgersItIsOf() throws {
        let ledger = try #require(LedgerName("a"))
        var writer = ReplyWriter()
        writer.write(.outcome(.forgotten(true)), id: .integer(1), ledger: ledger)
        writer.write(.outcome(.refused(Refusal(.holdClosed))), id: .integer(2), ledger: ledger)
        writer.write(.pong, id: .integer(3), ledger: ledger)
        let lines = String(decoding: writer.bytes, as: UTF8.self).split(separator: "\n")
        #expect(lines[0] == #"{"jsonrpc":"2.0","id":1,"result":{"erased":true,"ledger":"a"}}"#)
        #expect(!lines[1].contains("ledger\":") && lines[2] == #"{"jsonrpc":"2.0","id":3,"result":{}}"#)
    }

    @Test func paramsMayBeLeftOutWhereNoneIsNeeded() throws {
        #expect(parse(#"{"jsonrpc":"2.0","id":1,"method":"info"}"#).request == .info)
        let error = try #require(parse(#"{"jsonrpc":"2.0","id":1,"method":"purchase"}"#).error)
        #expect(error.path == "transactionId")
        #expect(error.message == "transactionId is missing")
    }

    private func permutations(_ list: [String]) -> [[String]] {
        guard list.count > 1 else { return [list] }
        return list.indices.flatMap { index in
            var rest = list
            let first = rest.remove(at: index)
            return permutations(rest).map { [first] + $0 }
        }
    }
}
