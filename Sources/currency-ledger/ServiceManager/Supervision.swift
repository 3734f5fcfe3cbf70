import LedgerEngine
import LineServer
import ServiceLifecycle

/// Keeps the service manager informed, as long as the service runs.
struct Supervision: Service {
    let manager: ServiceManager
    let service: LedgerService

    /// How long one step of opening a ledger may take, such as a block of a year's log on a slow disk. Where nothing
    /// more comes for longer than that and the unit's own time, the start has failed.
    private static let openingStepSeconds: Int64 = 300
    /// From one look to the next: soon while a ledger is being opened, for somebody waits for its end; then as often as
    /// a person looks.
    private static let openingLook = Duration.milliseconds(100)
    private static let statusLook = Duration.seconds(10)

    func run() async throws {
        let watchdog = Watchdog {
            service.ask(.loops, $0)
        } others: { answered in
            Task { answered() }
            return service.ask(.ledgers, answered) + 1
        }
        await withTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await tell() }
            if let time = manager.watchdogMicroseconds { watchdog.start(microseconds: time, works: manager.working) }
            // It throws where the task is cancelled, which ends the service too.
            try? await gracefulShutdown()
            tasks.cancelAll()
        }
        watchdog.stop()
        manager.stopping()
        manager.status("Stopping: what was accepted is being answered")
    }

    /// Tells how the service is, and once that it is ready: it listens, and no ledger is being opened any more.
    private func tell() async {
        guard let addresses = try? await service.lines.boundAddresses else { return }
        let place = addresses.map(\.description).joined(separator: ", ")
        var told = ""
        var isReady = false
        while !Task.isCancelled {
            let isOpening = service.ledgers.members.contains(where: \.isOpening)
            let words = service.ledgers.members.map(\.statusWords).joined(separator: "; ")
            if !isOpening && !isReady {
                manager.ready()
                isReady = true
            }
            let status = isOpening ? words : "Serving \(place): \(words); connections: \(service.lines.connectionCount)"
            if status != told {
                manager.status(status)
                if isOpening { manager.needsMore(seconds: Self.openingStepSeconds) }
                told = status
            }
            try? await Task.sleep(for: isOpening ? Self.openingLook : Self.statusLook)
        }
    }
}

extension ServedLedgers.Member {
    var isOpening: Bool { if case .opening = ledger.standing.state { true } else { false } }

    /// How the ledger is, for a person.
    var statusWords: String {
        let standing = ledger.standing
        let words: String
        switch standing.state {
        case .opening(let progress): words = progress
        case .failed(let reason): words = "cannot be opened: \(reason)"
        case .open:
            words =
                if let failure = standing.logFailure {
                    "nothing can be made durable: \(failure)"
                } else if let failure = standing.projectionFailure {
                    "the tables cannot be written: \(failure)"
                } else if standing.lacksStandbys {
                    "block \(standing.block), and too few standbys have it"
                } else {
                    "\(standing.leads ? "block" : "follows, has block") \(standing.block)"
                }
        }
        return (name.map { "\($0.text): " } ?? "") + words
    }
}
