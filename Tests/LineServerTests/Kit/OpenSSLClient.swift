import Foundation
import LedgerTestKit
import LedgerWire
import NIOPosix

/// OpenSSL's own client, an implementation of TLS that shares no code with the server's.
enum OpenSSLClient {
    /// Everything that it printed, and whether the connection stood. It sends `input` once it is connected, and ends a
    /// moment later.
    static func run(_ address: ServerAddress, _ arguments: [String], input: String = "") async throws -> (
        output: String, isConnected: Bool
    ) {
        try await NIOThreadPool.singleton.runIfActive {
            let process = Process()
            let (stdin, stdout) = (Pipe(), Pipe())
            process.executableURL = TestAuthority.command
            process.arguments = ["s_client", "-connect", "\(address)"] + arguments
            process.standardInput = stdin
            process.standardOutput = stdout
            process.standardError = stdout
            try process.run()
            stdin.fileHandleForWriting.write(Data(input.utf8))
            let end = DispatchTime.now() + .milliseconds(700)
            // The pool's threads block signals, and what they start inherits that; this one cannot be blocked.
            DispatchQueue.global().asyncAfter(deadline: end) {
                if process.isRunning { kill(process.processIdentifier, SIGKILL) }
            }
            let output = String(decoding: stdout.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            try stdin.fileHandleForWriting.close()
            return (output, output.contains(/Cipher is (?!\(NONE\))/))
        }
    }
}
