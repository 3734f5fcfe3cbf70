package import Ledger
import Synchronization

/// What every log must do, as rules that a test runs over a log of its kind.
///
/// A rule is given a function that opens the same log each time, at first without blocks. It closes one before it
/// opens the next.
package struct BlockLogContract: Sendable, CustomStringConvertible {
    package typealias Opening = () throws -> any BlockLog

    /// A rule that a log does not keep.
    package struct Violation: Error, CustomStringConvertible {
        package let description: String
    }

    package let description: String
    package let check: @Sendable (Opening) throws -> Void

    private init(_ description: String, _ check: @escaping @Sendable (Opening) throws -> Void) {
        self.description = description
        self.check = check
    }

    package static let rules: [BlockLogContract] = [
        BlockLogContract("an empty log has no blocks") { open in
            let log = try open()
            try expect(try log.read(after: 0, bytesMax: 1 << 20).isEmpty, "blocks in an empty log")
            log.close()
        },
        BlockLogContract("the first leader is given no block and appends block 1") { open in
            var random = SplitMix64(seed: 1)
            let log = try open()
            let block = try log.lead { last in
                try expect(last == nil, "a last block in an empty log")
                return TestBlock.term(after: last, &random)
            }
            try expect(try log.readAll() == [block], "the leader's block is not what is read")
            log.close()
        },
        BlockLogContract("blocks are read as they were appended, whole and in order") { open in
            let (log, blocks) = try filled(open, count: 40, seed: 2)
            try expect(try log.readAll() == blocks, "other blocks")
            try expect(try log.readAll(bytesMax: 700) == blocks, "other blocks, read in pieces")
            for number in 0..<blocks.count {
                let read = try log.read(after: BlockNumber(number), bytesMax: 0)
                try expect(read == [blocks[number]], "block \(number + 1) read alone")
            }
            try expect(try log.read(after: BlockNumber(blocks.count), bytesMax: 1).isEmpty, "a block after the head")
            log.close()
        },
        BlockLogContract("a read gives as many blocks as fit, and one that does not fit alone") { open in
            let (log, blocks) = try filled(open, count: 20, seed: 3)
            for (number, bytesMax) in [(0, 1), (3, 500), (5, 2000), (0, 4000), (17, 1 << 20)] {
                let read = try log.read(after: BlockNumber(number), bytesMax: bytesMax)
                var bytes = 0
                var wanted: [SealedBlock] = []
                for block in blocks[number...] {
                    bytes += block.byteCount
                    if bytes > bytesMax, !wanted.isEmpty { break }
                    wanted.append(block)
                }
                try expect(read == wanted, "after \(number), at most \(bytesMax) bytes: \(read.map(\.number))")
            }
            log.close()
        },
        BlockLogContract("blocks of no bytes, of one and of a megabyte are kept") { open in
            var random = SplitMix64(seed: 4)
            let log = try open()
            var blocks = [try log.leadWithTestBlock(&random)]
            for (body, redactable) in [(0, 0), (0, 1), (1, 0), (1 << 20, 3), (5, 1 << 16), (7, 9)] {
                let block = TestBlock.after(
                    blocks.last?.head, bodyBytes: body, redactableBytes: redactable, &random)
                try log.append(block)
                blocks.append(block)
            }
            try expect(try log.readAll() == blocks, "other blocks")
            log.close()
            let again = try open()
            try expect(try again.readAll() == blocks, "other blocks after opening again")
            again.close()
        },
        BlockLogContract("what was appended is there when it is opened again, and the leader is given the last") {
            open in
            var (log, blocks) = try filled(open, count: 12, seed: 5)
            var random = SplitMix64(seed: 6)
            for _ in 0..<4 {
                log.close()
                log = try open()
                try expect(try log.readAll() == blocks, "other blocks after opening again")
                let block = try log.lead { last in
                    try expect(last == blocks.last, "the leader was given another block")
                    return TestBlock.term(after: last, &random)
                }
                blocks.append(block)
                let next = TestBlock.after(block.head, bodyBytes: 300, redactableBytes: 20, &random)
                try log.append(next)
                blocks.append(next)
            }
            try expect(try log.readAll() == blocks, "other blocks at the end")
            log.close()
        },
        BlockLogContract("a number that is taken is superseded, and only lead helps") { open in
            let (log, blocks) = try filled(open, count: 5, seed: 7)
            var random = SplitMix64(seed: 8)
            let late = TestBlock.after(blocks[3].head, bodyBytes: 10, redactableBytes: 0, &random)
            let next = TestBlock.after(blocks.last?.head, bodyBytes: 10, redactableBytes: 0, &random)
            try expect(kind { try log.append(late) } == .superseded, "block 5 was appended again")
            try expect(kind { try log.append(next) } == .notAppended, "appended without the lead")
            let block = try log.leadWithTestBlock(&random)
            try expect(try log.readAll() == blocks + [block], "other blocks")
            log.close()
        },
        BlockLogContract("a block that continues another chain is superseded, one behind a gap is not appended") {
            open in
            let (log, blocks) = try filled(open, count: 5, seed: 9)
            var random = SplitMix64(seed: 10)
            let other = LogHead(number: 5, term: 1, hash: blocks[0].hash)
            let fork = TestBlock.after(other, bodyBytes: 10, redactableBytes: 0, &random)
            try expect(kind { try log.append(fork) } == .superseded, "a fork was appended")
            var all = blocks + [try log.leadWithTestBlock(&random)]
            let gap = LogHead(number: 7, term: 1, hash: blocks[0].hash)
            let far = TestBlock.after(gap, bodyBytes: 10, redactableBytes: 0, &random)
            try expect(kind { try log.append(far) } == .notAppended, "a block behind a gap was appended")
            all.append(try log.leadWithTestBlock(&random))
            try expect(try log.readAll() == all, "other blocks")
            log.close()
        },
        BlockLogContract("a leader whose block cannot be made changes nothing") { open in
            let (log, blocks) = try filled(open, count: 3, seed: 11)
            do {
                _ = try log.lead { _ in throw Violation(description: "none") }
                throw Violation(description: "the leader's error was swallowed")
            } catch let error as Violation where error.description == "none" {
                try expect(try log.readAll() == blocks, "other blocks")
            }
            log.close()
        },
        BlockLogContract("a redactable part is overwritten for good, and nothing else") { open in
            var (log, blocks) = try filled(open, count: 30, seed: 12)
            for index in [0, 7, 15, 28, 29] {
                let bytes = [UInt8](repeating: 0, count: blocks[index].redactable.count)
                try log.redact(blocks[index].number, bytes)
                blocks[index].redactable = bytes
                try expect(try log.readAll() == blocks, "other blocks after redacting block \(index + 1)")
            }
            log.close()
            log = try open()
            try expect(try log.readAll() == blocks, "other blocks after opening again")
            log.close()
        },
        BlockLogContract("a redaction of another count of bytes, or of no block, is refused") { open in
            let (log, blocks) = try filled(open, count: 6, seed: 13)
            let bytes = [UInt8](repeating: 0, count: blocks[3].redactable.count + 1)
            try expect(kind { try log.redact(4, bytes) } == .notAppended, "another count was accepted")
            try expect(kind { try log.redact(7, []) } == .notAppended, "no block was redacted")
            try expect(kind { try log.redact(0, []) } == .notAppended, "block 0 was redacted")
            var random = SplitMix64(seed: 14)
            let next = TestBlock.after(blocks.last?.head, bodyBytes: 1, redactableBytes: 1, &random)
            try log.append(next)
            try expect(try log.readAll() == blocks + [next], "other blocks")
            log.close()
        },
        BlockLogContract("blocks that are appended together are there as if they came one by one") { open in
            var (log, blocks) = try filled(open, count: 3, seed: 17)
            var random = SplitMix64(seed: 18)
            for count in [0, 1, 2, 40] {
                var together: [SealedBlock] = []
                for _ in 0..<count {
                    together.append(
                        TestBlock.after(
                            (together.last ?? blocks.last)?.head, bodyBytes: 200, redactableBytes: 5, &random))
                }
                try log.append(together)
                blocks += together
                try expect(log.head == blocks.last?.head, "the head is not the last of \(count)")
            }
            let next = TestBlock.after(blocks.last?.head, bodyBytes: 10, redactableBytes: 0, &random)
            let far = TestBlock.after(
                LogHead(number: 90, term: 1, hash: next.hash), bodyBytes: 1, redactableBytes: 0, &random)
            try expect(kind { try log.append([next, far]) } == .notAppended, "a block behind a gap was appended")
            log.close()
            log = try open()
            let all = try log.readAll()
            try expect(all == blocks || all == blocks + [next], "other blocks after opening again")
            log.close()
        },
        BlockLogContract("who reads beside the writer sees a part of the chain from its beginning") { open in
            let (log, blocks) = try filled(open, count: 1, seed: 15)
            let written = Mutex(blocks)
            let failure = Mutex<String?>(nil)
            let isDone = Mutex(false)
            let ended = Mutex(0)
            for _ in 0..<2 {
                inThread {
                    var seen = 0
                    while !isDone.withLock({ $0 }) {
                        do {
                            let read = try log.readAll(bytesMax: 5000)
                            let all = written.withLock { $0 }
                            // The block whose append is just returning may be read already.
                            if read.count < seen || !zip(read, all).allSatisfy(==) || read.count > all.count + 1 {
                                failure.withLock { $0 = "\(read.count) blocks were read, not a part of the chain" }
                            }
                            seen = read.count
                        } catch {
                            failure.withLock { $0 = "\(error)" }
                        }
                    }
                    ended.withLock { $0 += 1 }
                }
            }
            var random = SplitMix64(seed: 16)
            var head = blocks.last?.head
            for _ in 0..<60 {
                let block = TestBlock.after(
                    head, bodyBytes: .random(in: 0..<900, using: &random), redactableBytes: 30, &random)
                try log.append(block)
                written.withLock { $0.append(block) }
                head = block.head
            }
            isDone.withLock { $0 = true }
            while ended.withLock({ $0 }) < 2 { pauseAMillisecond() }
            if let words = failure.withLock({ $0 }) { throw Violation(description: words) }
            log.close()
        },
    ]

    /// A log with `count` blocks, the first of them the leader's.
    private static func filled(
        _ open: Opening, count: Int, seed: UInt64
    ) throws -> (any BlockLog, [SealedBlock]) {
        var random = SplitMix64(seed: seed)
        let log = try open()
        var blocks = [try log.leadWithTestBlock(&random)]
        while blocks.count < count {
            let block = TestBlock.after(
                blocks.last?.head, bodyBytes: .random(in: 1..<900, using: &random),
                redactableBytes: .random(in: 1..<60, using: &random), &random)
            try log.append(block)
            blocks.append(block)
        }
        return (log, blocks)
    }

    private static func expect(_ condition: @autoclosure () throws -> Bool, _ words: String) throws {
        guard try condition() else { throw Violation(description: words) }
    }

    private static func kind(_ body: () throws -> Void) -> LogError.Kind? {
        do {
            try body()
            return nil
        } catch {
            return (error as? LogError)?.kind
        }
    }
}
