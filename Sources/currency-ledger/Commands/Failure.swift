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
    static func error(_ text: String) {
        do throws(FileError) {
            try File.write(Array((text + "\n").utf8), to: STDERR_FILENO, name: "standard error")
        } catch {
            // Nobody is left to tell.
        }
    }

    /// Prints a line. Where standard output takes nothing more, the command ends with the reason.
    static func print(_ text: String) {
        do throws(FileError) {
            try File.write(Array((text + "\n").utf8), to: STDOUT_FILENO, name: OutputFile.standardOutputName)
        } catch {
            Console.error("currency-ledger: \(error)")
            exit(EXIT_FAILURE)
        }
    }

    static var errorIsTerminal: Bool { isatty(FileHandle.standardError.fileDescriptor) == 1 }
}
