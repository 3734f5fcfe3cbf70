internal import COpenSSL

/// What OpenSSL could not do: out of memory, a key or certificate that is none, a curve that the build lacks.
public struct OpenSSLError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What was tried.
    public let operation: String
    /// OpenSSL's own reason, empty where it gave none.
    public let reason: String
    /// Whether memory was wanting: another try may go otherwise.
    let isOutOfMemory: Bool

    /// Takes the reason from this thread's error queue and leaves the queue empty.
    init(_ operation: String) {
        self.operation = operation
        isOutOfMemory = ledger_is_out_of_memory() == 1
        let code = ERR_peek_last_error()
        if code != 0, let text = ERR_reason_error_string(code) {
            reason = String(cString: text)
        } else {
            reason = ""
        }
        ERR_clear_error()
    }

    init(_ operation: String, reason: String) {
        self.operation = operation
        self.reason = reason
        isOutOfMemory = false
    }

    /// One line for people.
    public var description: String { reason.isEmpty ? "cannot \(operation)" : "cannot \(operation): \(reason)" }

    /// For calls that give 1 for success.
    static func check(_ result: Int32, _ operation: @autoclosure () -> String) throws(OpenSSLError) {
        if result != 1 { throw OpenSSLError(operation()) }
    }

    /// For calls that give a pointer for success.
    static func check<T>(_ result: T?, _ operation: @autoclosure () -> String) throws(OpenSSLError) -> T {
        guard let result else { throw OpenSSLError(operation()) }
        return result
    }
}
