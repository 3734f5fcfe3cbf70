import Ledger
import LedgerWire
import Testing

/// The protocol's table of errors.
@Suite struct WireErrorTests {
    /// Every reason, in the table's order.
    private static let table: [(code: Int, reason: String, retryable: Bool)] = [
        (-32700, "parse_error", false),
        (-32600, "invalid_request", false), (-32600, "line_too_long", false), (-32600, "batch_too_long", false),
        (-32601, "method_not_found", false),
        (-32602, "invalid_params", false), (-32602, "ledger_required", false),
        (-32602, "unknown_ledger", false),
        (-32603, "internal_error", true),
        (-32001, "unauthenticated", false), (-32001, "forbidden", false),
        (-32002, "overloaded", true), (-32002, "shutting_down", true), (-32002, "storage_unavailable", true),
        (-32002, "outcome_unknown", true), (-32002, "not_leader", true), (-32002, "storage_corrupt", false),
        (-32010, "verification_failed", false),
        (-32011, "wrong_app", false), (-32011, "wrong_environment", false), (-32011, "not_consumable", false),
        (-32011, "wrong_product_type", true), (-32011, "family_shared", false),
        (-32011, "unknown_product", true), (-32011, "account_required", false), (-32011, "account_mismatch", false),
        (-32011, "purchase_conflict", false), (-32011, "chain_mismatch", false),
        (-32012, "insufficient_funds", false), (-32012, "version_mismatch", false),
        (-32012, "minimum_remaining", false), (-32012, "grant_limit", false), (-32012, "balance_limit", false),
        (-32012, "key_reused", false),
        (-32012, "unknown_spend", false), (-32012, "already_reversed", false), (-32012, "unknown_hold", false),
        (-32012, "hold_closed", false), (-32012, "hold_expired", false),
        (-32012, "unknown_currency", false), (-32012, "unknown_purchase", false),
        (-32012, "period_closed", false),
    ]

    /// Every way by which this module makes an error.
    private static func errors() throws -> [WireError] {
        let gems = try Samples.currency("gems")
        let reasons: [Refusal.Reason] = [
            .notConsumable, .wrongProductType(product: "com.example.gems", listed: .nonRenewing, signed: "Consumable"),
            .familyShared(product: "com.example.gems"), .unknownProduct(product: "com.example.gems"), .accountRequired,
            .accountMismatch,
            .purchaseConflict(member: "product"), .insufficientFunds(currency: gems, available: 7),
            .versionMismatch(version: 3), .minimumRemaining(available: 8), .grantLimit(currency: gems, grantMax: 9),
            .balanceLimit(currency: gems), .keyReused,
            .unknownSpend, .alreadyReversed(currency: gems, reversible: 5), .unknownHold, .holdClosed,
            .holdExpired(expiresAt: 1_767_225_600_000), .unknownCurrency(currency: gems), .unknownPurchase,
            .periodClosed(closedThrough: 7),
        ]
        return [
            .parseError("the line is not JSON"), .invalidRequest("id must be a string"), .lineTooLong, .batchTooLong,
            .methodNotFound, .invalidParams(path: "debits[0].amount", "must be a number"),
            .ledgerRequired([LedgerName("a")!]), .unknownLedger(LedgerName("a")!), .internalError,
            .unauthenticated, .forbidden(Methods.report.method, .game), .overloaded, .shuttingDown, .storageUnavailable,
            .outcomeUnknown, .notLeader("ledger-1:7117"), .storageCorrupt,
            .verificationFailed(detail: "invalid_signature", message: "the signature does not verify"), .wrongApp,
            .wrongEnvironment,
        ] + reasons.prefix(7).map { WireError(Refusal($0)) } + [.chainMismatch(head: 7)]
            + reasons.dropFirst(7).map { WireError(Refusal($0)) }
    }

    @Test func everyReasonHasItsCodeAndSaysWhetherItMayBeRetried() throws {
        #expect(WireReason.allCases.map(\.rawValue) == Self.table.map(\.reason))
        let errors = try Self.errors()
        #expect(errors.map(\.reason) == Self.table.map(\.reason))
        for (error, row) in zip(errors, Self.table) {
            #expect(error.code == row.code, "\(row.reason)")
            #expect(error.retryable == row.retryable, "\(row.reason)")
            #expect(!error.message.isEmpty)
        }
    }

    @Test func everyErrorIsReadAsItWasWritten() throws {
        for error in try Self.errors() {
            var writer = ReplyWriter()
            writer.write(.error(error), id: .integer(1))
            let message = try #require(try ReplyLine(line: writer.bytes).messages.first)
            #expect(throws: error) { try message.body.get() }
            #expect(try WireError(json: error.json) == error)
        }
    }

