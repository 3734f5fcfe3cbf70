import ArgumentParser
import Dispatch
import Foundation
import NIOConcurrencyHelpers

/// What SIGINT and SIGTERM cancel, so that it can say how far it came, instead of ending the command at once.
enum Interruptible {
    /// - Throws: what `body` throws; `ExitCode` 130 (SIGINT) or 143 (SIGTERM) instead where one of these came before.
    static func run(_ body: @escaping @Sendable () async throws -> Void) async throws {
        let task = Task { try await body() }
        let came = NIOLockedValueBox<Int32?>(nil)
        let sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                came.withLockedValue { $0 = number }
                task.cancel()
            }
            source.resume()
            return source
        }
        defer { for source in sources { source.cancel() } }
        do {
            try await task.value
        } catch {
            // As shells say it of a command that a signal ended.
            if let number = came.withLockedValue({ $0 }) { throw ExitCode(128 + number) }
            throw error
        }
    }
}
