import LedgerClient
import Testing

@testable import currency_ledger

/// A time that was mistyped would otherwise be midnight, and a report would lack a day.
@Suite struct TimeTextTests {
    @Test(
        arguments: [
            ("1767225600000", 1_767_225_600_000), ("2026-01-01", 1_767_225_600_000),
            ("2026-01-01T00:00Z", 1_767_225_600_000), ("2026-01-01T00:00:01Z", 1_767_225_601_000),
            ("2026-01-01T00:00:01.5Z", 1_767_225_601_500), ("2026-01-01T00:00:00.999999999Z", 1_767_225_600_999),
            ("2026-01-01T09:00:00+09:00", 1_767_225_600_000), ("2025-12-31T19:30:00-04:30", 1_767_225_600_000),
            ("2024-02-29", 1_709_164_800_000), ("1970-01-01T00:00:00Z", 0),
        ] as [(String, Int64)])
    func timesAreReadAsTheyStand(text: String, milliseconds: Int64) {
        #expect(TimeText.milliseconds(text) == milliseconds)
    }

    @Test(arguments: [
        "", "now", "2026-01-01T22:22:20", "2026-01-01T22:22", "2026-01-01 22:22:20Z", "2026-01-01garbage", "2026-02-30",
        "2025-02-29", "2026-01-01T25:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:60Z",
        "2026-01-01T10:00:00+99:00", "2026-01-01T10:00:00+0900", "2026-13-01", "2026-1-1", "2026-01-01Z", " 2026-01-01",
        "２０２６-01-01", "2026-01-01T00:00:00.Z", "99999999999999999999", "-9223372036854775808", "-1",
        "9007199254740992", "1969-12-31",
    ])
    func everythingElseIsNoTime(text: String) {
        #expect(TimeText.milliseconds(text) == nil)
    }

    /// A year of more than four digits has a sign, or it would be no ISO 8601.
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (253_402_300_800_000, "+010000-01-01T00:00:00.000Z"),
            (9_007_199_254_740_991, "+287396-10-12T08:59:00.991Z"),
        ] as [(Int64, String)])
    func timesAreWrittenAsISO8601HasThem(milliseconds: Int64, text: String) {
        #expect(UTCText.time(milliseconds) == text)
    }
}
