import LedgerWire
import Testing

/// The examples of the JSON-RPC 2.0 specification (§7) that do not depend on methods this server does not have. Where
/// the specification calls a method of its own, `ping` stands in for it.
@Suite struct SpecificationTests {
    @Test(arguments: [
        // rpc call of non-existent method
        (#"{"jsonrpc": "2.0", "method": "foobar", "id": "1"}"#, [(-32601, #""1""#)]),
        // rpc call with invalid JSON
        (#"{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]"#, [(-32700, "null")]),
        // rpc call with invalid Request object
        (#"{"jsonrpc": "2.0", "method": 1, "params": "bar"}"#, [(-32600, "null")]),
        // rpc call Batch, invalid JSON
        (
            #"[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},{"jsonrpc": "2.0", "method"]"#,
            [(-32700, "null")]
        ),
        // rpc call with an empty Array
        ("[]", [(-32600, "null")]),
        // rpc call with an invalid Batch (but not empty)
        ("[1]", [(-32600, "null")]),
        // rpc call with invalid Batch
        ("[1,2,3]", [(-32600, "null"), (-32600, "null"), (-32600, "null")]),
        // rpc call Batch
        (
            #"""
            [{"jsonrpc": "2.0", "method": "ping", "id": "1"},{"jsonrpc": "2.0", "method": "ping"},{"foo": \#
            "boo"},{"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"}]
            """#,
            [(0, #""1""#), (-32600, "null"), (-32601, #""5""#)]
        ),
        // rpc call Batch (all notifications); a Notification
        (#"[{"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]},{"jsonrpc": "2.0", "method": "ping"}]"#, []),
        (#"{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}"#, []),
        (#"{"jsonrpc": "2.0", "method": "foobar"}"#, []),
    ])
    func theSpecificationsExamplesAreAnsweredAsItSays(line: String, expected: [(code: Int, id: String)]) throws {
        let answer = parse(line).answer { _ in .pong }
        guard !expected.isEmpty else {
            #expect(answer == [])
            return
        }
        let reply = try ReplyLine(line: answer)
        let codes = reply.messages.map { message in
            switch message.body {
            case .success: 0
            case .failure(let error): error.code
            }
        }
        #expect(codes == expected.map(\.code))
        #expect(reply.messages.map { $0.id == .null ? "null" : "\"\(text(of: $0.id))\"" } == expected.map(\.id))
        // A batch of invalid members is answered by an Array, one for an empty Array by a single object.
        let isArray = answer.first == UInt8(ascii: "[")
        #expect(isArray == (line.hasPrefix("[") && line != "[]" && expected.first?.code != -32700))
    }

    private func text(of id: RequestID) -> String {
        switch id {
        case .string(let text), .number(let text): text
        case .integer(let number): String(number)
        case .null: "null"
        }
    }
}
