/// How far a connection has come, and whether what its client sends is looked at.
///
/// *open*; *ending* (the server shuts down, or the client sent what no line can be read behind: nothing new is carried
/// out, everything accepted is still answered); *lingering* (all is answered and our side closed; what the client still
/// sends is read and dropped, because closing a socket with unread bytes resets it and takes replies away that are on
/// their way); *closed*. No phase leads back to one before it.
enum ConnectionPhase {
    /// What the client sends.
    enum Input {
        case lines
        /// It is not looked at: after a line too long nobody knows where the next one begins, another protocol's lines
        /// are not meant for a ledger, and who sends one wrong token after the other is not listened to.
        case ignored
        /// Nothing more comes.
        case closed
    }

    /// How a connection ends.
    enum End {
        /// Its client may still send something.
        case linger
        case close
    }

    case open(Input)
    case ending(Input)
    case lingering(Input)
    case closed

    /// Whether what comes is looked at.
    var readsLines: Bool {
        switch self {
        case .open(.lines), .ending(.lines): true
        case .open(.ignored), .open(.closed), .ending(.ignored), .ending(.closed), .lingering, .closed: false
        }
    }

    var isInputClosed: Bool {
        switch self {
        case .open(.closed), .ending(.closed), .lingering(.closed), .closed: true
        case .open(.lines), .open(.ignored), .ending(.lines), .ending(.ignored), .lingering: false
        }
    }

    /// The client sends nothing more.
    mutating func inputClosed() {
        switch self {
        case .open: self = .open(.closed)
        case .ending: self = .ending(.closed)
        case .lingering: self = .lingering(.closed)
        case .closed: return
        }
    }

    /// Nothing new is carried out.
    mutating func shutDown() {
        if case .open(let input) = self { self = .ending(input) }
    }

    /// Nothing that follows can be read.
    mutating func ignoreInput() {
        switch self {
        case .open(.closed), .ending(.closed): self = .ending(.closed)
        case .open, .ending: self = .ending(.ignored)
        case .lingering, .closed: return
        }
    }

    /// Ends, where nothing more is to come: all that came is answered.
    /// - Returns: `nil` where more may come, or the connection has ended.
    mutating func end() -> End? {
        switch self {
        case .open(.closed), .ending(.closed), .lingering(.closed):
            self = .closed
            return .close
        case .ending(.lines), .ending(.ignored):
            self = .lingering(.ignored)
            return .linger
        case .open(.lines), .open(.ignored), .lingering(.lines), .lingering(.ignored), .closed: return nil
        }
    }
}
