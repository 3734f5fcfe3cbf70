import LedgerTypes
import Testing

@testable import LedgerConsole

@Suite struct WordsTests {
    /// The last is the latest that a client may give as an expiry.
    @Test(arguments: [
        (0, "1 Jan 1970, 00:00:00"), (1_796_340_721_234, "3 Dec 2026, 23:32:01"),
        (253_402_300_799_999, "31 Dec 9999, 23:59:59"), (253_402_300_800_000, "1 Jan 10000, 00:00:00"),
        (9_007_199_254_740_991, "12 Oct 287396, 08:59:00"),
    ])
    func timesAreReadable(time: Timestamp, text: String) {
        #expect(ConsoleWords.time(time) == text)
    }
}
