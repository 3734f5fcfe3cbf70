import LedgerEngine
import NIOCore

/// Shares the time of one event loop between tenants: what their clients have sent is looked at in turns.
///
/// A line is cheap to send, and may be dear to read. So a tenant whose clients have kept the loop for some time waits
/// for as long as the others need: by what they used lately, and by no more than their shares. Of two tenants of one
/// share that both send without end each has half of the loop's time; who is alone, or beside others who send little,
/// waits for just so long that the loop can see whether anybody else has come.
///
/// What is sent in vain (it is no request, one that its client may not make, or one of a batch for which there is no
/// room) costs a wait of several times what it took, where anybody else is active.
///
/// It is touched on its event loop only, which `schedule` and `now` belong to.
final class LoopShares: @unchecked Sendable {
    /// What time was spent on: lines, requests within a batch's line, and answers of the ledger.
    struct Yield {
        var lines = 0
        /// Those of them, or at least one, that were sent in vain.
        var inVain = 0
    }

    /// Something that a client has sent.
    private struct Turn {
        let bytes: Int
        let work: () -> Yield
        let then: () -> Void
    }

    /// Who sends. All that have not authenticated are one.
    private struct Use {
        /// Kept, so that nobody else is known by its identity.
        let tenant: Tenant?
        /// What it has used since it last waited, and what of that in vain.
        var used = TimeAmount.zero
        var inVain = TimeAmount.zero
        var lastUse: NIODeadline
        var waitsUntil = NIODeadline.distantPast
        var waiting = CircularBuffer<Turn>()
        /// Whether what waits is resumed at a time that is set: what a turn leads to may ask for the next one.
        var isScheduled = false
        /// What it used in the stretch of time that is not over, and in the one before.
        var stretch: (begin: NIODeadline, used: Int64, usedBefore: Int64)

        init(_ tenant: Tenant?, at time: NIODeadline) {
            self.tenant = tenant
            lastUse = time
            stretch = (time, 0, 0)
        }

        var share: Int { tenant?.share ?? 1 }

        mutating func note(_ time: TimeAmount, at end: NIODeadline, _ length: TimeAmount) {
            let passed = end - stretch.begin
            if passed >= length {
                let isNext = passed < length * 2
                stretch = (isNext ? stretch.begin + length : end, 0, isNext ? stretch.used : 0)
            }
            stretch.used += time.nanoseconds
            lastUse = end
        }

        /// Nanoseconds that it used in about the last stretch.
        func lately(at time: NIODeadline, _ length: TimeAmount) -> Int64 {
            let passed = (time - stretch.begin).nanoseconds
            let length = length.nanoseconds
            if passed >= 2 * length { return 0 }
            if passed >= length { return stretch.used * (2 * length - passed) / length }
            return stretch.used + stretch.usedBefore * (length - passed) / length
        }
    }

    private let limits: ServerLimits
    private let now: () -> NIODeadline
    private let schedule: (NIODeadline, @escaping () -> Void) -> Void
    private var uses: [ObjectIdentifier?: Use] = [:]

    /// - Parameter schedule: calls something at a time, not before.
    init(
        limits: ServerLimits, now: @escaping () -> NIODeadline,
        schedule: @escaping (NIODeadline, @escaping () -> Void) -> Void
    ) {
        self.limits = limits
        self.now = now
        self.schedule = schedule
    }

    /// Looks at what a client of `tenant` has sent when its turn comes: mostly at once.
    /// - Parameters:
    ///   - bytes: how much was read. That took time before.
    ///   - then: called behind it, and pays for itself.
    ///   - work: looks at it, and says what came of it.
    func run(
        for tenant: Tenant?, bytes: Int, then: @escaping () -> Void = {}, _ work: @escaping () -> Yield
    ) {
        let id = tenant.map { ObjectIdentifier($0) }
        let turn = Turn(bytes: bytes, work: work, then: then)
        guard let use = uses[id], !use.waiting.isEmpty || use.waitsUntil > now() else { return run(turn, of: tenant) }
        uses[id]?.waiting.append(turn)
        scheduleResume(id)
    }

    /// Has the next turn of a tenant come when it has waited, where none is to come already.
    private func scheduleResume(_ id: ObjectIdentifier?) {
        guard let use = uses[id], !use.isScheduled else { return }
        uses[id]?.isScheduled = true
        schedule(use.waitsUntil) { self.resume(id) }
    }

