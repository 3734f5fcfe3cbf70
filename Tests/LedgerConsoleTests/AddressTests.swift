import LedgerTypes
import Testing

@testable import LedgerConsole

/// Where pages are, and what forms send.
@Suite struct AddressTests {
    private static let names = [
        "player-1", "<script>alert(1)</script>", "\"quoted\" 'twice' & more", "a=b&c=d", "50%", "a+b c",
        "\u{202E}txt.exe",
        "line\u{2028}separator", "\u{05E9}\u{05DC}\u{05D5}\u{05DD}", "\u{1F469}\u{200D}\u{1F680}", "#?/\\",
    ]

    @Test(arguments: names) func anAddressLeadsBackToWhatItIsOf(name: String) throws {
        let account = try #require(AccountName(name))
        let calls = [
            ConsoleCall(
                .statement(account, currency: CurrencyCode("gems"), before: 7, limit: 500), ledger: LedgerName("live")),
            ConsoleCall(.statement(account, currency: nil, before: nil, limit: ConsoleCall.entriesDefault)),
            ConsoleCall(.find(name)),
        ]
        for call in calls {
            let address = call.address
            #expect(address.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != 0x3C })
            #expect(try ConsoleCall(target: address) == call, "\(address)")
        }
    }

    @Test func whatCannotBeIsNamed() {
        let targets: [(String, ConsoleMistake)] = [
            ("/nowhere", .noPage), ("/statement", .parameter("account")), ("/purchase", .parameter("transactionId")),
            ("/purchase?transactionId=12x", .parameter("transactionId")),
            ("/statement?account=%FF", .parameter("query")),
            ("/statement?account=a&account=b", .parameter("query")), ("/statement?account=%4", .parameter("query")),
            ("/statement?account=a&limit=501", .parameter("limit")),
            ("/circulation?month=2026-13", .parameter("month")),
            ("/entry?entry=0", .parameter("entry")), ("/?ledger=a%20b", .parameter("ledger")),
        ]
        for (target, mistake) in targets {
            #expect(throws: mistake, "\(target)") { () throws(ConsoleMistake) in try ConsoleCall(target: target) }
        }
    }

    @Test func aMonthEndsWhereTheNextBegins() throws {
        let february = try #require(ConsoleMonth("2024-02"))
        // 2024-02-01T00:00:00Z, and a leap day in it.
        #expect(february.first == 1_706_745_600_000)
        #expect(february.ends(until: .max).count == 29)
        #expect(february.ends(until: .max).last == 1_709_251_199_999)
        #expect(february.next?.text == "2024-03" && february.before?.text == "2024-01")
        #expect(ConsoleMonth("2023-12")?.next?.text == "2024-01" && ConsoleMonth("2024-01")?.before?.text == "2023-12")
        let middle = february.first + 86_400_000 + 5
        #expect(february.ends(until: middle) == [february.first + 86_399_999, middle])
        #expect(ConsoleMonth(of: middle) == february && february.title == "February 2024")
        for text in ["2024-2", "24-02", "2024-00", "2024_02", "+024-02"] {
            #expect(ConsoleMonth(text) == nil, "\(text)")
        }
    }
}
