import LedgerWire

/// Whether changes are refused on a connection, because one before them was not carried out for want of the lead.
///
/// Its client may have sent others before it could know that, and none of these is carried out: changes are refused
/// until all that has come is answered, and the kernel has no more of it. What comes behind that is sent by a client
/// that could know.
struct ChangeRefusals {
    /// From a refusal until changes are carried out again.
    struct Episode: Equatable {
        /// From 1.
        let number: Int
        /// Bytes that had come when its client was told, and were not accepted yet; `nil` where that was not looked at.
        var unaccepted: Int?
        /// Whether a line was accepted since that came behind these.
        var sendsOn = false
        /// How many changes were refused of what came behind them.
        var behind = 0
    }

    /// `nil` where no changes are refused.
    private(set) var episode: Episode?
    private var episodes = 0
    /// How often something was read, and how often until it was looked last what has come.
    private var readings = 0
    private var readingsSeen: Int?

    /// Whether changes are refused.
    var areOn: Bool { episode != nil }

    /// Whether a request is refused because a change before it was.
    func refuse(_ message: Message) -> Bool {
        guard areOn, case .success(let asked) = message.body, case .ledger(let request) = asked.request
        else { return false }
        return request.changes
    }

    /// The client is told that a change was not carried out.
    mutating func begin() {
        if areOn { return }
        episodes += 1
        episode = Episode(number: episodes)
    }

    /// Something was read from the connection.
    mutating func noteReading() { readings &+= 1 }

    /// Whether it is to be looked how much had come when the client was told, before anything else is done.
    var needFirstLook: Bool { areOn && episode?.unaccepted == nil }

    /// Whether it is to be looked, once the connection is quiet, if more has come.
    var needLook: Bool { areOn && readingsSeen != readings }

    /// It was looked how much has come.
    /// - Parameters:
    ///   - unread: bytes of it that were not read.
    ///   - unaccepted: bytes that were read, and not accepted.
    ///   - isQuiet: whether all that was read is answered.
    mutating func looked(unread: Int, unaccepted: Int, isQuiet: Bool) {
        if needFirstLook {
            episode?.unaccepted = unread + unaccepted
            return
        }
        readingsSeen = readings
        if unread == 0 && isQuiet { (episode, readingsSeen) = (nil, nil) }
    }

    /// A line is accepted.
    mutating func noteAccepted(_ bytes: Int) {
        guard let unaccepted = episode?.unaccepted else { return }
        if unaccepted > 0 { episode?.unaccepted = unaccepted - bytes } else { episode?.sendsOn = true }
    }

    /// A change is refused that came behind one that was.
    mutating func noteRefused() {
        if episode?.sendsOn == true { episode?.behind += 1 }
    }
}

extension WireError {
    /// What is told of a change that stands behind one that was refused.
    static let refusedBehind = WireError(
        .storageUnavailable, "what was asked before it was not carried out: it may be asked again at once")

    /// Why a connection ends whose client does not wait for what it is told of that.
    static let changesRefused = WireError(
        .storageUnavailable, "changes are refused here, for one before them was: connect again, and ask again for it")
}
