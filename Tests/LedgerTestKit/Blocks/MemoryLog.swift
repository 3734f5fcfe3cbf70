package import Ledger
import Synchronization

/// A log in memory, whose appends fail or wait when a test says so.
package final class MemoryLog: BlockLog {
    /// How an append, or the one within `lead`, fails.
    package enum Fault: Hashable, Sendable {
        /// The block is not there and never will be.
        case notAppended
        /// The append throws `unknown`; whether the block is there is found by the next `settle`.
        case unknown(isThere: Bool)
        /// Another writer was faster: its blocks stand there. With none, another leads from now on, for good.
        case superseded(by: [SealedBlock])
    }

    /// What is kept: more than one log can be opened over it, one after the other.
    package final class Storage: Sendable {
        fileprivate struct State {
            var blocks: [SealedBlock] = []
            /// A block of which the writer was told that nobody knows.
            var inDoubt: SealedBlock?
            var isFenced = false
        }

        fileprivate let state = Mutex(State())

        package init(_ blocks: [SealedBlock] = []) { state.withLock { $0.blocks = blocks } }

        /// All blocks that are durable.
        package var blocks: [SealedBlock] { state.withLock { $0.blocks } }
    }

    private struct Plan {
        var faults: [Fault] = []
        /// Appends before the next fault.
        var good = 0
        var leadFailures: [LogError] = []
        var redactionFailures = 0
        /// Blocks that cannot be redacted, each after so many looks at it.
        var damaged: [BlockNumber: Int] = [:]
        /// Blocks that cannot be read.
        var unreadable: Set<BlockNumber> = []
        var reads = 0
        var isHeld = false
        var waiting = 0
        var appends = 0
        var leads = 0
        var mustSettle = false
    }

    package let engine = "MemoryLog"
    package var head: LogHead? { blocks.last?.head }
    package let storage: Storage
    private let plan = Mutex(Plan())

    package init(_ storage: Storage = Storage()) { self.storage = storage }

    // MARK: - What a test says

    /// The next appends fail so, each by one; those after them succeed.
    /// - Parameter good: how many succeed before them.
    package func failAppends(_ faults: Fault..., after good: Int = 0) {
        plan.withLock { plan in
            plan.faults += faults
            plan.good = good
        }
    }

    /// Takes back the faults that no append has met.
    package func forgetFaults() { plan.withLock { $0.faults = [] } }

    /// The next redactions throw, and change nothing.
    package func failRedactions(_ count: Int) {
        plan.withLock { $0.redactionFailures = count }
    }

    /// A block cannot be redacted, because its place is damaged; `nil`: it can again.
    /// - Parameter looks: how often it looks as if it were not.
    package func damage(_ number: BlockNumber, after looks: Int? = 0) {
        plan.withLock { $0.damaged[number] = looks }
    }

    /// These blocks, and no others, cannot be read.
    package func makeUnreadable(_ numbers: Set<BlockNumber>) { plan.withLock { $0.unreadable = numbers } }

    private func damageFault(_ number: BlockNumber) -> LogError? {
        plan.withLock { plan in
            guard let looks = plan.damaged[number] else { return nil }
            if looks > 0 { plan.damaged[number] = looks - 1 }
            return looks > 0 ? nil : LogError(.corrupt, "block \(number): the test has damaged it")
        }
    }

    /// The next calls of `settle`, with which a lead begins, throw these before they do anything.
    package func failLeads(_ errors: LogError...) { plan.withLock { $0.leadFailures += errors } }

    /// Appends that begin from now on wait until ``release()``.
    package func hold() { plan.withLock { $0.isHeld = true } }
    package func release() { plan.withLock { $0.isHeld = false } }

    /// How many appends were begun, those of `lead` included; how many of them wait.
    package var appends: Int { plan.withLock { $0.appends } }
    package var waiting: Int { plan.withLock { $0.waiting } }
    /// How often the log was settled, as before each lead, or tried to be.
    package var leads: Int { plan.withLock { $0.leads } }

    /// How often blocks were read.
    package var reads: Int { plan.withLock { $0.reads } }

    package var blocks: [SealedBlock] { storage.blocks }

    // MARK: - The log

    package func settle() throws(LogError) {
        let failure = plan.withLock { plan -> LogError? in
            plan.leads += 1
            if plan.leadFailures.isEmpty { return nil }
            plan.mustSettle = true
            return plan.leadFailures.removeFirst()
        }
        if let failure { throw failure }
        storage.state.withLock { state in
            if let block = state.inDoubt { state.blocks.append(block) }
            state.inDoubt = nil
        }
        plan.withLock { $0.mustSettle = false }
    }

    package func append(_ block: SealedBlock) throws(LogError) {
        plan.withLock { plan in
            plan.appends += 1
            plan.waiting += 1
        }
        while plan.withLock({ $0.isHeld }) { pauseAMillisecond() }
        let (mustSettle, fault) = plan.withLock { plan -> (Bool, Fault?) in
            plan.waiting -= 1
            defer { plan.mustSettle = true }
            if plan.mustSettle || plan.faults.isEmpty { return (plan.mustSettle, nil) }
            if plan.good > 0 {
                plan.good -= 1
                return (false, nil)
            }
            return (false, plan.faults.removeFirst())
        }
        if mustSettle { throw LogError(.notAppended, "block \(block.number): the log was not settled") }
        try storage.state.withLock { (state) throws(LogError) in
            if state.isFenced { throw LogError(.superseded, "another leads") }
            let last = state.blocks.last
            guard block.number > last?.number ?? 0 else {
                throw LogError(.superseded, "block \(block.number) is taken")
            }
            guard block.number == (last?.number ?? 0) + 1 else {
                throw LogError(.notAppended, "block \(block.number) does not follow block \(last?.number ?? 0)")
            }
            if let last, block.previous != last.hash {
                throw LogError(.superseded, "block \(block.number) continues another block")
            }
            switch fault {
            case nil: state.blocks.append(block)
            case .notAppended: throw LogError(.notAppended, "the test's disk is full")
            case .unknown(let isThere):
                state.inDoubt = isThere ? block : nil
                throw LogError(.unknown, "the test's disk does not answer")
            case .superseded(let others):
                state.blocks += others
                state.isFenced = others.isEmpty
                throw LogError(.superseded, "another writer's block \(block.number) stands there")
            }
        }
        plan.withLock { $0.mustSettle = false }
    }

    package func read(after number: BlockNumber, bytesMax: Int) throws(LogError) -> [SealedBlock] {
        let unreadable = plan.withLock { plan in
            plan.reads += 1
            return plan.unreadable
        }
        let blocks = storage.state.withLock { state in
            var bytes = 0
            return Array(
                state.blocks.dropFirst(Int(clamping: max(0, number))).prefix { block in
                    defer { bytes += block.byteCount }
                    return bytes == 0 && block.number == number + 1 || bytes + block.byteCount <= bytesMax
                })
        }
        if let damaged = blocks.first(where: { unreadable.contains($0.number) }) {
            throw LogError(.corrupt, "block \(damaged.number): the test has made it unreadable")
        }
        return blocks
    }

    package func redact(_ number: BlockNumber, _ redactable: [UInt8]) throws(LogError) {
        if let error = damageFault(number) { throw error }
        let (mustSettle, fails) = plan.withLock { plan in
            let (mustSettle, fails) = (plan.mustSettle, plan.redactionFailures > 0)
            if fails { (plan.redactionFailures, plan.mustSettle) = (plan.redactionFailures - 1, true) }
            return (mustSettle, fails)
        }
        if mustSettle { throw LogError(.notAppended, "block \(number) was not redacted: the log was not settled") }
        if fails { throw LogError(.unknown, "the test's disk does not overwrite") }
        try storage.state.withLock { (state) throws(LogError) in
            guard number > 0, number <= state.blocks.count else {
                throw LogError(.notAppended, "there is no block \(number) to redact")
            }
            guard state.blocks[Int(number) - 1].redactable.count == redactable.count else {
                throw LogError(.notAppended, "block \(number)'s redactable part has another count of bytes")
            }
            state.blocks[Int(number) - 1].redactable = redactable
        }
    }

    package func checkRedactable(_ number: BlockNumber) throws(LogError) {
        if let error = damageFault(number) { throw error }
    }

    package func close() {}
}
