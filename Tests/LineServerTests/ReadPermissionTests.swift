import Ledger
import LedgerWire
import Testing

@testable import LedgerEngine
@testable import LineServer

/// What a connection lets become of its next read, and to whom what it has not read counts.
@Suite struct ReadPermissionTests {
    private static let done = ConnectionStateTests.done
    private static let page = ConnectionStateTests.page

    private static func permission(_ transcript: Transcript) -> LedgerSession.ReadPermission? {
        transcript.state.readPermission(isWritable: transcript.isWritable)
    }

    /// Its batch is not written yet, for it stands behind another request.
    @Test func aReadOfABatchNeverWaitsForMemory() {
        var transcript = Transcript()
        let batch = "[\(Requests.grant("g2", "a", 1, id: "2")),\(Requests.history("a", id: "3"))]"
        transcript.receive(
            [Requests.grant("g1", "a", 1), batch, Requests.history("a", id: "4")].map { $0 + "\n" }.joined())
        #expect(Self.permission(transcript) == .readNow)
        transcript.isWritable = false
        #expect(Self.permission(transcript) == .readNow)
        transcript.isWritable = true
        #expect(transcript.answers(Self.done) == ["1"])
        #expect(Self.permission(transcript) == .readNow)
        #expect(transcript.answers(Self.done) == [])
        #expect(Self.permission(transcript) == .readNow)
        #expect(transcript.answers(Self.page) == ["[2, 3]"])
        // The one behind the batch is of no batch.
        #expect(Self.permission(transcript) == .read)
        transcript.isWritable = false
        #expect(Self.permission(transcript) == .wait)
        transcript.isWritable = true
        #expect(transcript.answers(Self.page) == ["4"])
        #expect(Self.permission(transcript) == nil)
    }

    @Test func aReadBeforeABatchMayWait() {
        var transcript = Transcript()
        let batch = "[\(Requests.history("a", id: "2")),\(Requests.history("a", id: "3"))]"
        transcript.receive([Requests.history("a"), batch].map { $0 + "\n" }.joined())
        #expect(Self.permission(transcript) == .read)
        #expect(transcript.answers(Self.page) == ["1"])
        #expect(Self.permission(transcript) == .readNow)
        #expect(transcript.answers(Self.page) == [])
        #expect(Self.permission(transcript) == .readNow)
        #expect(transcript.answers(Self.page) == ["[2, 3]"])
        #expect(Self.permission(transcript) == nil)
    }

    /// The pages that its clients do not read keep a token from further ones, and nobody else.
    @Test func whatAConnectionHasNotReadCountsToItsToken() throws {
        let memory = ReplyMemory(bytesMax: ServerLimits().replyBytesMax)
        var transcript = Transcript(memory: memory)
        let tenant = try #require(transcript.state.holder?.tenant)
        func hasRoom(_ tenant: Tenant) -> Bool {
            if case .taken = memory.takePage(Limits.pageBytesMax, of: tenant, grant: nil) { true } else { false }
        }
        #expect(hasRoom(tenant) && hasRoom(Tenant()))
        transcript.change { $0.told(unreadBytes: memory.bytesMax * 3 / 8) }
        #expect(!hasRoom(tenant) && hasRoom(Tenant()))
        transcript.change { $0.told(unreadBytes: 0) }
        #expect(hasRoom(tenant) && memory.sums == (0, 0))
    }
}
