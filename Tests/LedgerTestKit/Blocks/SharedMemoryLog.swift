package import Ledger
import Synchronization

/// One node's way to a log in memory that several nodes have in common. A lease ends when a test says so.
package final class SharedMemoryLog: SharedLog {
    /// What all nodes have in common.
    package final class Store: Sendable {
        fileprivate struct State {
            var blocks: [SealedBlock] = []
            /// A block of which nobody knows, and that comes up when the lead is taken.
            var inDoubt: SealedBlock?
            var leader: LogLeader?
            /// Grows with each taking of the lead.
            var reign = 0
            /// Whether the leader was not heard of for a whole lease.
            var isOver = true
            var wantedBy: String?
            /// Whether no name can be overwritten.
            var isDamaged = false
            var owed: Set<PlayerID> = []
        }

        fileprivate let state = Mutex(State())

        package init() {}

        package var blocks: [SealedBlock] { state.withLock { $0.blocks } }

        /// The name of the node that leads; `nil` where the lead was given back, or nobody ever had it.
        package var leader: String? { state.withLock { $0.leader?.node } }

        /// The database is replaced by another one, or by an older copy, while nobody leads.
        package func replace(_ blocks: [SealedBlock]) {
            state.withLock { state in
                (state.blocks, state.inDoubt, state.leader, state.isOver) = (blocks, nil, nil, true)
                state.reign += 1
            }
        }

        /// The leader is not heard of for a whole lease: any node may take the lead.
        package func endLease() { state.withLock { $0.isOver = true } }

        /// Whether no name can be overwritten.
        package func damage(_ isDamaged: Bool) { state.withLock { $0.isDamaged = isDamaged } }

        /// Accounts whose names were noted to be erased still.
        package var owed: Set<PlayerID> { state.withLock { $0.owed } }
    }

    private struct Plan {
        var reign = 0
        var leads = false
        var isCutOff = false
        var isHeld = false
        var isFull = false
        var waiting = 0
        /// Whether the block is there, of each append that fails with `unknown`.
        var unknown: [Bool] = []
        var confirmations = 0
        var looks = 0
        var areLooksHeld = false
    }

    package let engine = "SharedMemoryLog"
    package let mayLead: Bool
    private let store: Store
    private let own: LogLeader
    private let plan = Mutex(Plan())
    private let known = Mutex<LogHead?>(nil)

    package init(_ store: Store, node: String, mayLead: Bool = true) {
        self.store = store
        self.mayLead = mayLead
        own = LogLeader(node: node, address: "\(node):7000")
        known.withLock { $0 = store.blocks.last?.head }
    }

    // MARK: - What a test says

    /// Whether this node does not reach the store: everything is `unknown`.
    package func cutOff(_ isCutOff: Bool) { plan.withLock { $0.isCutOff = isCutOff } }

    /// Appends that begin from now on wait until ``release()``.
    package func hold() { plan.withLock { $0.isHeld = true } }
    package func release() { plan.withLock { $0.isHeld = false } }

    /// Whether nothing can be appended.
    package func fill(_ isFull: Bool) { plan.withLock { $0.isFull = isFull } }

    /// How many appends wait.
    package var waiting: Int { plan.withLock { $0.waiting } }

    /// The end of the next append is not known.
    package func losesAnswer(isThere: Bool) { plan.withLock { $0.unknown.append(isThere) } }

    /// How often it was asked whether this node leads still.
    package var confirmations: Int { plan.withLock { $0.confirmations } }

    /// Answers to who asks from now on how the log stands wait until ``releaseLooks()``, and say how it stood before.
    package func holdLooks() { plan.withLock { $0.areLooksHeld = true } }
    package func releaseLooks() { plan.withLock { $0.areLooksHeld = false } }

    /// How often it was asked how the log stands.
    package var looks: Int { plan.withLock { $0.looks } }

    // MARK: - The log

    package var head: LogHead? { known.withLock { $0 } }

    private func checkIsReached() throws(LogError) {
        if plan.withLock({ $0.isCutOff }) { throw LogError(.unknown, "the test's store does not answer") }
    }

    package func standing() throws(LogError) -> LogStanding {
        try checkIsReached()
        let standing = store.state.withLock { state in
            let other = state.isOver || state.leader?.node == own.node ? nil : state.leader
            return LogStanding(
                leader: other, block: state.blocks.last?.number ?? 0, taking: "\(state.reign)",
                wantedBy: state.wantedBy == own.node ? nil : state.wantedBy)
        }
        plan.withLock { $0.looks += 1 }
        while plan.withLock({ $0.areLooksHeld }) { pauseAMillisecond() }
        return standing
    }

    package func askForLead() throws(LogError) {
        try checkIsReached()
        store.state.withLock { $0.wantedBy = $0.wantedBy ?? own.node }
    }

    package func settle() throws(LogError) {
        try checkIsReached()
        if !mayLead { throw LogError(.superseded, "this node has no right to lead") }
        let (reign, head) = try store.state.withLock { (state) throws(LogError) in
            if let leader = state.leader, !state.isOver, leader.node != own.node {
                throw LogError(.superseded, "node \(leader.node) leads")
            }
            if let block = state.inDoubt { state.blocks.append(block) }
            state.inDoubt = nil
            state.leader = own
            state.wantedBy = nil
            state.isOver = false
            state.reign += 1
            return (state.reign, state.blocks.last?.head)
        }
        known.withLock { $0 = head }
        plan.withLock { ($0.reign, $0.leads) = (reign, true) }
    }

    package func confirmLead() throws(LogError) {
        plan.withLock { $0.confirmations += 1 }
        try checkIsReached()
        try checkLeads()
    }

    private func checkLeads() throws(LogError) {
        let (reign, leads) = plan.withLock { ($0.reign, $0.leads) }
        if !leads { throw LogError(.notAppended, "the log was not settled") }
        guard store.state.withLock({ $0.reign }) == reign else {
            plan.withLock { $0.leads = false }
            throw LogError(.superseded, "another node leads")
        }
    }

    package func append(_ block: SealedBlock) throws(LogError) {
        plan.withLock { $0.waiting += 1 }
        while plan.withLock({ $0.isHeld }) { pauseAMillisecond() }
        let unknown = plan.withLock { plan -> Bool? in
            plan.waiting -= 1
            return plan.unknown.isEmpty ? nil : plan.unknown.removeFirst()
        }
        do throws(LogError) {
            try checkIsReached()
            try checkLeads()
            if plan.withLock({ $0.isFull }) { throw LogError(.notAppended, "the test's store is full") }
            try store.state.withLock { (state) throws(LogError) in
                guard block.number == (state.blocks.last?.number ?? 0) + 1,
                    state.blocks.last.map({ $0.hash == block.previous }) ?? true
                else { throw LogError(.superseded, "block \(block.number) is taken") }
                if let unknown {
                    state.inDoubt = unknown ? block : nil
                    throw LogError(.unknown, "the test's store does not answer")
                }
                state.blocks.append(block)
            }
        } catch {
            plan.withLock { $0.leads = false }
            throw error
        }
        known.withLock { $0 = block.head }
    }

    package func read(after number: BlockNumber, bytesMax: Int) throws(LogError) -> [SealedBlock] {
        try checkIsReached()
        let blocks = store.state.withLock { state in
            var bytes = 0
            return Array(
                state.blocks.dropFirst(Int(clamping: max(0, number))).prefix { block in
                    defer { bytes += block.byteCount }
                    return bytes == 0 && block.number == number + 1 || bytes + block.byteCount <= bytesMax
                })
        }
        if let last = blocks.last, !plan.withLock({ $0.leads }) {
            known.withLock { if last.number > $0?.number ?? 0 { $0 = last.head } }
        }
        return blocks
    }

    package func redact(_ number: BlockNumber, _ redactable: [UInt8]) throws(LogError) {
        try checkIsReached()
        try checkLeads()
        if store.state.withLock({ $0.isDamaged }) {
            throw LogError(.corrupt, "block \(number): the test has damaged it")
        }
        store.state.withLock { $0.blocks[Int(number) - 1].redactable = redactable }
    }

    package func owe(_ account: PlayerID) throws(LogError) {
        try checkIsReached()
        store.state.withLock { _ = $0.owed.insert(account) }
    }

    package func owed() throws(LogError) -> [PlayerID] {
        try checkIsReached()
        return store.owed.sorted()
    }

    package func paid(_ account: PlayerID) throws(LogError) {
        try checkIsReached()
        store.state.withLock { _ = $0.owed.remove(account) }
    }

    package func checkRedactable(_ number: BlockNumber) throws(LogError) { try checkIsReached() }

    package func close() { giveBack() }

    package func giveBack() {
        let (reign, isCutOff) = plan.withLock { plan in
            plan.leads = false
            return (plan.reign, plan.isCutOff)
        }
        // Also where an append has failed since.
        store.state.withLock { if !isCutOff, $0.reign == reign { $0.leader = nil } }
    }
}
