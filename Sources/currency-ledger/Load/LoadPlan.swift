import ArgumentParser

/// What a run sends, and how.
struct LoadPlan: Sendable {
    enum Workload: String, CaseIterable, ExpressibleByArgument {
        case credits, spends, mixed
    }

    var workload: Workload
    var connections: Int
    /// Requests without a reply, at most, over all connections.
    var inFlight: Int
    /// Requests of one line.
    var batch: Int
    /// Measured requests; `nil` where the duration ends the run.
    var count: Int?
    var durationSeconds: Double?
    var wallets: Int
    /// The number of the first of them.
    var firstWallet: Int
    var keys: KeyMaker.Order
    /// Requests a second; as fast as possible where it is `nil`.
    var rate: Double?
    /// Requests sent and answered before the clock starts.
    var warmup: Int
    var seed: UInt64

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
