/// What a run sends, and how.
package struct LoadPlan: Sendable {
    package enum Workload: String, CaseIterable, Sendable {
        case credits, spends, mixed
    }

    package var workload: Workload
    package var connections: Int
    /// Requests without a reply, at most, over all connections.
    package var inFlight: Int
    /// Requests of one line.
    package var batch: Int
    /// Measured requests; `nil` where the duration ends the run.
    package var count: Int?
    package var durationSeconds: Double?
    package var wallets: Int
    /// The number of the first of them.
    package var firstWallet: Int
    package var keys: KeyMaker.Order
    /// Requests a second; as fast as possible where it is `nil`.
    package var rate: Double?
    /// Requests sent and answered before the clock starts.
    package var warmup: Int
    package var seed: UInt64

    package init(
        workload: Workload, connections: Int, inFlight: Int, batch: Int, count: Int?, durationSeconds: Double?,
        wallets: Int, firstWallet: Int, keys: KeyMaker.Order, rate: Double?, warmup: Int, seed: UInt64
    ) {
        self.workload = workload
        self.connections = connections
        self.inFlight = inFlight
        self.batch = batch
        self.count = count
        self.durationSeconds = durationSeconds
        self.wallets = wallets
        self.firstWallet = firstWallet
        self.keys = keys
        self.rate = rate
        self.warmup = warmup
        self.seed = seed
    }

    /// Lines that each connection may have without a reply.
    var linesInFlight: [Int] {
        let lines = inFlight / batch
        return (0..<connections).map { lines / connections + ($0 < lines % connections ? 1 : 0) }
    }

    /// Purchases among the first `count` requests.
    func purchases(in count: Int) -> Int {
        switch workload {
        case .credits: count
        case .spends: 0
        case .mixed: (count + 1) / 2
        }
    }

    /// The most requests that a run of this duration is prepared for: twice what the machine's cores could verify,
    /// which is beyond any server's reach, as each purchase has to be signed before.
    func requestsPrepared(verificationsPerSecond: Double) -> Int {
        if let count { return count }
        let seconds = durationSeconds ?? 0
        switch workload {
        case .spends: return LoadLimits.countMax
        case .credits, .mixed:
            let perSecond = rate ?? 2 * verificationsPerSecond
            return min(LoadLimits.countMax, Int((seconds * perSecond).rounded(.up)))
        }
    }
}
