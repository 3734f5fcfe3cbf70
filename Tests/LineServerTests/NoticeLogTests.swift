import LedgerTestKit
import NIOPosix
import Testing

@testable import LineServer

/// How often the operator is told of what clients do.
@Suite struct NoticeLogTests {
    private static func log(_ logs: LogCapture, sourcesMax: Int = 32) -> NoticeLog {
        var limits = ServerLimits()
        limits.noticeSourcesMax = sourcesMax
        // A test ends the time by itself.
        limits.noticeMilliseconds = 3_600_000
        return NoticeLog(logs.logger, limits: limits, timer: MultiThreadedEventLoopGroup.singleton.next())
    }

    @Test func eachAddressHasItsLineAndTheRestIsCountedByAddress() {
        let logs = LogCapture()
        let log = Self.log(logs)
        for _ in 1...2 { log.note(.plaintextOnTLS, "192.0.2.1") }
        for _ in 1...4 { log.note(.plaintextOnTLS, "192.0.2.2") }
        log.note(.handshakeFailed, "192.0.2.1", ["reason": "UNSUPPORTED_PROTOCOL"])
        let plaintext = "connections were closed that do not speak TLS"
        let handshake = "connections were closed that did not come to terms with TLS"
        #expect(
            logs.lines == [
                "\(plaintext) peer=192.0.2.1", "\(plaintext) peer=192.0.2.2",
                "\(handshake) peer=192.0.2.1 reason=UNSUPPORTED_PROTOCOL",
            ])
        log.close()
        #expect(logs.lines.count == 4, "nothing more is said of what had all its lines")
        #expect(
            logs.lines[3] == #"\#(plaintext) milliseconds=3600000 more=4 peers="192.0.2.2: 4, 192.0.2.1: 2""#)
        // The time begins anew.
        log.note(.plaintextOnTLS, "192.0.2.1")
        #expect(logs.lines.count == 5)
        log.close()
        #expect(logs.lines.count == 5)
    }

    @Test func aRefusalHasThreeLinesAndItsKindIsSaid() {
        let logs = LogCapture()
        let log = Self.log(logs)
        for _ in 1...5 { log.note(.unknownToken, peer: nil, name: nil) }
        log.note(.tooManyRequests, peer: nil, name: "slow")
        log.close()
        let guesses = logs.lines.filter { $0.contains("kind=unknown_token") }
        #expect(guesses.count == 4 && guesses[0].hasPrefix("refused kind=unknown_token peer=unix reason="))
        #expect(guesses[3] == #"refused more of a kind kind=unknown_token milliseconds=3600000 more=2 peers="unix: 5""#)
        #expect(logs.lines.filter { $0.contains("kind=token_limit") && $0.hasSuffix("token=slow") }.count == 1)
    }

    @Test func moreAddressesThanAreToldApartShareTheirLines() {
        let logs = LogCapture()
        let log = Self.log(logs, sourcesMax: 2)
        for number in 1...9 { log.note(.everyPlaceTaken, "192.0.2.\(number)") }
        #expect(logs.lines.count == 3)
        log.close()
        #expect(logs.lines.last?.hasSuffix(#" more=6 peers="others: 7, 192.0.2.1: 1, 192.0.2.2: 1""#) == true)
    }

    @Test(arguments: [
        ("eu-game-1", "eu-game-1"), ("2001:db8::1", "2001:db8::1"), ("", "\"\""), ("two words", "\"two words\""),
        ("a=b", "\"a=b\""), (#"a"\"#, #""a\"\\""#), ("a\nb\r\tc", #""a\nb\r\tc""#),
        ("\u{1b}[2J\u{0}\u{7f}\u{85}", #""\u{1b}[2J\u{0}\u{7f}\u{85}""#),
        ("\u{202e}\u{200b}\u{2028}\u{e000}", #""\u{202e}\u{200b}\u{2028}\u{e000}""#), ("語é…", "\"語é…\""),
    ])
    func whoeverWroteATextItIsOneValueOnOneLine(text: String, written: String) {
        let logs = LogCapture()
        Self.log(logs).note(.handshakeFailed, "192.0.2.1", ["reason": "\(text)"])
        #expect(logs.lines.count == 1 && logs.lines[0].hasSuffix(" reason=\(written)"), "\(logs.lines)")
    }

    @Test func aLongTextIsCut() {
        #expect(LogValue.text(String(repeating: "a", count: 2_048)).utf8.count == 2_048)
        let cut = LogValue.text(String(repeating: "\n", count: 100_000))
        #expect(cut.hasSuffix("\\n…\"") && cut.count == 2 * 2_048 + 3)
    }

    @Test func whatHasNoAddressIsToldApartByWhatItNames() {
        let logs = LogCapture()
        let log = Self.log(logs)
        for _ in 1...3 { log.note(.everyPlaceOfNameTaken, "eu-game-1") }
        log.note(.cannotAccept, "Too many open files")
        log.close()
        #expect(logs.lines.map { $0.contains(" name=eu-game-1") } == [true, false, false])
        #expect(logs.lines[1].hasSuffix(#" error="Too many open files""#))
        #expect(logs.lines[2].hasSuffix(#" more=2 names="eu-game-1: 3""#))
    }
}
