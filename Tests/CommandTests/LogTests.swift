import Foundation
import LedgerEngine
import LedgerTestKit
import LineServer
import Logging
import Testing

@testable import currency_ledger

/// The forms of the log.
@Suite struct LogTests {
    /// What somebody writes who would have lines of their own, or hide what follows.
    private static let hostile = "x\n2026-01-01T00:00:00+0000 critical: paid\r\u{1b}[2J\u{202e}\u{2028}\u{0}end"

    private static func fields(_ value: String) -> [(key: String, value: Logger.Metadata.Value)] {
        [("account", "\(value)"), ("time", "5")]
    }

    @Test func aLineOfTextIsOneLineWhateverStandsInIt() {
        let line = LineLogHandler.text(
            1_764_230_000_123, .warning, "currency-ledger", "LineServer", Self.hostile, Self.fields(Self.hostile))
        #expect(line.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0 != "\u{202e}" && $0 != "\u{2028}" })
        #expect(line.contains(" warning currency-ledger: account=x\\n2026-01-01"))
        #expect(line.contains(" time=5 [LineServer] x\\n"))
    }

    @Test func aLineOfJSONIsOneObjectThatSaysTheSame() throws {
        let line = LineLogHandler.json(1_764_230_000_123, .error, Self.hostile, Self.fields(Self.hostile))
        #expect(line.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0 != "\u{202e}" && $0 != "\u{2028}" })
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String])
        #expect(object["level"] == "error" && object["message"] == Self.hostile && object["account"] == Self.hostile)
        // The line's own names are not taken.
        #expect(object["_time"] == "5" && object["time"] == "2025-11-27T07:53:20.123Z")
    }

    @Test func whatIsNestedStaysSo() throws {
        let line = LineLogHandler.json(0, .info, "m", [("list", ["a", ["b": "c"]])])
        #expect(
            line == #"{"time":"1970-01-01T00:00:00.000Z","level":"info","message":"m","list":["a",{"b":"c"}]}"#)
    }

    @Test func theLevelChangesForLoggersThatThereAre() throws {
        let folder = try TemporaryFolder()
        let file = folder.path("log")
        let descriptor = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let output = LogOutput(.text, level: .warning, descriptor: descriptor)
        var logger = output.logger("test")
        logger[metadataKey: "ledger"] = "a"
        logger.info("unseen")
        output.level = .debug
        logger.debug("seen", metadata: ["n": "1"])
        output.flush()
        let said = try String(contentsOfFile: file, encoding: .utf8)
        #expect(!said.contains("unseen"))
        #expect(said.contains(" debug test: ledger=a n=1 ") && said.hasSuffix("seen\n"), "\(said)")
    }

    @Test func whoReadsNothingKeepsNobodyThatLogs() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("pipe")
        try #require(mkfifo(path, 0o600) == 0)
        // In this order nobody waits for the other end. No command that another test starts has an end of it.
        let reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        let writing = open(path, O_WRONLY | O_CLOEXEC)
        try #require(reader >= 0 && writing >= 0 && fcntl(reader, F_SETFL, 0) == 0)
        let reading = FileHandle(fileDescriptor: reader, closeOnDealloc: true)
        let output = LogOutput(.text, descriptor: writing)
        // More than may wait, beside what the pipe and the writing thread have taken.
        let line = String(repeating: "x", count: 1_023)
        let count = 3 * LogOutput.waitingBytesMax / 1_024
        for _ in 0..<count { output.write(line) }
        Thread.detachNewThread {
            // Both are there when somebody reads: the lines that were kept, and how many were lost.
            output.flush()
            close(writing)
        }
        let said = String(decoding: reading.readDataToEndOfFile(), as: UTF8.self).split(separator: "\n")
        let kept = said.count(where: { $0 == line })
        #expect(kept >= LogOutput.waitingBytesMax / 1_024 && said.count == kept + 1)
        let last = try #require(said.last)
        #expect(last.contains(" lines=\(count - kept) ") && last.contains("lines of the log were lost"), "\(last)")
    }

    @Test func aServiceLogsObjectsWhereItIsToldTo() async throws {
        let studio = try Studio()
        let command = try Command.start(
            ["serve", "--create", "--config", studio.folder.path("ledger.json"), "--log-format", "json"],
            studio.folder)
        try await command.waits(for: "\"message\":\"listening\"")
        kill(command.process.processIdentifier, SIGTERM)
        let finished = try command.finish()
        #expect(finished.status == 0)
        for line in finished.error.split(separator: "\n") {
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            #expect(object?["time"] is String && object?["level"] is String && object?["message"] is String, "\(line)")
        }
    }

    /// The alarm of a damaged ledger is by what was counted, on a node as elsewhere; only what helps differs.
    @Test(arguments: [true, false])
    func aNameThatIsOwedIsCountedAndTold(isNode: Bool) {
        let (figures, log) = (EngineFigures(), LogCapture())
        Composition.report(ofNode: isNode, figures, log.logger)(.nameOwed("block 7"))
        #expect(figures.toldEvents.map(\.name) == ["name_owed"] && figures.toldEvents.map(\.count) == [1])
        #expect(log.lines.count == 1 && log.lines[0].contains("error=block 7"))
        #expect(log.lines[0].contains("on the page Nodes") == isNode)
    }
}
