import LedgerWire

/// Whether changes are refused on a connection, because one before them was not carried out for want of the lead.
///
/// Its client may have sent others before it could know that. None of those that have come by then is carried out, not
/// even one of which only the beginning has come: changes are refused until all is answered, no part of a line is left,
/// and the kernel has nothing more (which over HTTP nobody asks: the next request may be another client's). What comes
/// later is sent by a client that could read all answers, or was under way in the network meanwhile.
struct ChangeRefusals {
    /// Stretches of time after which a connection ends on which changes are refused in each, however late they are
    /// read.
    private static let busyStretchesMax = 30

    /// Whether changes are refused.
    private(set) var isActive = false
    /// How many stretches of time have ended since changes are refused (``endStretch()``), and in how many of the last
    /// one after the other some were.
    private var stretches = 0
    private var busyStretches = 0
    /// How many changes were refused in this stretch.
    private var refused = 0
    /// Bytes that were read, and are not accepted yet, of those at the first look of this stretch that found the kernel
    /// empty; `nil` before that look.
    private var backlogBytes: Int?
    /// Whether a line was accepted that came behind these, and how many changes were refused since.
    private var hasNewLines = false
    private var newRefused = 0
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
        (isActive, stretches, busyStretches, readingsAnswered) = (true, 0, 0, nil)
        beginStretch()
    }

    /// It is looked at once what has come.
    private mutating func beginStretch() {
        (refused, backlogBytes, hasNewLines, newRefused, readingsSeen) = (0, nil, false, 0, nil)
    }

    /// Something was read from the connection.
    mutating func noteReading() { readings &+= 1 }

    /// Whether it is to be looked what has come.
    /// - Parameter isAnswered: whether all lines that were read are answered, and the last answers about to be written.
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
        refused += 1
        if hasNewLines { newRefused += 1 }
    }

    /// A stretch of time is over, which is longer than what a client sends is under way. It may have begun before
    /// changes were refused.
    /// - Returns: whether the connection is to end: a whole stretch ago its client was told, and in this one changes
    ///   came behind all that the kernel had; or in each of very many some were refused. Otherwise another begins.
    mutating func endStretch() -> Bool {
        busyStretches = refused > 0 ? busyStretches + 1 : 0
        if stretches > 1 && newRefused > 0 || busyStretches >= ChangeRefusals.busyStretchesMax { return true }
        stretches += 1
        beginStretch()
        return false
    }
}

extension WireError {
    /// What is told of a change that stands behind one that was refused.
    static let refusedBehind = WireError(
        .storageUnavailable, "what was asked before it was not carried out: ask again when all is answered")

    /// Why a connection ends on which new changes never cease to come while they are refused.
    static let changesRefused = WireError(
        .storageUnavailable, "changes are refused here, for one before them was: connect again, and ask again for it")
}
