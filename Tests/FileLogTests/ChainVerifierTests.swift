import FileLog
import Foundation
import Ledger
import LedgerTestKit
import Testing

/// The verifier reads the segment files that the log writes.
@Suite struct ChainVerifierTests {
    /// A log in a folder of its own with the blocks of a lively ledger, two or three to a segment.
    private static func withLog(_ body: (_ folder: String, _ blocks: [SealedBlock]) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let identity = Digest(
            of: BlockRows.LedgerRow(bundleID: "com.example.game", environment: "Sandbox"), testSHA256)
        let configuration = FileLogConfiguration(segmentBytes: 4_096)
        let (log, head) = (folder + "/log", folder + "/head")
        try FileLog.create(folder: log, headFile: head, identity: identity, configuration: configuration)
        let writer = try FileLog.open(
            folder: log, headFile: head, identity: identity, hash: testSHA256, configuration: configuration)
        let blocks = GameChain.lively(seed: 21).blocks
        _ = try writer.lead { _ in blocks[0] }
        for block in blocks.dropFirst() { try writer.append(block) }
        writer.close()
        try body(folder, blocks)
    }

    /// The segment files of a log, in their order.
    private static func segments(_ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder + "/log").filter { $0.allSatisfy(\.isNumber) }
            .sorted().map { folder + "/log/" + $0 }
    }

    @Test(.enabled(if: ChainVerifier.isThere, "\(ChainVerifier.absence)"))
    func anotherProgramFindsNothingWrongWithTheSegments() throws {
        try Self.withLog { folder, blocks in
            #expect(try Self.segments(folder).count > 1)
            let (status, output) = try ChainVerifier.run(folder)
            #expect(status == 0, "\(output)")
            #expect(output.contains("blocks: \(blocks.count), entries: 6"), "\(output)")
        }
    }

    @Test(.enabled(if: ChainVerifier.isThere, "\(ChainVerifier.absence)"))
    func anotherProgramRefusesAFlippedBitByTheBlocksNumber() throws {
        try Self.withLog { folder, blocks in
            let segment = try Self.segments(folder)[0]
            var bytes = try Data(contentsOf: URL(fileURLWithPath: segment))
            let place = try #require(bytes.range(of: Data(blocks[1].body)))
            bytes[place.upperBound - 1] ^= 1
            try bytes.write(to: URL(fileURLWithPath: segment))
            let (status, output) = try ChainVerifier.run(folder)
            #expect(status == 1, "\(output)")
            #expect(output.contains("block 2: the body does not have the block's hash"), "\(output)")
        }
    }

    @Test(.enabled(if: ChainVerifier.isThere, "\(ChainVerifier.absence)"))
    func anotherProgramReadsARedactedBlockAndMissesALostOne() throws {
        try Self.withLog { folder, blocks in
            let log = try FileLog.open(
                folder: folder + "/log", headFile: folder + "/head",
                identity: Digest(
                    of: BlockRows.LedgerRow(bundleID: "com.example.game", environment: "Sandbox"), testSHA256),
                hash: testSHA256)
            let last = try log.lead { last in try GameChain.emptyBlock(after: last ?? blocks[blocks.count - 1]) }
            try log.redact(2, blocks[1].redactable(erasing: [1]))
            var (status, output) = try ChainVerifier.run(folder)
            let words = "the name of account 1 is gone, and no block erases it"
            #expect(status == 1 && output.contains(words), "\(output)")
            var erasing = try Block(opening: last, checks: .form)
            (erasing.number, erasing.previous) = (last.number + 1, last.hash)
            erasing.rows.erasures = [BlockRows.ErasureRow(account: 1, time: erasing.time, actor: nil)]
            var salts = SplitMix64(seed: 1)
            try log.append(SealedBlock(sealing: erasing, salts: &salts, hash: testSHA256))
            log.close()
            (status, output) = try ChainVerifier.run(folder)
            #expect(status == 0 && output.contains("erased: 1"), "\(output)")

            let segments = try Self.segments(folder)
            try FileManager.default.removeItem(atPath: segments[segments.count - 1])
            (status, output) = try ChainVerifier.run(folder)
            #expect(status == 1 && output.contains("the log went back in time"), "\(output)")
        }
    }
}
