import AppStore
import Ledger
import LedgerEngine
import LedgerMetrics
import LedgerWire
import NIOConcurrencyHelpers
import NIOCore
import Synchronization

/// What an operator sees of the service: its metrics, and whether it is ready. All of it may block: it is asked on
/// threads that may wait, and by few at the same time.
final class Watch: Sendable {
    /// What the tables of a ledger say, and until when that is told again.
    private struct Known {
        var figures: ProjectedFigures?
        /// In milliseconds since the UNIX epoch.
        var time: Int64
        var until: NIODeadline
    }

    private let ledgers: ServedLedgers
    private let limits: ServerLimits
    private let requests: RequestFigures.Table
    private let connections: ConnectionRegistry
    private let notices: NoticeLog
    private let certificates: ServerCertificates?
    private let measureTraces: (@Sendable (inout Exposition) -> Void)?
    private let start = wallClock()
    private let isShuttingDown = Atomic(false)
    private let readiness = NIOLockedValueBox<(known: Readiness, until: NIODeadline)?>(nil)
    /// By place; held while they are read, so that one reads at a time.
    private let tables = NIOLockedValueBox<[Int: Known]>([:])
    /// Connections that are watching.
    private let places: NIOLockedValueBox<WatchPlaces>

    init(
        _ ledgers: ServedLedgers, limits: ServerLimits, requests: RequestFigures.Table,
        connections: ConnectionRegistry, notices: NoticeLog, certificates: ServerCertificates?,
        measureTraces: (@Sendable (inout Exposition) -> Void)? = nil
    ) {
        self.ledgers = ledgers
        self.limits = limits
        places = NIOLockedValueBox(WatchPlaces(max: limits.watchersMax))
        self.requests = requests
        self.connections = connections
        self.notices = notices
        self.certificates = certificates
        self.measureTraces = measureTraces
    }

    // MARK: Who watches

    /// Takes a connection in until its channel closes.
    /// - Returns: under what it has its place; `nil` where there is none for it.
    func admit(_ channel: any Channel) -> WatchPlaces.ID? {
        let peer = PeerAddress(channel.remoteAddress)
        let taken = places.withLockedValue { $0.take(for: peer) { channel.close(promise: nil) } }
        guard let taken else { return nil }
        taken.putOut?()
        channel.closeFuture.whenComplete { _ in self.places.withLockedValue { $0.leave(taken.id) } }
        return taken.id
    }

    /// A connection has asked for a page, and is not put out for another.
    func noteRequest(of place: WatchPlaces.ID) { places.withLockedValue { $0.noteRequest(of: place) } }

    /// From now on the service is not ready.
    func beginShutdown() {
        isShuttingDown.store(true, ordering: .relaxed)
        readiness.withLockedValue { $0 = nil }
    }

    // MARK: Health

    /// Whoever asks more often is told the same for a while.
    func currentReadiness() -> Readiness {
        readiness.withLockedValue { state in
            if let state, state.until > .now() { return state.known }
            let ledgers = ledgers.members.map { $0.reasons(limits, disk: $0.folder.flatMap { DiskRoom(at: $0) }) }
            let known = Readiness(ledgers: ledgers, isShuttingDown: isShuttingDown.load(ordering: .relaxed))
            state = (known, .now() + .milliseconds(limits.readinessMilliseconds))
            return known
        }
    }

    // MARK: Metrics

    func exposition() -> Exposition {
        var text = Exposition()
        addProcess(to: &text)
        addRequests(to: &text)
        for place in ledgers.members.indices { addLedger(at: place, to: &text) }
        return text
    }

    private func addProcess(to text: inout Exposition) {
        let use = ProcessUse()
        text.add(.build, .count(1), [Label("version", ledgers.version)])
        text.add(.start, .seconds(milliseconds: start))
        text.add(.processor, .real(use.processorSeconds))
        if let resident = use.residentBytes { text.add(.memory, .count(resident)) }
        text.add(.connections, .count(connections.count))
        text.add(.connectionsMax, .count(limits.connectionsMax))
        text.add(.received, .count(requests.read))
        text.add(.sent, .count(requests.written))
        for notice in notices.totals { text.add(.notices, .count(notice.count), [Label("notice", notice.name)]) }
        if let certificates { text.add(.certificate, .count(certificates.secondsLeft)) }
        measureTraces?(&text)
    }

    private func addRequests(to text: inout Exposition) {
        for reading in requests.readings {
            let labels = (reading.place.map(labels) ?? []) + [Label("method", reading.method ?? "")]
            for (outcome, count) in reading.outcomes {
                text.add(.requests, .count(count), labels + [Label("outcome", outcome.name)])
            }
            text.add(.requestSeconds, reading.duration, labels)
        }
    }

    /// Those of a ledger: none where it is the only one.
    private func labels(_ place: Int) -> [Label] {
        ledgers.members[place].name.map { [Label("ledger", $0.text)] } ?? []
    }

