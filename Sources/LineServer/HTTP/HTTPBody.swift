import AppStore
import Ledger
import LedgerWire

/// The body of the request of HTTP that a connection has: how it is read as a line, and what became of that line.
struct HTTPBody {
    /// What became of the line.
    enum Outcome {
        /// It was not looked at.
        case none
        /// Nobody knew any more who had sent it, and it was not looked at.
        case unauthenticated
        /// It was answered.
        /// - Parameters:
        ///   - error: the reply, where it is one and an error.
        ///   - notification: the JWS that the App Store posted, where it posted one.
        case answered(error: WireError?, notification: SignedObject?)
    }

    /// How the line is read; those of the line protocol are read as `requests`.
    let form: LineForm
    private var fate = Fate.awaited
    /// The JWS that the App Store posted, until that is answered; the ledger has the same bytes.
    private var notification: SignedObject?

    private enum Fate {
        case awaited
        /// Nobody knew any more who had sent it.
        case refused
        case accepted
    }

    init(_ form: LineForm) { self.form = form }

    /// The line is accepted. What was refused stays refused.
    mutating func accept() {
        if case .awaited = fate { fate = .accepted }
    }

    mutating func refuse() { fate = .refused }

    /// Keeps what the App Store posted.
    mutating func note(_ request: LedgerRequest) {
        if case .notification = form, case .notify(let notify) = request {
            notification = .notification(notify.signedPayload)
        }
    }

    /// What became of the line. Its notification is given once.
    /// - Parameter lastError: the reply that was written last, where that is an error.
    mutating func takeOutcome(_ lastError: Reply?) -> Outcome {
        defer { notification = nil }
        switch fate {
        case .awaited: return .none
        case .refused: return .unauthenticated
        case .accepted: return .answered(error: lastError?.error, notification: notification)
        }
    }
}
