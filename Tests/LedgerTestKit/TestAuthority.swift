package import Foundation

/// An authority for TLS and the certificates that it issues, made by OpenSSL's own command, in a folder that is gone
/// when the test is.
package final class TestAuthority: Sendable {
    package static let command = URL(fileURLWithPath: "/usr/bin/openssl")
    /// Tests that need the command are skipped without it.
    package static var hasCommand: Bool { FileManager.default.isExecutableFile(atPath: command.path) }

    package struct Failure: Error { package let output: String }

    package let folder: URL

    /// - Parameter subject: its name, as OpenSSL's command takes it.
    package init(subject: String = "/CN=authority") throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("ledger-tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try run(
            ["req", "-x509"] + TestAuthority.key + ["-keyout", "ca.key", "-out", "ca.pem", "-subj", subject])
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private static let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]

    package var authority: String { path("ca.pem") }
    package func path(_ name: String) -> String { folder.appendingPathComponent(name).path }
    package func bytes(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: path(name))))
    }

    /// Makes `file.pem` and `file.key`.
    /// - Parameters:
    ///   - name: its common name.
    ///   - alternatives: its subject's alternative names.
    ///   - days: until it expires.
    package func issue(
        _ file: String, name: String, alternatives: String? = "DNS:localhost,IP:127.0.0.1", days: Int = 30
    ) throws {
        let request = alternatives.map { ["-addext", "subjectAltName=\($0)"] } ?? []
        try run(
            ["req", "-new"] + TestAuthority.key + [
                "-keyout", "\(file).key", "-out", "\(file).csr", "-subj", "/CN=\(name)",
            ]
                + request)
        try run([
            "x509", "-req", "-in", "\(file).csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out",
            "\(file).pem", "-days", "\(days)", "-copy_extensions", "copy",
        ])
    }

    private func run(_ arguments: [String]) throws {
        let process = Process()
        let output = Pipe()
        process.executableURL = TestAuthority.command
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(output: text) }
    }
}
