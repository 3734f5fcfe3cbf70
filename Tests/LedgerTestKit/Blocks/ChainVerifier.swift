import Foundation

/// `Schema/verify/verify_log.py`, which was written from the page BlockFormat alone.
package enum ChainVerifier {
    /// Why its tests are skipped where `isThere` is false.
    package static let absence = "there is no python3 on this machine"

    /// Whether this machine has what it runs on.
    package static let isThere: Bool = (try? run(["--version"]))?.status == 0

    /// Its verdict about a file of blocks, or about a log's or a ledger's folder.
    package static func run(_ path: String) throws -> (status: Int32, output: String) {
        let script = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Schema/verify/verify_log.py").path
        return try run([script, path])
    }

    private static func run(_ arguments: [String]) throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3"] + arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }
}
