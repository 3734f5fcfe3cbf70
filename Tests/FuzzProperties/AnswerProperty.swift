import Ledger
import LedgerWire

/// An answer that is stored is read and written as the same bytes, or is refused; and it can be given again.
enum AnswerProperty {
    static func check(_ bytes: [UInt8]) -> Bool {
        let names: (PlayerID) -> AccountName? = { player in player > 0 ? AccountName("player-\(player)") : nil }
        guard let answer = KeyedAnswer(encoded: bytes[...], name: names) else { return false }
        require(answer.encoded == bytes, "an answer is stored in one way only")
        require(KeyedAnswer(encoded: answer.encoded[...], name: names) == answer, "an answer is what it was")
        var writer = ReplyWriter()
        writer.write(.outcome(answer.outcome(replayed: true)), id: .integer(1))
        require(JSONComparison.check(writer.bytes) == nil, "an answer is told as JSON")
        return true
    }

    static var seeds: [[UInt8]] {
        SampleLedger.opened.flatMap { $0.rows.requests.map { Array($0.answer) } }
    }
}
