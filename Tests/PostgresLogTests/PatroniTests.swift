#if Postgres
import Foundation
import LedgerTestKit
import Testing

/// `Patroni/patroni_trial.py`, which makes a cluster, its faults and the check of what was answered.
private enum PatroniTrial {
    struct Finished {
        var status: Int32
        var output: String
    }

    /// What keeps this machine from it, in words; empty where nothing does.
    static let absence: String = {
        do {
            let finished = try run(["--can"])
            return finished.status == 0 ? "" : finished.output.trimmingCharacters(in: .whitespacesAndNewlines)
        } catch { return "\(error)" }
    }()

    /// Whether it can run here, or has to (`LEDGER_TESTS_NEED`).
    static var isWanted: Bool {
        let needed = ProcessInfo.processInfo.environment["LEDGER_TESTS_NEED"] ?? ""
        return absence.isEmpty || needed.split(separator: " ").contains("patroni")
    }

    static func run(_ arguments: [String]) throws -> Finished {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Patroni/patroni_trial.py").path
        process.arguments = ["python3", script] + arguments
        process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("LEDGER_") }
        // With `--leash` the trial and all that it started end when this one is closed, also by this process's own end.
        let leash = Pipe()
        let output = Pipe()
        process.standardInput = leash
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let said = (try? output.fileHandleForReading.readToEnd()) ?? nil
        process.waitUntilExit()
        try? leash.fileHandleForWriting.close()
        return Finished(status: process.terminationStatus, output: String(decoding: said ?? Data(), as: UTF8.self))
    }
}

@Suite struct PatroniTests {
    /// One fault of each kind, in an order and of lengths that the seed draws.
    @Test(.enabled(if: PatroniTrial.isWanted, "\(PatroniTrial.absence)"))
    func aDozenFaultsOfAClusterLoseAndDoubleNothing() throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("patroni-\(UInt32.random(in: 0 ... .max))").path
        let finished = try PatroniTrial.run([
            "--binary", BuiltCommand.executable.path, "--faults", "12", "--seed", "\(Seed.drawn())", "--rate", "60",
            "--quick", "--limit", "600", "--leash", "--folder", folder,
        ])
        #expect(finished.status == 0 && finished.output.contains(" PASSED after "), "\(finished.output)")
    }
}
#endif
