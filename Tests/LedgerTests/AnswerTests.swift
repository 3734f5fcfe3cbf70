import Ledger
import LedgerTestKit
import Testing

/// The stored form of an answer.
@Suite struct AnswerTests {
    private static let largest = Limits.amountMax
    private static let balances = [
        CurrencyBalance(currency: "gems", balance: Balance(available: 450, held: 3, debt: 0, paid: 400, version: 7)),
        CurrencyBalance(
            currency: "t", balance: Balance(available: 0, held: 0, debt: largest, paid: 0, version: largest)),
    ]

    static let answers: [Answer] = [
        .spend(
            SpendReceipt(
                entry: 42, replayed: false,
                drawn: [
                    DrawnLot(currency: "gems", amount: 1, lot: 1, transaction: nil),
                    DrawnLot(currency: "gems", amount: Amount(largest)!, lot: .max, transaction: 0),
                    DrawnLot(currency: "a.b-c_9", amount: 128, lot: 300, transaction: 2_000_000_849_195_831),
                    DrawnLot(currency: "gems", amount: 127, lot: 2, transaction: TransactionID(number: .max)),
                ], balances: balances)),
        .spend(SpendReceipt(entry: .max, replayed: false, drawn: [], balances: [])),
        .grant(GrantReceipt(entry: 1, replayed: false, balances: balances)),
        .refused(.insufficientFunds(currency: "gems", available: 0)),
        .refused(.insufficientFunds(currency: "gems", available: largest)),
        .refused(.versionMismatch(version: 0)), .refused(.versionMismatch(version: 12_345)),
        .refused(.minimumRemaining(available: 16_384)), .refused(.balanceLimit(currency: "gems")),
        .refused(.unknownCurrency(currency: CurrencyCode(String(repeating: "z", count: Limits.codeBytesMax))!)),
    ]

    @Test(arguments: answers)
    func aStoredAnswerIsReadAgain(answer: Answer) {
        #expect(Answer(encoded: answer.encoded) == answer)
    }

    @Test(arguments: answers)
    func aCutOrLongerFormIsNoAnswer(answer: Answer) {
        let bytes = answer.encoded
        for count in 0..<bytes.count { #expect(Answer(encoded: Array(bytes.prefix(count))) == nil) }
        #expect(Answer(encoded: bytes + [0]) == nil)
    }

    /// Shipped forms never change.
    @Test(
        arguments: [
            (
                .spend(
                    SpendReceipt(
                        entry: 300, replayed: false,
                        drawn: [
                            DrawnLot(currency: "gems", amount: 5, lot: 2, transaction: 9),
                            DrawnLot(currency: "gems", amount: 1, lot: 3, transaction: nil),
                        ],
                        balances: [
                            CurrencyBalance(
                                currency: "gems",
                                balance: Balance(available: 130, held: 1, debt: 0, paid: 2, version: 3))
                        ])),
                [
                    1, 172, 2, 1, 4, 103, 101, 109, 115, 130, 1, 1, 0, 2, 3, 2, 4, 103, 101, 109, 115, 5, 2, 10, 4, 103,
                    101,
                ]
                    + [109, 115, 1, 3, 0]
            ),
            (.grant(GrantReceipt(entry: 1, replayed: false, balances: [])), [2, 1, 0]),
            (.refused(.insufficientFunds(currency: "g", available: 128)), [16, 1, 103, 128, 1]),
            (.refused(.versionMismatch(version: 5)), [17, 5]), (.refused(.minimumRemaining(available: 6)), [18, 6]),
            (.refused(.balanceLimit(currency: "g")), [19, 1, 103]),
            (.refused(.unknownCurrency(currency: "g")), [20, 1, 103]),
        ] as [(Answer, [UInt8])])
    func theStoredFormIsFixed(answer: Answer, bytes: [UInt8]) {
        #expect(answer.encoded == bytes)
    }

    @Test(
        arguments: [
            [], [0], [3], [21], [255], [16, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1], [16, 127], [19, 0],
            [19, 1, 32],
            [19, 2, 195, 40], [17, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
            [17, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2], [17] + [UInt8](repeating: 128, count: 40),
            [2, 1, 255, 255, 255, 255, 255, 255, 255, 255, 127], [1, 1, 0, 1, 1, 103, 0, 1, 0],
        ] as [[UInt8]])
    func whatIsNoAnswerIsRead(asNothing bytes: [UInt8]) {
        #expect(Answer(encoded: bytes) == nil)
    }

    /// Reading never traps, and what it reads is stored as something that it reads again.
    @Test func anyBytesAreReadWithoutTrapping() {
        let seed = UInt64.random(in: .min ... .max)
        var random = SplitMix64(seed: seed)
        var read = 0
        for _ in 0..<100_000 {
            var bytes = Self.answers.randomElement(using: &random)!.encoded
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: .min ... .max, using: &random)
            }
            if random.chance(20) { bytes = bytes.map { _ in UInt8.random(in: .min ... .max, using: &random) } }
            guard let answer = Answer(encoded: bytes) else { continue }
            read += 1
            if Answer(encoded: answer.encoded) != answer {
                Issue.record("seed \(seed): \(bytes) is read as \(answer), which is not read again")
                return
            }
        }
        #expect(read > 1_000)
    }

    @Test func theLargestTransactionIDIsAnswered() throws {
        var store = AuditedStore()
        try store.credit(jws(TransactionID(number: .max)), "ann")
        try store.credit(jws(0), "ann")
        #expect(try store.spend("s", "ann", 101).drawn.map(\.transaction) == [TransactionID(number: .max), 0])
        store.restart()
        #expect(try store.spend("s", "ann", 101).drawn.map(\.transaction) == [TransactionID(number: .max), 0])
    }
}
