package import Ledger

/// What a standby needs beside its own log and tables.
package struct Following: Sendable {
    /// Its leader's address, as clients are told it.
    package var leader: String
    /// The name by which the leader knows it.
    package var name: StandbyName
    /// Makes a connection, which is not open yet.
    package var connection: @Sendable () -> any LeaderConnection
    /// Notes durably that this ledger follows no more, before it leads.
    package var promoting: @Sendable () throws -> Void
    /// Told why it does not go on: nothing helps that does not need an operator.
    package var ended: @Sendable (FollowingFault) -> Void
    package let status: StandbyStatus

    package init(
        leader: String, name: StandbyName, connection: @escaping @Sendable () -> any LeaderConnection,
        promoting: @escaping @Sendable () throws -> Void, ended: @escaping @Sendable (FollowingFault) -> Void,
        silenceMilliseconds: UInt64 = EngineLimits.leaderSilenceMilliseconds
    ) {
        status = StandbyStatus(silenceMilliseconds: silenceMilliseconds)
        self.leader = leader
        self.name = name
        self.connection = connection
        self.promoting = promoting
        self.ended = ended
    }
}

/// A connection to the leader. One thread opens it once, and then asks and takes the answers by turns; any thread
/// closes it, at any time, which ends what is being waited for by an error.
package protocol LeaderConnection: AnyObject, Sendable {
    /// Connects, and gives whose ledger the leader keeps, as it says.
    /// - Throws: whatever keeps it from it.
    func open() throws -> BlockRows.LedgerRow

    /// Asks, and does not wait. Every question before it has its answer.
    func ask(_ query: BlocksQuery)

    /// Waits for the answer.
    /// - Throws: ``ChainMismatch`` where the leader does not have the block after which was asked; anything else where
    ///   no answer came.
    func answer() throws -> BlocksPage

    func close()
}

/// The leader has not the block after which it was asked.
package struct ChainMismatch: Error, Hashable {
    /// Its last block.
    package var head: BlockNumber

    package init(head: BlockNumber) { self.head = head }
}

/// Why a standby does not go on.
package enum FollowingFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// The leader's chain is the beginning of this one, which goes on to `block`.
    case ahead(leader: String, block: BlockNumber, leaderBlock: BlockNumber)
    /// Both have a block of this number, and they differ.
    case forked(leader: String, first: BlockNumber, block: BlockNumber, leaderBlock: BlockNumber)
    /// The leader keeps another app's books, or another environment's.
    case otherLedger(leader: String, BlockRows.LedgerRow, own: BlockRows.LedgerRow)
    /// This ledger's own log does not go on.
    case log(LogError)

    package var description: String {
        switch self {
        case .ahead(let leader, let block, let leaderBlock):
            """
            the leader \(leader) ends with block \(leaderBlock), and this ledger goes on to block \(block): what is in \
            its blocks \(leaderBlock + 1) to \(block) is only here. \(FollowingFault.choice)
            """
        case .forked(let leader, 1, _, _):
            """
            the first block is not that of the leader \(leader): these are two ledgers, of one app and environment. \
            \(FollowingFault.choice)
            """
        case .forked(let leader, let first, let block, let leaderBlock):
            """
            block \(first) is not that of the leader \(leader), which ends with block \(leaderBlock): what is in this \
            ledger's blocks \(first) to \(block) is only here. \(FollowingFault.choice)
            """
        case .otherLedger(let leader, let other, let own):
            """
            the leader \(leader) keeps the ledger of \(other.bundleID), \(other.environment); this configuration is of \
            \(own.bundleID), \(own.environment)
            """
        case .log(let error): "\(error)"
        }
    }

    private static let choice = """
        Where the leader is the right one, move this ledger's folder away, keep it, and start with --create; the page \
        Standby says what can be done with the blocks that only this one has
        """
}

/// How far a standby is, for whoever asks.
package final class StandbyStatus: Sendable {
    package enum State: Hashable, Sendable {
        case connecting(String?)
        case following
        case stopped(String)
        /// It is no standby any more.
        case promoted
    }

    package struct Standing: Sendable {
        package var state: State
        package var block: BlockNumber
        package var leaderBlock: BlockNumber?
        package var millisecondsBehind: Int64?
    }

    private struct Known {
        var state = State.connecting(nil)
        var block: BlockNumber = 0
        var leaderBlock: BlockNumber?
        /// When the leader was heard last, or the following began.
        var heardAt = monotonicNanoseconds()
        /// When it was last known to have all, by the monotonic clock.
        var hadAllAt: UInt64?
    }

    private let known = Monitor(Known())

    /// After how long without a word a leader counts as silent: it says something every second.
    private let silenceMilliseconds: UInt64

    init(silenceMilliseconds: UInt64) { self.silenceMilliseconds = silenceMilliseconds }

    package var standing: Standing {
        known.withLock { known in
            let now = monotonicNanoseconds()
            return Standing(
                state: state(known, now), block: known.block, leaderBlock: known.leaderBlock,
                millisecondsBehind: known.hadAllAt.map { Int64((now - $0) / 1_000_000) })
        }
    }

    private func state(_ known: Known, _ now: UInt64) -> State {
        let silence = (now - known.heardAt) / 1_000_000
        if silence < silenceMilliseconds { return known.state }
        switch known.state {
        case .following, .connecting(nil): return .connecting("the leader has said nothing for \(silence / 1_000) s")
        case .connecting, .stopped, .promoted: return known.state
        }
    }

    /// The leader has said something.
    func hear() { known.withLock { $0.heardAt = monotonicNanoseconds() } }

    func enter(_ state: State) {
        known.withLock { known in
            if case .stopped = known.state { return }
            known.state = state
        }
    }

    /// - Parameters:
    ///   - block: the last one that is durable here.
    ///   - leaderBlock: the leader's last one, where it just said so.
    func note(block: BlockNumber, leaderBlock: BlockNumber? = nil) {
        known.withLock { known in
            known.block = block
            // Who appends what the leader gave does not wait for it.
            known.heardAt = monotonicNanoseconds()
            if let leaderBlock { known.leaderBlock = leaderBlock }
            if leaderBlock == block { known.hadAllAt = monotonicNanoseconds() }
        }
    }
}
