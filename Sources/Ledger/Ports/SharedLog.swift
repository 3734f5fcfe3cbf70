/// A log that several nodes have in common: one of them leads it, the others read what that one appends, and any that
/// may takes the lead when nobody has it. `close` gives the lead back, so that the next leader need not wait.
///
/// What is the log's alone: leases, and how long a leader that is not heard of is waited for. A node only asks who
/// leads.
package protocol SharedLog: BlockLog {
    /// Whether this node has the right to lead.
    var mayLead: Bool { get }

    /// Asks the store how the log stands. Every block that was acknowledged before this is called is counted, as far as
    /// the store is read that takes the writes. Called from any thread.
    /// - Throws: ``LogError`` `unknown` where it cannot be asked now, `corrupt`.
    func standing() throws(LogError) -> LogStanding

    /// Asks the node that leads to hand the lead over to this one, which it sees by ``LogStanding/wantedBy``.
    /// - Throws: ``LogError`` `unknown` where the store cannot be told now.
    func askForLead() throws(LogError)

    /// Notes durably that the name of an account is to be erased, and could not be, because the block that has it is
    /// damaged: whichever node leads erases it when that is mended.
    /// - Throws: ``LogError`` `unknown` where the store cannot be told now.
    func owe(_ account: PlayerID) throws(LogError)

    /// The accounts that were noted so.
    /// - Throws: ``LogError`` `unknown` where the store cannot be asked now.
    func owed() throws(LogError) -> [PlayerID]

    /// Takes such a note back: the name is erased.
    /// - Throws: ``LogError`` `unknown` where the store cannot be told now.
    func paid(_ account: PlayerID) throws(LogError)

    /// Gives the lead back, as far as that is possible, so that the next leader need not wait. At most a term's first
    /// block is in doubt, which changes nothing in the books.
    func giveBack()
}

/// How a shared log stands at one moment.
package struct LogStanding: Hashable, Sendable {
    /// Another node that leads; `nil` where none does: this node has the lead or had it last, it was given back, or its
    /// leader was not heard of for as long as it is waited for. Then `settle` takes it without a wait.
    package var leader: LogLeader?
    /// The number of the last block; 0 where there is none.
    package var block: BlockNumber
    /// Which taking of the lead was the last: other words for each.
    package var taking: String
    /// Another node that has asked for the lead since that was taken last.
    package var wantedBy: String?

    package init(leader: LogLeader?, block: BlockNumber, taking: String, wantedBy: String? = nil) {
        self.leader = leader
        self.block = block
        self.taking = taking
        self.wantedBy = wantedBy
    }
}

/// A node that leads.
package struct LogLeader: Hashable, Sendable {
    package var node: String
    /// Where clients and other nodes reach it.
    package var address: String
    /// How many ledgers it is to lead, beside what others are.
    package var weight: Int

    package init(node: String, address: String, weight: Int = 1) {
        self.node = node
        self.address = address
        self.weight = weight
    }
}