    private func addLedger(at place: Int, to text: inout Exposition) {
        let (member, labels) = (ledgers.members[place], labels(place))
        let disk = member.folder.flatMap { DiskRoom(at: $0) }
        let reasons = member.reasons(limits, disk: disk)
        text.add(.ready, .flag(reasons.isEmpty), labels)
        for reason in Readiness.Reason.allCases where reason != .shuttingDown {
            text.add(.unready, .flag(reasons.contains(reason)), labels + [Label("reason", reason.rawValue)])
        }
        if let disk {
            text.add(.diskFree, .count(disk.free), labels)
            text.add(.diskSize, .count(disk.size), labels)
        }
        add(member.ledger.figures, of: member.ledger, to: &text, labels)
        let standing = member.ledger.standing
        if case .open = standing.state {
            text.add(.leads, .flag(standing.leads), labels)
            text.add(.block, .count(standing.block), labels)
            text.add(.unprojectedBlocks, .count(max(0, standing.block - standing.projected)), labels)
            text.add(.unprojectedBytes, .count(standing.unprojectedBytes), labels)
            let known = known(of: place)
            if let figures = known.figures { add(figures, asOf: known.time, to: &text, labels) }
        }
        addReplication(member.info(), to: &text, labels)
        member.measure(&text, labels)
    }

    private func add(
        _ figures: EngineFigures, of ledger: RunningLedger, to text: inout Exposition, _ labels: [Label]
    ) {
        text.add(.waiting, .count(ledger.waitingOperations), labels)
        text.add(.late, .count(figures.lateOperations.total), labels)
        text.add(.batch, figures.batchOperations.reading, labels)
        text.add(.decision, figures.decision.reading, labels)
        text.add(.append, figures.append.reading, labels)
        text.add(.commit, figures.commit.reading, labels)
        text.add(.appended, .count(figures.appendedBytes.total), labels)
        text.add(.players, .count(figures.players.value), labels)
        text.add(.walletsNeeded, .count(figures.walletsNeeded.total), labels)
        text.add(.playersLoaded, .count(figures.playersLoaded.total), labels)
        text.add(.clock, .count(figures.isClockHeldBack.value), labels)
        for event in figures.toldEvents {
            text.add(.events, .count(event.count), labels + [Label("event", event.name)])
        }
        let judged = ledger.signatureCounts
        text.add(.signatures, .count(judged.byTable), labels + [Label("judge", "table")])
        text.add(.signatures, .count(judged.byOpenSSL), labels + [Label("judge", "openssl")])
        for (reason, count) in figures.refusedSignatures {
            text.add(.refusedSignatures, .count(count), labels + [Label("reason", reason.rawValue)])
        }
    }

    private func add(_ figures: ProjectedFigures, asOf time: Int64, to text: inout Exposition, _ labels: [Label]) {
        for (index, code) in figures.currencies.enumerated() {
            let currency = CurrencyID(index + 1)
            let balances = [
                ("wallet", -figures.totals[currency, .wallet].balance),
                ("held", -figures.totals[currency, .held].balance),
                ("receivable", figures.totals[currency, .receivable].balance),
            ]
            for (account, balance) in balances {
                text.add(
                    .units, .whole(balance), labels + [Label("currency", code.text), Label("account", account)])
            }
        }
        text.add(.accounts, .count(figures.position.account), labels)
        text.add(.entries, .count(figures.position.entry), labels)
        text.add(.openHolds, .count(figures.openHolds), labels)
        text.add(.unassigned, .count(figures.unassignedPurchases), labels)
        text.add(.expiryLag, .seconds(milliseconds: figures.nextExpiry.map { max(0, time - $0) } ?? 0), labels)
        if let newest = figures.newestNotification {
            text.add(.notificationAge, .seconds(milliseconds: max(0, wallClock() - newest)), labels)
        }
        text.add(.walPages, .count(figures.walPages), labels)
        text.add(.checkpoints, .count(figures.checkpoints), labels)
    }

    private func addReplication(_ info: LedgerInfo, to text: inout Exposition, _ labels: [Label]) {
        if let standby = info.standby {
            text.add(.follows, .flag(standby.state == .following), labels)
            if let blocks = standby.blocksBehind { text.add(.behindBlocks, .count(blocks), labels) }
            if let time = standby.millisecondsBehind {
                text.add(.behindSeconds, .seconds(milliseconds: time), labels)
            }
        }
        guard let replication = info.replication else { return }
        text.add(.standbysRequired, .count(replication.required), labels)
        for standby in replication.standbys {
            let own = labels + [Label("standby", standby.name.text)]
            text.add(.standbyConnected, .flag(standby.isConnected), own)
            text.add(.standbyBehind, .count(max(0, replication.block - standby.block)), own)
        }
    }

    /// What was read of the tables not long ago.
    private func known(of place: Int) -> Known {
        tables.withLockedValue { tables in
            if let known = tables[place], known.until > .now() { return known }
            let time = wallClock()
            let end = NIODeadline.now() + .milliseconds(limits.tableFiguresMillisecondsMax)
            let condition = ReadCondition { .now() < end }
            let figures = ReadCondition.$current.withValue(condition) {
                // Why they cannot be read, the ledger says itself.
                try? ledgers.members[place].ledger.projectedFigures()
            }
            let known = Known(
                figures: figures, time: time, until: .now() + .milliseconds(limits.tableFiguresMilliseconds))
            tables[place] = known
            return known
        }
    }
}
