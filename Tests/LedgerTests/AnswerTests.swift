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

    private static let drawn = [
        DrawnLot(currency: "gems", amount: 1, lot: 1, transaction: nil),
        DrawnLot(currency: "gems", amount: 2, lot: 9, transaction: 4),
    ]

    /// Names as the accounts of the answers below have them; one in five numbers is no account's.
    private static func read(_ bytes: [UInt8]) -> KeyedAnswer? {
        KeyedAnswer(encoded: bytes[...]) { player in
            player % 5 == 4 ? nil : player == 2 ? "ann" : player == 300 ? "é" : AccountName("player-\(player)")
        }
    }

    static let answers: [KeyedAnswer] = [
        .spend(
            SpendReceipt(
                entry: 42, replayed: false,
                drawn: [
                    DrawnLot(currency: "gems", amount: 1, lot: 1, transaction: nil),
                    DrawnLot(currency: "gems", amount: Amount(largest)!, lot: .max, transaction: 0),
                    DrawnLot(currency: "a.b-c_9", amount: 128, lot: 300, transaction: 2_000_000_849_195_831),
                    DrawnLot(currency: "gems", amount: 127, lot: 2, transaction: TransactionID(number: .max)),
                ], balances: balances), KeyedAnswer.Trace(first: 77, player: 5)),
        .spend(
            SpendReceipt(entry: .max, replayed: false, drawn: [], balances: []),
            KeyedAnswer.Trace(first: .max, player: .max)),
        .reversal(ReversalReceipt(entry: 9, replayed: false, returned: drawn, balances: balances)),
        .hold(
            HoldReceipt(entry: 9, replayed: false, expiresAt: .max, balances: balances),
            KeyedAnswer.Trace(first: 1, player: 1)),
        .capture(
            CaptureReceipt(entry: 9, replayed: false, drawn: drawn, balances: balances),
            KeyedAnswer.Trace(first: 300, player: 1)),
        .release(ReleaseReceipt(entry: 128, replayed: false, balances: balances)),
        .atomic(
            AtomicReceipt(
                entry: 3, replayed: false,
                results: [
                    .spend(drawn: drawn), .grant, .reverse(returned: drawn), .hold(expiresAt: 5),
                    .capture(drawn: drawn),
                    .release,
                ],
                balances: [
                    AccountBalances(account: "ann", balances: balances), AccountBalances(account: "é", balances: []),
                ]),
            [
                KeyedAnswer.Trace(first: 1, player: 2), nil, nil, KeyedAnswer.Trace(first: 3, player: 2),
                KeyedAnswer.Trace(first: 4, player: 2), nil,
            ], players: [2, 300]),
        .refused(.unknownSpend), .refused(.alreadyReversed(currency: "gems", reversible: 7)), .refused(.unknownHold),
        .refused(.holdClosed), .refused(.holdExpired(expiresAt: 1_700_000_000_000)),
        .refused(.holdClosed, operation: 63), .refused(.insufficientFunds(currency: "g", available: 1), operation: 0),
        .grant(GrantReceipt(entry: 1, replayed: false, balances: balances)),
        .refused(.insufficientFunds(currency: "gems", available: 0)),
        .refused(.insufficientFunds(currency: "gems", available: largest)),
        .refused(.versionMismatch(version: 0)), .refused(.versionMismatch(version: 12_345)),
        .refused(.minimumRemaining(available: 16_384)), .refused(.balanceLimit(currency: "gems")),
        .refused(.grantLimit(currency: "gems", grantMax: largest)),
        .refused(.grantLimit(currency: "g", grantMax: 1), operation: 63),
        .refused(.unknownCurrency(currency: CurrencyCode(String(repeating: "z", count: Limits.codeBytesMax))!)),
    ]

    @Test(arguments: answers)
    func aStoredAnswerIsReadAgain(answer: KeyedAnswer) {
        #expect(Self.read(answer.encoded) == answer)
    }

    @Test(arguments: answers)
    func aCutOrLongerFormIsNoAnswer(answer: KeyedAnswer) {
        let bytes = answer.encoded
        for count in 0..<bytes.count { #expect(Self.read(Array(bytes.prefix(count))) == nil) }
        #expect(Self.read(bytes + [0]) == nil)
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
                        ]), KeyedAnswer.Trace(first: 130, player: 6)),
                [
                    1, 172, 2, 130, 1, 6, 1, 4, 103, 101, 109, 115, 130, 1, 1, 0, 2, 3, 2, 4, 103, 101, 109, 115, 5, 2,
                    10, 4, 103,
                    101,
                ]
                    + [109, 115, 1, 3, 0]
            ),
            (.grant(GrantReceipt(entry: 1, replayed: false, balances: [])), [2, 1, 0]),
            (.reversal(ReversalReceipt(entry: 1, replayed: false, returned: [], balances: [])), [3, 1, 0, 0]),
            (
                .hold(
                    HoldReceipt(entry: 1, replayed: false, expiresAt: 7, balances: []),
                    KeyedAnswer.Trace(first: 2, player: 3)), [4, 1, 2, 3, 7, 0]
            ),
            (
                .capture(
                    CaptureReceipt(entry: 1, replayed: false, drawn: [], balances: []),
                    KeyedAnswer.Trace(first: 2, player: 3)), [5, 1, 2, 3, 0, 0]
            ),
            (.release(ReleaseReceipt(entry: 1, replayed: false, balances: [])), [6, 1, 0]),
            (
                .atomic(
                    AtomicReceipt(
                        entry: 1, replayed: false, results: [.grant, .hold(expiresAt: 5)],
                        balances: [AccountBalances(account: "a", balances: [])]),
                    [nil, KeyedAnswer.Trace(first: 2, player: 3)], players: [3]), [7, 1, 2, 2, 4, 2, 3, 5, 1, 3, 0]
            ),
            (.refused(.holdClosed, operation: 4), [8, 4, 24]), (.refused(.unknownSpend), [21]),
            (.refused(.alreadyReversed(currency: "g", reversible: 3)), [22, 1, 103, 3]), (.refused(.unknownHold), [23]),
            (.refused(.holdClosed), [24]), (.refused(.holdExpired(expiresAt: 9)), [25, 9]),
            (.refused(.insufficientFunds(currency: "g", available: 128)), [16, 1, 103, 128, 1]),
            (.refused(.versionMismatch(version: 5)), [17, 5]), (.refused(.minimumRemaining(available: 6)), [18, 6]),
            (.refused(.balanceLimit(currency: "g")), [19, 1, 103]),
            (.refused(.unknownCurrency(currency: "g")), [20, 1, 103]),
            (.refused(.grantLimit(currency: "g", grantMax: 129)), [26, 1, 103, 129, 1]),
        ] as [(KeyedAnswer, [UInt8])])
    func theStoredFormIsFixed(answer: KeyedAnswer, bytes: [UInt8]) {
        #expect(answer.encoded == bytes)
    }

    @Test(
        arguments: [
            [], [0], [3], [15], [26], [26, 0, 1], [26, 1, 103], [27], [255], [8, 1], [8, 0, 1, 0], [7, 1, 1, 9, 0],
            [7, 1, 1, 2, 1, 4, 0],
            [7, 1, 1, 2, 1, 0],
            [16, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1], [16, 127], [19, 0],
            [19, 1, 32],
            [19, 2, 195, 40], [17, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
            [17, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2], [17] + [UInt8](repeating: 128, count: 40),
            [2, 1, 255, 255, 255, 255, 255, 255, 255, 255, 127], [1, 1, 1, 1, 0, 1, 1, 103, 0, 1, 0],
        ] as [[UInt8]])
    func whatIsNoAnswerIsRead(asNothing bytes: [UInt8]) {
        #expect(Self.read(bytes) == nil)
    }

    /// Reading never traps, and what it reads is stored as something that it reads again.
    @Test func anyBytesAreReadWithoutTrapping() {
        let seed = Seed.drawn()
        var random = SplitMix64(seed: seed)
        var read = 0
        for _ in 0..<100_000 {
            var bytes = Self.answers.randomElement(using: &random)!.encoded
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: .min ... .max, using: &random)
            }
            if random.chance(20) { bytes = bytes.map { _ in UInt8.random(in: .min ... .max, using: &random) } }
            guard let answer = Self.read(bytes) else { continue }
            read += 1
            if Self.read(answer.encoded) != answer {
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