    @Test func anErrorStandsAsTheProtocolShowsIt() throws {
        let refusal = Refusal(.insufficientFunds(currency: try Samples.currency("gems"), available: 7), replayed: true)
        var writer = ReplyWriter()
        writer.write(.outcome(.refused(refusal)), id: .integer(3))
        #expect(
            String(decoding: writer.bytes, as: UTF8.self)
                == #"""
                {"jsonrpc":"2.0","id":3,"error":{"code":-32012,"message":"only 7 gems can be spent",\#
                "data":{"reason":"insufficient_funds","retryable":false,"currency":"gems","available":7,\#
                "replayed":true}}}
                """#
                + "\n")
        #expect(WireError(refusal)["available"] == .integer(7))
        #expect(WireError(refusal)["nothing"] == nil)
        #expect(WireError(Refusal(.keyReused)).details == [])
    }

    @Test func theDetailsOfARefusalAreItsFacts() throws {
        let gems = try Samples.currency("gems")
        let reversed = WireError(Refusal(.alreadyReversed(currency: gems, reversible: 5)))
        #expect(reversed.details == [.init("currency", .string("gems")), .init("reversible", .integer(5))])
        #expect(reversed.message == "only 5 gems of the spend can still be given back")
        #expect(
            WireError(Refusal(.holdExpired(expiresAt: 9))).details == [.init("expiresAt", .integer(9))])
        for reason in [Refusal.Reason.unknownSpend, .unknownHold, .holdClosed] {
            #expect(WireError(Refusal(reason)).details == [])
        }
    }

    @Test func theRefusalOfAnAtomicNamesTheOperation() throws {
        let gems = try Samples.currency("gems")
        let refusal = Refusal(.insufficientFunds(currency: gems, available: 7), operation: 3, replayed: true)
        var writer = ReplyWriter()
        writer.write(.outcome(.refused(refusal)), id: .integer(3))
        #expect(
            String(decoding: writer.bytes, as: UTF8.self)
                == #"""
                {"jsonrpc":"2.0","id":3,"error":{"code":-32012,"message":"operation 3: only 7 gems can be \#
                spent","data":{"reason":"insufficient_funds","retryable":false,"currency":"gems",\#
                "available":7,"operation":3,"replayed":true}}}
                """#
                + "\n")
        #expect(WireError(Refusal(.holdClosed, operation: 0))["operation"] == .integer(0))
        #expect(WireError(Refusal(.holdClosed))["operation"] == nil)
    }

    @Test func detailsOfEveryKindAreKept() throws {
        let text =
            #"""
            {"code":-1,"message":"m","data":{"x":"s","reason":"new_one","y":1.5,"retryable":true,"z":[1,\#
            {"a":null}],"n":null,"b":false,"i":-3}}
            """#
        let error = try WireError(json: Array(text.utf8))
        #expect(error.reason == "new_one")
        #expect(error.retryable)
        #expect(
            error.details == [
                .init("x", .string("s")), .init("y", .json("1.5")), .init("z", .json(#"[1,{"a":null}]"#)),
                .init("n", .null), .init("b", .bool(false)), .init("i", .integer(-3)),
            ])
        #expect(try WireError(json: error.json) == error)
        let foreign = try WireError(json: Array(#"{"code":-32000,"message":"m"}"#.utf8))
        #expect(foreign == WireError(code: -32000, reason: "", message: "m", retryable: false))
    }

    @Test func noRefusalRepeatsATokenOrASignedObject() throws {
        let secret = "eyJhbGciOiJFUzI1NiJ9.eyJzZWNyZXQiOjF9.c2VjcmV0"
        let values = [#""\#(secret)""#, #"["\#(secret)"]"#, #"{"a":"\#(secret)"}"#, #""\#(secret)\u0001""#]
        let members: [(method: String, names: [String])] = [
            ("authenticate", ["token", "direct", "client"]), ("credit", ["signedTransaction", "account"]),
            ("notify", ["signedPayload", "account"]), ("purchase", ["transactionId", "limit", "before"]),
            ("spend", ["key", "account", "debits", "note", "funds", "expectedVersion", "minimumRemaining"]),
            ("grant", ["key", "account", "currency", "amount", "note", "expiresAt"]),
            ("reverse", ["key", "spendKey", "operation", "debits"]),
            ("hold", ["key", "account", "currency", "amount", "timeoutMilliseconds"]),
            ("capture", ["key", "holdKey", "operation", "amount"]), ("release", ["key", "holdKey", "operation"]),
            ("atomic", ["key", "operations"]), ("journal", ["after", "limit", "waitMilliseconds"]),
            ("balance", ["account", "currency", "asOf"]), ("find", ["account", "token", "key", "transactionId"]),
            ("history", ["account", "currency", "limit", "before"]),
            ("lots", ["account", "currency", "limit", "before"]), ("holds", ["account", "limit", "before"]),
            ("report", ["kind", "asOf", "currency", "limit", "after"]), ("ping", ["x"]), (secret, ["x"]),
        ]
        var refusals = 0
        for (method, names) in members {
            for name in names {
                for value in values {
                    for line in [
                        #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":{"\#(name)":\#(value)}}"#,
                        #"""
                        {"jsonrpc":"2.0","id":1,"method":"\#(method)","params":{"\#(name)":\#(value),\#
                        "\#(name)":\#(value)}}
                        """#,
                        #"{"jsonrpc":\#(value),"id":1,"method":"\#(method)","params":\#(value)}"#,
                        #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":{"\#(name)":\#(value)"#,
                        #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":{"debits":[{"currency":\#(value)}]}}"#,
                        #"""
                        {"jsonrpc":"2.0","id":1,"method":"atomic",\#
                        "params":{"operations":[{"method":\#(value),"params":{"\#(name)":\#(value)}}]}}
                        """#,
                    ] {
                        guard let error = parse(line).error else { continue }
                        refusals += 1
                        let text = String(decoding: error.json, as: UTF8.self)
                        #expect(!text.contains("eyJ") && !text.contains("c2VjcmV0"), "\(text)")
                    }
                }
            }
        }
        #expect(refusals > 500)
    }
}