    /// Counts what was done for a client of `tenant` and could not wait. Of strangers, while one of them waits for a
    /// turn, it is paid behind that: newcomers, who come without end, do not put off whoever waits.
    func charge(_ tenant: Tenant?, since begin: NIODeadline, _ yield: Yield = Yield()) {
        charge(tenant, now() - begin, yield)
    }

    /// - Parameters:
    ///   - time: how long the loop was kept.
    ///   - bytes: how much was read. That took time before.
    func charge(_ tenant: Tenant?, _ time: TimeAmount, bytes: Int = 0, _ yield: Yield = Yield()) {
        note(cost(time, bytes), of: tenant, yield, isTurn: false)
    }

    private func cost(_ time: TimeAmount, _ bytes: Int) -> TimeAmount {
        time + .nanoseconds(Int64(bytes) * limits.readingNanosecondsPerKibibyte / 1_024)
    }

    private func resume(_ id: ObjectIdentifier?) {
        uses[id]?.isScheduled = false
        // It may have been charged for something meanwhile.
        if let waitsUntil = uses[id]?.waitsUntil, waitsUntil > now() { return scheduleResume(id) }
        guard let turn = uses[id]?.waiting.popFirst() else { return }
        run(turn, of: uses[id]?.tenant)
        if uses[id]?.waiting.isEmpty == false { scheduleResume(id) }
    }

    private func run(_ turn: Turn, of tenant: Tenant?) {
        let begin = now()
        let yield = turn.work()
        note(cost(now() - begin, turn.bytes), of: tenant, yield, isTurn: true)
        turn.then()
    }

    /// - Parameter isTurn: whether it was done in a turn that could be waited for.
    private func note(_ time: TimeAmount, of tenant: Tenant?, _ yield: Yield, isTurn: Bool) {
        let id = tenant.map { ObjectIdentifier($0) }
        let end = now()
        var use = uses.removeValue(forKey: id) ?? Use(tenant, at: end)
        use.note(time, at: end, activeTime)
        use.used = use.used + time
        if yield.inVain > 0 {
            let part = time.nanoseconds * Int64(yield.inVain) / Int64(max(yield.lines, yield.inVain))
            use.inVain = use.inVain + .nanoseconds(part)
        }
        let isPutOff = !isTurn && tenant == nil && !use.waiting.isEmpty
        if use.used.nanoseconds >= limits.loopTurnNanoseconds && !isPutOff {
            use.waitsUntil = max(use.waitsUntil, end) + .nanoseconds(pause(use, at: end))
            // Strangers come one after the other, and none pays for all before: their first pieces wait for no turn.
            if tenant == nil {
                use.waitsUntil = min(use.waitsUntil, end + .nanoseconds(limits.loopPauseNanosecondsMax))
            }
            use.used = .zero
            use.inVain = .zero
        }
        uses[id] = use
    }

    private var activeTime: TimeAmount { .milliseconds(limits.loopActiveMilliseconds) }

    /// Nanoseconds for which a tenant waits that has had its turn, beside all others.
    private func pause(_ use: Use, at time: NIODeadline) -> Int64 {
        let from = time - activeTime
        uses = uses.filter { $0.value.lastUse >= from || !$0.value.waiting.isEmpty || $0.value.waitsUntil > time }
        if uses.isEmpty { return limits.loopPauseNanosecondsMin }
        let (length, used) = (activeTime.nanoseconds, use.used.nanoseconds)
        let shares = uses.values.reduce(use.share) { $0 + $1.share }
        // What the others need of a stretch of time: what they had lately, or their part where something of them could
        // be looked at now.
        let needed = uses.values.reduce(Int64(0)) { sum, other in
            let part = length * Int64(other.share) / Int64(shares)
            let isReady = !other.waiting.isEmpty && other.waitsUntil <= time
            return sum + (isReady ? part : min(part, other.lately(at: time, activeTime)))
        }
        let fair = used * needed / max(length - needed, 1)
        let inVain = use.inVain.nanoseconds * (limits.loopVainFactor - 1)
        return min(max(fair + inVain, limits.loopPauseNanosecondsMin), limits.loopPauseNanosecondsMax)
    }
}
