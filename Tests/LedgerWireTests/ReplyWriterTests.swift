import LedgerTypes
import Testing

@testable import LedgerWire

@Suite struct ReplyWriterTests {
    /// A client that reads on slowly leaves something of much until the end.
    @Test func whatIsTakenPieceByPieceIsWholeAndKeepsNoMemory() {
        var writer = ReplyWriter()
        for number in 0..<10_000 as Range<Int64> { writer.write(.pong, id: .integer(number)) }
        writer.beginBatch()
        writer.write(.pong, id: .string("b"))
        let written = writer.bytes
        let batch = writer.batchBytes
        #expect(writer.wholeLineBytes == written.count - batch)
        var taken: [UInt8] = []
        while writer.wholeLineBytes > 50 { taken += writer.take(min(1_000, writer.wholeLineBytes - 50)) { Array($0) } }
        #expect(writer.wholeLineBytes == 50 && writer.batchBytes == batch)
        #expect(taken + writer.bytes == written)
        #expect(writer.capacity < 4_096 && written.count > 100_000)
        writer.endBatch()
        taken += writer.take(writer.wholeLineBytes) { Array($0) }
        #expect(taken == written + Array("]\n".utf8) && writer.count == 0)
    }
}
