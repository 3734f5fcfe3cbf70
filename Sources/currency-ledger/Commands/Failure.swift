import ArgumentParser
import Foundation

/// Ends the command with a message on standard error and an exit status.
struct Failure: Error, CustomStringConvertible {
    var description: String
    var exitCode: ExitCode

    init(_ description: String, exitCode: ExitCode = .failure) {
        self.description = description
        self.exitCode = exitCode
    }
}

extension ExitCode {
    /// `EX_CONFIG` of sysexits(3): something is wrong in a configuration file, a variable or a flag.
    static let configuration = ExitCode(78)
}

enum Console {
    static func error(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
    static func print(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
    static func write(_ bytes: [UInt8]) { FileHandle.standardOutput.write(Data(bytes)) }
    static var errorIsTerminal: Bool { isatty(FileHandle.standardError.fileDescriptor) == 1 }
}
