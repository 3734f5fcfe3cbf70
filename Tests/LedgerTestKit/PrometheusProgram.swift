import Foundation

/// What others read Prometheus's text format with, where it is installed: Prometheus's own tool (Debian: `prometheus`),
/// and the parser of its client for Python (PyPI and Debian: `prometheus_client`).
package enum PrometheusProgram: String, CaseIterable {
    case promtool
    case python = "prometheus_client"

    package struct Refusal: Error, CustomStringConvertible {
        package let description: String
    }

    /// Whether it is there, or has to be (`LEDGER_TESTS_NEED`).
    package var isWanted: Bool {
        let needed = ProcessInfo.processInfo.environment["LEDGER_TESTS_NEED"] ?? ""
        return isInstalled || needed.split(separator: " ").contains(rawValue[...])
    }

    private var isInstalled: Bool { (try? run(self == .promtool ? ["--version"] : ["-c", importing])) != nil }

    private var importing: String { "from prometheus_client.parser import text_string_to_metric_families" }

    /// - Throws: ``Refusal`` with what it finds wrong with figures.
    package func check(figures: [UInt8]) throws {
        switch self {
        case .promtool: _ = try run(["check", "metrics"], input: figures)
        case .python:
            let program = """
                import sys
                \(importing)
                families = list(text_string_to_metric_families(sys.stdin.buffer.read().decode()))
                assert families and all(f.type != "unknown" and f.samples for f in families), families
                """
            _ = try run(["-c", program], input: figures)
        }
    }

    private func run(_ arguments: [String], input: [UInt8] = []) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [self == .promtool ? "promtool" : "python3"] + arguments
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("figures-\(UUID().uuidString)")
        try Data(input).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let output = Pipe()
        process.standardInput = try FileHandle(forReadingFrom: file)
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let said = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Refusal(description: "\(rawValue): \(said)") }
        return said
    }
}
