import AppStore
import ArgumentParser
import Foundation
import LedgerClient
import LedgerWire
import LoadGenerator
import Synchronization

struct Load: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Loads a service over TCP and measures it, beside what the machine itself can do.",
        discussion: """
            Without --server it starts one, with a ledger of its own that is deleted afterwards. Purchases are signed \
            and wallets filled before the clock starts. With --rate requests are sent when they are due, and each \
            latency is counted from then, so that a stall is seen by every request that it delays.

            The exit status is 1 where any request was answered with an error.
            """)

    @OptionGroup var options: LoadOptions

    func validate() throws { _ = try options.plan() }

    func run() async throws {
        let plan = try options.plan()
        guard let currency = CurrencyCode(options.currency) else { preconditionFailure("the options were validated") }
        let goods = LoadGoods(bundleID: options.bundleId, product: options.product, currency: currency)
        var own: LoadServer?
        defer { own?.discard() }
        let target: LoadTarget
        if options.server != nil {
            target = try await running(plan)
        } else {
            let app = LoadServer.App(bundleID: goods.bundleID, product: goods.product, currency: currency.text)
            let server = try LoadServer(app, path: options.path, keep: options.keep)
            own = server
            Console.error("a server listens on \(server.address); its ledger is \(server.path)")
            target = LoadTarget(
                address: server.address, chain: server.chain, pid: server.pid, path: server.path, stop: server.stop)
        }
        let interruption = Interruption()
        var run = LoadRun(
            plan, goods, on: target, isFresh: options.server == nil && options.path == nil,
            isInterrupted: { interruption.hasCome }, tell: Console.error)
        try report(try await run.measure())
    }

    private func report(_ summary: LoadSummary) throws {
        Console.error("")
        Console.print(options.json ? String(decoding: summary.json, as: UTF8.self) : summary.text)
        guard summary.result.errors == 0 else {
            for error in summary.result.firstErrors { Console.error(error) }
            throw Failure("\(summary.result.errors) of \(summary.result.requests) requests were answered with an error")
        }
    }

    /// The service at `--server`, which must be one for this load.
    private func running(_ plan: LoadPlan) async throws -> LoadTarget {
        let token = options.token ?? ProcessInfo.processInfo.environment["LEDGER_TOKEN"]
        let address = try ServerAddress(options.server ?? "")
        let info: ServerInfo
        do {
            let client = try await LedgerClient.connect(to: address, token: token)
            info = try await client.info()
            try await client.close()
        } catch {
            throw Failure("--server: no service at \(address): \(error)")
        }
        guard info.ledger.bundleID == options.bundleId else {
            throw Failure(
                "--bundle-id is \(options.bundleId), and the service at \(address) credits \(info.ledger.bundleID)")
        }
        guard info.ledger.currencies.contains(where: { $0.text == options.currency }) else {
            throw Failure("--currency: the service at \(address) knows no \(options.currency)")
        }
        guard plan.workload == .spends || info.ledger.environment == AppStore.Environment.sandbox.rawValue else {
            throw Failure("--server: the service at \(address) is for \(info.ledger.environment), not for Sandbox")
        }
        return LoadTarget(
            address: address, token: token, chain: try options.chain.map { try ChainFolder($0).read() },
            pid: options.pid, path: options.path)
    }
}

/// SIGINT and SIGTERM end the run, and the server that it started.
///
/// `@unchecked Sendable`: the sources are only held, and are not touched after they were made.
private final class Interruption: @unchecked Sendable {
    private let flag = Flag()
    private let sources: [any DispatchSourceSignal]

    private final class Flag: Sendable {
        let isSet = Atomic<Bool>(false)
    }

    init() {
        let flag = flag
        sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { flag.isSet.store(true, ordering: .relaxed) }
            source.resume()
            return source
        }
    }

    var hasCome: Bool { flag.isSet.load(ordering: .relaxed) }
}
