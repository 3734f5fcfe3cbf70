import Ledger
import LedgerWire
import Testing

/// The result of `find`, as the server writes it and a client reads it.
@Suite struct FindingTests {
    /// The entry that ``Samples/journalPage()`` begins with.
    private static let bought =
        #"""
        {"entry":8,"time":9,"kind":"credit","transactionId":"12","transfers":[{"transfer":20,\#
        "account":"player-1","debit":"purchased","credit":"wallet","currency":"gems","amount":5,"lot":20},\#
        {"transfer":21,"account":"player-1","debit":"wallet","credit":"receivable","currency":"gems",\#
        "amount":2,"lot":20,"debtLot":7}]}
        """#

    private static func written(_ finding: Finding) throws -> [UInt8] {
        var writer = ReplyWriter()
        writer.write(.outcome(.finding(finding)), id: .null)
        let range = try #require(try ReplyLine(line: writer.bytes).messages.first).body.get()
        return Array(writer.bytes[range])
    }

    @Test func everyFindingIsReadAsItWasWritten() throws {
        let texts = [
            #"{"kind":"unknown","accounts":[]}"#,
            #"{"kind":"account","accounts":["player-1"],"linked":false,"consent":null}"#,
            #"""
            {"kind":"account","accounts":["player-1"],"linked":true,"consent":{"consumption":false,"time":9,\#
            "actor":"pipeline"}}
            """#,
            #"""
            {"kind":"purchase","accounts":["player-1"],"transactionId":"12","product":"com.example.gems",\#
            "entry":\#(Self.bought)}
            """#,
            #"""
            {"kind":"purchase","accounts":[],"transactionId":"12","product":"com.example.gems","entry":null}
            """#,
            #"{"kind":"request","accounts":["player-1"],"key":"k","entry":\#(Self.bought),"refused":null}"#,
            #"""
            {"kind":"request","accounts":[],"key":"k","entry":null,"refused":null,\#
            "consent":{"consumption":true,"time":9}}
            """#,
            #"{"kind":"request","accounts":[],"key":"i","entry":null,"refused":null,"usedUp":3}"#,
            #"""
            {"kind":"request","accounts":[],"key":"k","entry":null,"refused":{"code":-32012,\#
            "message":"operation 3: only 7 gems can be spent","data":{"reason":"insufficient_funds",\#
            "retryable":false,"currency":"gems","available":7,"operation":3}}}
            """#,
        ]
        let findings = try Samples.findings()
        #expect(findings.count == texts.count)
        for (finding, text) in zip(findings, texts) {
            let json = try Self.written(finding)
            #expect(String(decoding: json, as: UTF8.self) == text)
            #expect(try Finding(json: json) == finding)
        }
    }

    @Test func anErasedAccountIsTold() throws {
        let erased = try #require(AccountName(told: "\u{7F}erased 3"))
        var entry = try Samples.journalPage().entries[0]
        entry.transfers[1].account = erased
        let finding = Finding.request(.init(key: try Samples.key("k"), answer: .posted(entry)))
        #expect(finding.accounts == [try Samples.account("player-1"), erased])
        #expect(try Finding(json: try Self.written(finding)) == finding)
    }

    /// Each account once, in the order of the transfers.
    @Test func theAccountsOfAnEntryAreThoseOfItsTransfers() throws {
        let names = try ["b", "a", "b", "c", "a"].map { try Samples.account($0) }
        var entry = try Samples.journalPage().entries[0]
        entry.transfers = names.map { name in
            var line = entry.transfers[0]
            line.account = name
            return line
        }
        let finding = Finding.request(.init(key: try Samples.key("k"), answer: .posted(entry)))
        #expect(finding.accounts.map(\.text) == ["b", "a", "c"])
    }

    /// Every refusal that is the one answer of a key; of others nothing is kept.
    @Test func aRefusalIsReadBackFromItsError() throws {
        let gems = try Samples.currency("gems")
        let kept: [Refusal.Reason] = [
            .insufficientFunds(currency: gems, available: 7), .versionMismatch(version: 3),
            .minimumRemaining(available: 0), .grantLimit(currency: gems, grantMax: 9), .balanceLimit(currency: gems),
            .unknownSpend,
            .alreadyReversed(currency: gems, reversible: 5), .unknownHold, .holdClosed,
            .holdExpired(expiresAt: 1_767_225_600_000), .unknownCurrency(currency: gems),
        ]
        for reason in kept {
            for refusal in [Refusal(reason), Refusal(reason, operation: 63), Refusal(reason, replayed: true)] {
                let error = WireError(refusal)
                #expect(Refusal(kept: error) == refusal)
                #expect(Refusal(kept: try WireError(json: error.json)) == refusal)
                // A fact that is missing is not made up.
                var bare = error
                bare.details = []
                #expect(Refusal(kept: bare) == (error.details.isEmpty ? refusal : bare.plain))
            }
        }
        let others: [Refusal.Reason] = [
            .notConsumable, .wrongProductType(product: "p", listed: .nonConsumable, signed: "s"),
            .familyShared(product: "p"), .unknownProduct(product: "p"), .accountRequired, .accountMismatch,
            .purchaseConflict(member: "m"),
            .keyReused, .unknownPurchase, .proratedPreference(consumption: 1),
        ]
        for reason in others { #expect(Refusal(kept: WireError(Refusal(reason))) == nil) }
        #expect(Refusal(kept: .overloaded) == nil)
        #expect(Refusal(kept: WireError(code: 1, reason: "new", message: "m", retryable: false)) == nil)
    }

    @Test(arguments: [
        "{}", #"{"kind":"account"}"#, #"{"accounts":[]}"#, #"{"kind":"account","accounts":[]}"#,
        #"{"kind":"wallet","accounts":["a"]}"#, #"{"kind":"purchase","accounts":[],"transactionId":"1","entry":null}"#,
        #"{"kind":"request","accounts":[],"key":"k","entry":null,"refused":null}"#,
        #"{"kind":"request","accounts":[],"entry":null,"refused":null}"#,
        #"""
        {"kind":"request","accounts":[],"key":"k","entry":null,"refused":{"code":-32012,"message":"m",\#
        "data":{"reason":"key_reused","retryable":false}}}
        """#,
    ])
    func whatIsNoFindingIsRefused(text: String) {
        #expect(throws: (any Error).self) { try Finding(json: Array(text.utf8)) }
    }
}

extension WireError {
    /// What an error without details says: only reasons that have none are refusals then.
    fileprivate var plain: Refusal? {
        switch reason {
        case "unknown_spend": Refusal(.unknownSpend)
        case "unknown_hold": Refusal(.unknownHold)
        case "hold_closed": Refusal(.holdClosed)
        default: nil
        }
    }
}
