import Ledger
import Testing

/// Names, codes, keys, ids and amounts at their edges.
@Suite struct ValueTests {
    @Test(arguments: [
        "a", "player-1", " ", "ä", "日本", "🎮", "2000000849195831", String(repeating: "x", count: 128),
        String(repeating: "é", count: 64), "\u{A0}",
    ])
    func anAccountNameIsKept(text: String) {
        #expect(AccountName(text)?.text == text)
    }

    @Test(arguments: [
        "", String(repeating: "x", count: 129), String(repeating: "é", count: 65), "a\n", "\u{0}", "a\u{1F}b",
        "\u{7F}", "\u{80}", "\u{9F}", "a\u{85}",
    ])
    func noAccountName(text: String) {
        #expect(AccountName(text) == nil)
    }

    @Test(arguments: [
        ("0F8FAD5B-D9CB-469F-A165-70867728950E", "0f8fad5b-d9cb-469f-a165-70867728950e"),
        ("0f8fad5b-D9cb-469f-a165-70867728950E", "0f8fad5b-d9cb-469f-a165-70867728950e"),
        // Not UUIDs: their case is theirs.
        ("0F8FAD5BD9CB469FA16570867728950E", "0F8FAD5BD9CB469FA16570867728950E"),
        ("0F8FAD5B-D9CB-469F-A165-70867728950G", "0F8FAD5B-D9CB-469F-A165-70867728950G"),
        ("0F8FAD5B0D9CB-469F-A165-70867728950E", "0F8FAD5B0D9CB-469F-A165-70867728950E"),
        ("-F8FAD5B-D9CB-469F-A165-70867728950E", "-F8FAD5B-D9CB-469F-A165-70867728950E"), ("Player", "Player"),
    ])
    func onlyUUIDsAreLowerCased(text: String, name: String) {
        #expect(AccountName(text)?.text == name)
    }

    @Test(arguments: ["0F8FAD5B-D9CB-469F-A165-70867728950E", "0f8fad5b-d9cb-469f-a165-70867728950e"])
    func aTokenIsTheAccountOfItsName(text: String) {
        let token = AppAccountToken(text)
        #expect(token?.text == "0f8fad5b-d9cb-469f-a165-70867728950e")
        #expect(token != nil && token?.account == AccountName(text))
    }

    @Test(arguments: [
        "", "ann", "0F8FAD5BD9CB469FA16570867728950E", "0F8FAD5B-D9CB-469F-A165-70867728950G",
        "0F8FAD5B-D9CB-469F-A165-70867728950", "0F8FAD5B-D9CB-469F-A165-70867728950EE",
        "0F8FAD5B0D9CB-469F-A165-70867728950E", "{0F8FAD5B-D9CB-469F-A165-70867728950E}",
        "0F8FAD5B-D9CB-469F-A165-7086772895é", "------------------------------------",
    ])
    func noToken(text: String) {
        #expect(AppAccountToken(text) == nil)
    }

    /// "é" as one scalar and as two is equal as Unicode text, but two players.
    @Test func namesAreEqualByteForByte() {
        let composed: AccountName = "caf\u{E9}"
        let decomposed: AccountName = "cafe\u{301}"
        #expect(composed.text == decomposed.text)
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
    }

    @Test(arguments: ["gems", "A.b_c-9", "0", String(repeating: "c", count: 100)])
    func aCurrencyCode(text: String) {
        #expect(CurrencyCode(text)?.text == text)
    }

    @Test(arguments: ["", "a b", "gem$", "gëms", "a\n", "a/b", String(repeating: "c", count: 101)])
    func noCurrencyCode(text: String) {
        #expect(CurrencyCode(text) == nil)
    }

    @Test func currencyCodesAreOrderedAsText() {
        #expect((["b", "a1", "B", "a"] as [CurrencyCode]).sorted() == ["B", "a", "a1", "b"])
    }

    @Test(arguments: ["k", " ", "~!\"#", String(repeating: "k", count: 64)])
    func aRequestKey(text: String) {
        #expect(RequestKey(text)?.text == text)
    }

    @Test(arguments: ["", "\n", "\u{7F}", "é", String(repeating: "k", count: 65)])
    func noRequestKey(text: String) {
        #expect(RequestKey(text) == nil)
    }

    @Test(arguments: [("0", 0), ("2000000849195831", 2_000_000_849_195_831), ("9223372036854775807", Int64.max)])
    func aTransactionID(text: String, number: Int64) {
        #expect(TransactionID(text)?.number == number)
        #expect(TransactionID(text)?.description == text)
    }

    @Test(arguments: ["", "00", "01", "-1", "-0", "+1", " 1", "1 ", "1.0", "1e3", "0x1", "١", "9223372036854775808"])
    func noTransactionID(text: String) {
        #expect(TransactionID(text) == nil)
    }

    @Test func amountsArePositiveAndFitEveryJSONClient() {
        for units in [1, 9_007_199_254_740_991] as [Int64] { #expect(Amount(units)?.units == units) }
        #expect(Limits.amountMax == 9_007_199_254_740_991)
        for units in [0, -1, 9_007_199_254_740_992, Int64.max, Int64.min] { #expect(Amount(units) == nil) }
        #expect((1 as Amount) < 2)
    }

    @Test func anAccountNumberNamesItsParts() {
        let account = LedgerAccount(.receivable, 255, player: 1 << 40)
        #expect(account.kind == .receivable && account.currency == 255 && account.player == 1 << 40)
        #expect(LedgerAccount(number: account.number) == account)
        #expect(LedgerAccount(.spent, 3, player: 7).player == 0)
        for number in [-1, 0, 13, 15, 0x1D] as [Int64] { #expect(LedgerAccount(number: number) == nil) }
    }

    @Test func storedNumbersAndNamesNeverChange() {
        #expect(AccountKind.allCases.map(\.rawValue) == Array(1...12))
        #expect(
            AccountKind.allCases.map(\.name) == [
                "wallet", "held", "receivable", "purchased", "refunded", "granted", "spent", "expired", "written_off",
                "moved", "adjusted", "imported",
            ])
        #expect(EntryKind.allCases.map(\.rawValue) == Array(1...15))
        #expect(
            EntryKind.allCases.map(\.name) == [
                "credit", "refund", "reinstatement", "spend", "grant", "reversal", "hold", "capture", "release",
                "hold_expiry", "expiry", "atomic", "link", "adjustment", "imported",
            ])
        #expect([LotClass.paid.rawValue, LotClass.free.rawValue] == [1, 2])
    }
}
