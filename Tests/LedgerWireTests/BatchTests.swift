import LedgerWire
import Testing

/// JSON-RPC 2.0 §6 and this protocol's bound.
@Suite struct BatchTests {
    private static let ping = #"{"jsonrpc":"2.0","id":1,"method":"ping"}"#

    @Test func eachMemberSucceedsOrFailsByItself() throws {
        let line = parse(
            #"[\#(Self.ping),1,{"foo":"boo"},[],{"jsonrpc":"2.0","method":"ping"},{"a":{"b":1,"b":2}},"#
                + #"""
                {"jsonrpc":"2.0","id":2,"method":"purchase","params":{"transactionId":"1",\#
                "transactionId":"1"}},\#(Self.ping)]
                """#
        )
        guard case .batch(let messages) = line else {
            Issue.record("not a batch")
            return
        }
        let reasons = messages.map { message -> String? in
            switch message.body {
            case .success: nil
            case .failure(let error): error.reason
            }
        }
        #expect(
            reasons == [
                nil, "invalid_request", "invalid_request", "invalid_request", nil, "invalid_request", "invalid_params",
                nil,
            ])
        #expect(
            messages.map(\.id) == [.integer(1), .null, .null, .null, nil, .null, .integer(2), .integer(1)])
    }

    @Test func aBatchIsAnsweredByOneLineInTheSameOrder() throws {
        let line = parse(
            #"""
            [{"jsonrpc":"2.0","id":"b","method":"ping"},{"jsonrpc":"2.0","method":"ping"},{"jsonrpc":"2.0",\#
            "id":"a","method":"x"}]
            """#
        )
        let answer = line.answer { _ in .pong }
        #expect(answer.count(where: { $0 == UInt8(ascii: "\n") }) == 1)
        let reply = try ReplyLine(line: answer)
        #expect(reply.messages.map(\.id) == [.string("b"), .string("a")])
    }

    @Test func aBatchOfNotificationsIsNotAnswered() {
        #expect(
            parse(#"[{"jsonrpc":"2.0","method":"ping"},{"jsonrpc":"2.0","method":"x"}]"#).answer { _ in .pong } == [])
    }

    @Test func aBatchHoldsAtMostAThousandRequests() {
        let full = "[" + Array(repeating: Self.ping, count: WireLimits.batchRequestsMax).joined(separator: ",") + "]"
        guard case .batch(let messages) = parse(full) else {
            Issue.record("not a batch")
            return
        }
        #expect(messages.count == 1_000)
        let over = "[" + Array(repeating: Self.ping, count: 1_001).joined(separator: ",") + "]"
        #expect(parse(over) == .invalid(.batchTooLong))
        // Its text is read to the end nevertheless: what is no JSON is a parse_error.
        #expect(parse(String(over.dropLast())).error?.reason == "parse_error")
    }

    @Test(arguments: [
        "[]", "[ ]", "[1]", #"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
        #" [ {"jsonrpc":"2.0","id":1,"method":"ping"} , 7, {"jsonrpc":"2.0","id":3,"method":"no"} ,[[]]] "#,
        #"[{"jsonrpc":"2.0","id":1,"method":"ping"},]"#, #"[{"jsonrpc":"2.0","id":1,"method":"ping"},{},"#,
        "[1,2,3}", "[1,2,3] 4", "[1 2]", #"[{"a":{"b":1,"b":2}},{"id":tru}]"#,
        "[" + Array(repeating: "1", count: WireLimits.batchRequestsMax + 3).joined(separator: ",") + "]",
    ])
    func aBatchThatIsReadInSeveralGoesIsTheSame(_ line: String) {
        let bytes = Array(line.utf8)
        for requestsMax in [1, 2, 3, 1_000] {
            var parser = LineParser()
            var parsed: Line?
            var goes = 0
            while parsed == nil && goes <= bytes.count {
                let before = parser.requests
                parsed = bytes.withUnsafeBufferPointer { parser.parse($0, requestsMax: requestsMax) }
                goes += 1
                if parsed == nil { #expect(parser.requests == before + requestsMax, "so many are read in each go") }
            }
            #expect(parsed == parse(bytes))
        }
    }
}
