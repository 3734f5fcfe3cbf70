import LedgerWire

/// Why the service ends a connection that its client has not ended, and what belongs to that.
enum ConnectionEnd: Equatable {
    /// A later session of the same standby has taken its place.
    case displaced
    /// Its token has come to open another ledger since it was made.
    case moved
    /// Nobody knows who its client is, and another needs its place.
    case putOut
    /// Its client has not authenticated in time.
    case neverAuthenticated
    /// Nothing came and nothing was read for too long.
    case idle
    /// It keeps memory for which others wait.
    case keepsMemory(NoticeKind)
    /// New changes come on and on while they are refused, so that it never comes to an end.
    case changesRefused

    /// For how long what is under way is still answered, and its client may read that, before the connection is closed
    /// all the same.
    enum Grace {
        /// It is closed at once.
        case none
        /// Long enough to read why it ends, and no more (``ServerLimits/lingerMilliseconds``).
        case linger
        /// As long as somebody may have whom nobody knows (``ServerLimits/unauthenticatedMilliseconds``).
        case stranger
    }

    /// For the log.
    var name: String {
        switch self {
        case .displaced: "displaced"
        case .moved: "moved"
        case .putOut: "put out"
        case .neverAuthenticated: "never authenticated"
        case .idle: "idle"
        case .keepsMemory: "keeps memory"
        case .changesRefused: "changes refused"
        }
    }

    /// What its client is told.
    var error: WireError? {
        switch self {
        case .displaced, .idle, .keepsMemory: nil
        case .moved: .otherLedgerNow
        case .putOut: .overloaded
        case .neverAuthenticated: .notAuthenticatedInTime
        case .changesRefused: .changesRefused
        }
    }

    /// What the operator is told.
    var notice: NoticeKind? {
        switch self {
        // ``ConnectionRegistry`` says whom it puts out.
        case .displaced, .moved, .putOut, .idle: nil
        case .neverAuthenticated: .neverAuthenticated
        case .keepsMemory(let kind): kind
        case .changesRefused: .changesRefused
        }
    }

    /// Whether what is under way waits for nothing new any more, so that it is answered soon, and not asked again.
    var endsWaits: Bool {
        switch self {
        case .moved, .changesRefused: true
        case .displaced, .putOut, .neverAuthenticated, .idle, .keepsMemory: false
        }
    }

    func grace(isHTTP: Bool) -> Grace {
        switch self {
        case .keepsMemory: .none
        case .displaced, .neverAuthenticated, .idle: .linger
        // What was asked over HTTP is answered first.
        case .putOut: isHTTP ? .stranger : .linger
        case .moved, .changesRefused: .stranger
        }
    }
}
