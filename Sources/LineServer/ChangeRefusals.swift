import LedgerWire

/// Whether changes are refused on a connection, because one before them was not carried out for want of the lead.
///
/// Its client may have sent others before it could know that. None of those that have come by then is carried out, not
/// even one of which only the beginning has come: changes are refused until all is answered, no part of a line is left,
/// and the kernel has nothing more (which over HTTP nobody asks: the next request may be another client's). What comes
/// later was sent by a client that could know, or was under way in the network meanwhile.
struct ChangeRefusals {
    /// From a refusal until changes are carried out again.
    struct Episode: Equatable {
        /// From 1.
        let number: Int
        /// Bytes that had come when its client was told, and are not accepted yet; `nil` until that is looked at.
        var backlogBytes: Int?
        /// Whether a line was accepted that came behind these.
        var hasNewLines = false
        /// How many changes were refused of those that came behind them.
        var newRefused = 0
    }

    /// `nil` where no changes are refused.
    private(set) var episode: Episode?
    private var episodes = 0
    /// How often something was read from the connection, and its value at the last look.
    private var readings = 0
    private var readingsSeen: Int?

    /// Whether changes are refused.
    var isActive: Bool { episode != nil }

    /// Whether a request is refused because a change before it was.
    func refuses(_ message: Message) -> Bool {
        guard isActive, case .success(let asked) = message.body, case .ledger(let request) = asked.request
        else { return false }
        return request.changes
    }

    /// The client is told that a change was not carried out.
    mutating func begin() {
        if isActive { return }
        episodes += 1
        episode = Episode(number: episodes)
    }

    /// Something was read from the connection.
    mutating func noteReading() { readings &+= 1 }

    /// Whether it is to be looked how much had come when the client was told, before anything else is done.
    var needsFirstLook: Bool { isActive && episode?.backlogBytes == nil }

    /// Whether it is to be looked, once the connection is quiet, if more has come.
    var needsLook: Bool { isActive && readingsSeen != readings }

    /// It was looked how much has come.
    /// - Parameters:
    ///   - bytes: of that what is not accepted, read or not.
    ///   - isQuiet: whether all lines that were read are answered.
    mutating func noteUnaccepted(_ bytes: Int, isQuiet: Bool) {
        if needsFirstLook {
            episode?.backlogBytes = bytes
            return
        }
        readingsSeen = readings
        if bytes == 0 && isQuiet { (episode, readingsSeen) = (nil, nil) }
    }

    /// A line is accepted.
    mutating func noteAccepted(_ bytes: Int) {
        guard let backlog = episode?.backlogBytes else { return }
        if backlog > 0 { episode?.backlogBytes = backlog - bytes } else { episode?.hasNewLines = true }
    }

    /// A change is refused that came behind one that was.
    mutating func noteRefused() {
        if episode?.hasNewLines == true { episode?.newRefused += 1 }
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
