import Foundation
import Testing

/// `sandbox serve` in a process of its own.
struct RunningSimulator {
    let command: RunningCommand
    /// What it printed first.
    let introduction: [String: Any]
    var address: String { introduction["address"] as? String ?? "" }

    init(_ folder: TemporaryFolder, _ options: [String] = []) async throws {
        command = try Command.start(
            ["sandbox", "serve", folder.path("chain"), "--listen", "127.0.0.1:0"] + options, try TemporaryFolder())
        var line = ""
        for _ in 0..<1_200 where !line.hasSuffix("\n") && command.process.isRunning {
            try await Task.sleep(for: .milliseconds(50))
            line = try String(contentsOfFile: command.folder.path("out"), encoding: .utf8)
        }
        let error = try String(contentsOfFile: command.folder.path("err"), encoding: .utf8)
        introduction = try #require(
            try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(error)")
    }

    func stop(_ signal: Int32 = SIGTERM) throws -> Finished {
        kill(command.process.processIdentifier, signal)
        return try command.finish()
    }

    /// Runs a command that drives it.
    func drive(_ arguments: String...) throws -> Finished {
        try Command.run(["sandbox"] + arguments + ["--simulator", address])
    }

    /// The same, which must succeed: what it printed.
    func must(_ arguments: String..., at place: SourceLocation = #_sourceLocation) throws -> String {
        let finished = try Command.run(["sandbox"] + arguments + ["--simulator", address])
        #expect(finished.status == 0, "\(finished.error)", sourceLocation: place)
        return finished.output.trimmingCharacters(in: .newlines)
    }

    /// What it holds, by transaction id.
    func state() throws -> [String: [String: Any]] {
        var state: [String: [String: Any]] = [:]
        for line in try must("state").split(separator: "\n") {
            let one = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            state[try #require(one["transactionId"] as? String)] = one
        }
        return state
    }
}
