import LedgerWire

/// Whether changes are refused on a connection, because one before them was not carried out for want of the lead.
///
/// Its client may have sent others before it could know that. None of those that have come by then is carried out, not
/// even one of which only the beginning has come: changes are refused until all is answered, no part of a line is left,
/// and the kernel has nothing more (which over HTTP nobody asks: the next request may be another client's). What comes
/// later was sent by a client that could know, or was under way in the network meanwhile.
struct ChangeRefusals {
    /// Whether changes are refused.
    private(set) var isActive = false
    /// How many stretches of time have passed since they are (``endStretch()``).
    private var stretches = 0
    /// What follows is of this stretch: bytes that had been read, and are not accepted yet, when nothing more had come;
    /// `nil` where that was not so.
    private var backlogBytes: Int?
    /// Whether a line was accepted that came behind these, and how many changes were refused since.
    private var hasNewLines = false
    private(set) var newRefused = 0
    /// How often something was read from the connection; its value at the last look, and at the last one at which all
    /// was answered.
    private var readings = 0
    private var readingsSeen: Int?
    private var readingsAnswered: Int?

    /// Whether a request is refused because a change before it was.
    func refuses(_ message: Message) -> Bool {
        guard isActive, case .success(let asked) = message.body, case .ledger(let request) = asked.request
        else { return false }
        return request.changes
    }

    /// The client is about to be told that a change was not carried out.
    mutating func begin() {
        if isActive { return }
        (isActive, stretches, readingsSeen, readingsAnswered) = (true, 0, nil, nil)
        beginStretch()
    }

    private mutating func beginStretch() { (backlogBytes, hasNewLines, newRefused) = (nil, false, 0) }

    /// Something was read from the connection.
    mutating func noteReading() { readings &+= 1 }

    /// Whether it is to be looked what has come.
    /// - Parameter isAnswered: whether all lines that were read are, if only by what is about to be written.
    func needsLook(isAnswered: Bool) -> Bool {
        isActive && (isAnswered ? readingsAnswered != readings : backlogBytes == nil && readingsSeen != readings)
    }

    /// It was looked what has come.
    /// - Parameters:
    ///   - unread: bytes of that what is not read.
    ///   - unaccepted: bytes that are read, and not accepted.
    ///   - isAnswered: see ``needsLook(isAnswered:)``.
    mutating func looked(unread: Int, unaccepted: Int, isAnswered: Bool) {
        readingsSeen = readings
        if isAnswered { readingsAnswered = readings }
        if unread > 0 { return }
        if isAnswered && unaccepted == 0 { isActive = false }
        backlogBytes = backlogBytes ?? unaccepted
    }

    /// A line is accepted.
    mutating func noteAccepted(_ bytes: Int) {
        guard let backlog = backlogBytes else { return }
        if backlog > 0 { backlogBytes = backlog - bytes } else { hasNewLines = true }
    }

    /// A change is refused that came behind one that was.
    mutating func noteRefused() {
        if hasNewLines { newRefused += 1 }
    }

    /// A stretch of time is over, which is longer than what a client sends is under way.
    /// - Returns: whether new changes came in it, though all had come that was sent before it: their client could know
    ///   that they are refused. Otherwise another stretch begins.
    mutating func endStretch() -> Bool {
        if stretches > 0 && newRefused > 0 { return true }
        stretches += 1
        beginStretch()
        return false
    }
}

extension WireError {
    /// What is told of a change that stands behind one that was refused.
    static let refusedBehind = WireError(
        .storageUnavailable, "what was asked before it was not carried out: it may be asked again at once")

    /// Why a connection ends on which new changes never cease to come while they are refused.
    static let changesRefused = WireError(
        .storageUnavailable, "changes are refused here, for one before them was: connect again, and ask again for it")
}
