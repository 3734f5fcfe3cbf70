import AppStore
import FileLog
import Foundation
import Ledger
import LedgerClient
import LedgerWire
import Synchronization

/// One run: what is prepared, the load itself, and what is measured around it.
struct LoadRun {
    let options: LoadOptions
    let plan: LoadPlan
    private var machine = MachineLimits()
    private let interruption = Interruption()

    init(options: LoadOptions, plan: LoadPlan) {
        self.options = options
        self.plan = plan
    }

    /// The service under load.
    private struct Target {
        var address: ServerAddress
        var token: String?
        var chain: SandboxChain?
        var pid: Int32?
        /// The ledger's folder.
        var path: String?
        /// Where this run has started it.
        var own: LoadServer?
    }

    mutating func measure() async throws -> LoadSummary {
        let target = try await target()
        do {
            let summary = try await measure(target)
            target.own?.discard()
            return summary
        } catch {
            target.own?.discard()
            throw error
        }
    }

    private func target() async throws -> Target {
        if let server = options.server {
            let token = options.token ?? ProcessInfo.processInfo.environment["LEDGER_TOKEN"]
            let address = try ServerAddress(server)
            try await check(address, token)
            return Target(
                address: address, token: token, chain: try options.chain.map { try ChainFolder($0).read() },
                pid: options.pid, path: options.path)
        }
        let app = LoadServer.App(bundleID: options.bundleId, product: options.product, currency: options.currency)
        let own = try LoadServer(app, path: options.path, keep: options.keep)
        Console.error("a server listens on \(own.address); its ledger is \(own.path)")
        return Target(address: own.address, chain: own.chain, pid: own.pid, path: own.path, own: own)
    }

    /// Whether the service at `--server` is one for this load.
    private func check(_ address: ServerAddress, _ token: String?) async throws {
        let info: ServerInfo
        do {
            let client = try await LedgerClient.connect(to: address, token: token)
            info = try await client.info()
            try await client.close()
        } catch {
            throw Failure("--server: no service at \(address): \(error)")
        }
        guard info.bundleID == options.bundleId else {
            throw Failure("--bundle-id is \(options.bundleId), and the service at \(address) credits \(info.bundleID)")
        }
        guard info.currencies.contains(where: { $0.text == options.currency }) else {
            throw Failure("--currency: the service at \(address) knows no \(options.currency)")
        }
        guard plan.workload == .spends || info.environment == AppStore.Environment.sandbox.rawValue else {
            throw Failure("--server: the service at \(address) is for \(info.environment), not for Sandbox")
        }
    }

    private mutating func measure(_ target: Target) async throws -> LoadSummary {
        let probe = target.pid.map { ServerProbe(pid: $0) }
        // Whether it can be read at all is said before anything is done.
        _ = try probe?.counters()
        let folder = target.path.map { URL(fileURLWithPath: $0).deletingLastPathComponent().path }
        Console.error("measuring the machine")
        try machine.measure(folder: folder)
        let signing = LoadGenerator.now()
        let requests = plan.requestsPrepared(
            verificationsPerSecond: machine.verificationsPerSecondPerCore * Double(machine.cores))
        let purchases = try await sign(plan.purchases(in: plan.warmup + requests), target)
        let signingSeconds = Double(LoadGenerator.now() - signing) / 1e9
        let generator = try generator(target, purchases)
        try fillWallets(generator)
        let sizeBefore = ledgerBytes(target)
        try warmUp(generator)
        var summary = try load(generator, requests: requests, probe)
        try target.own?.stop()
        if let path = target.path, let sizeBefore, let sizeAfter = ledgerBytes(target) {
            summary.ledger = .init(
                path: path, bytesBefore: sizeBefore, bytesAfter: sizeAfter,
                requests: plan.warmup + summary.result.requests)
        }
        if purchases != nil {
            summary.purchasesSigned = plan.purchases(in: plan.warmup + requests)
            summary.signingSeconds = signingSeconds
        }
        try machine.measure(folder: folder)
        summary.machine = machine
        return summary
    }

    /// The measured phase, with the processes' counters before and after it.
    private func load(_ generator: LoadGenerator, requests: Int, _ probe: ServerProbe?) throws -> LoadSummary {
        Console.error("measuring the service")
        let before = try probe?.counters()
        let cpu = OwnProcess.cpuSeconds()
        let result = try generator.run(
            LoadPhase(
                kind: .workload(plan.workload), requests: plan.warmup..<plan.warmup + requests, batch: plan.batch,
                durationSeconds: plan.durationSeconds, rate: plan.rate, progress: ""))
        let ownCPU = OwnProcess.cpuSeconds() - cpu
        guard !result.wasInterrupted else { throw Failure("interrupted after \(result.requests) requests") }
        let credits = plan.purchases(in: plan.warmup + result.requests) - plan.purchases(in: plan.warmup)
        var summary = LoadSummary(
            plan: plan, result: result, credits: credits, spends: result.requests - credits,
            generatorCPUSeconds: ownCPU, machine: machine)
        if let probe, let before {
            summary.server = .init(
                pid: probe.pid, before: before, after: try probe.counters(), memory: try probe.memory())
        }
        if plan.count == nil, plan.rate == nil, result.requests == requests {
            summary.remark = "the run ended before --duration: all purchases that were signed for it were sent"
        }
        return summary
    }

    private func sign(_ count: Int, _ target: Target) async throws -> SignedPurchases? {
        guard count > 0, let chain = target.chain else { return nil }
        guard count <= LoadLimits.purchasesMax else {
            throw Failure(
                "\(plan.count == nil ? "--duration" : "--count") takes \(count) signed purchases; "
                    + "there is memory for \(LoadLimits.purchasesMax)")
        }
        Console.error("signing \(count) purchases")
        let interruption = interruption
        let now = Clock.now()
        // Eighteen digits, apart from those of every run that began a second before or after.
        let template = SignedPurchases.Template(
            bundleID: options.bundleId, product: options.product, firstTransaction: now * 100_000, now: now)
        let purchases = try await SignedPurchases.sign(
            count, template, by: chain, cores: machine.cores, isInterrupted: { interruption.hasCome })
        let line = plan.batch * (purchases.header.count + purchases.stride + LoadRun.envelopeBytesMax)
        guard line <= WireLimits.lineBytesMax else {
            throw Failure(
                "--batch: \(plan.batch) credits make a line of \(line) bytes, and the service takes \(WireLimits.lineBytesMax)"
            )
        }
        return purchases
    }

    /// What stands around the signed transaction in a credit, at most.
    private static let envelopeBytesMax = 160

    private func generator(_ target: Target, _ purchases: SignedPurchases?) throws -> LoadGenerator {
        guard let currency = CurrencyCode(options.currency), let granted = Amount(LoadLimits.granted),
            let spent = Amount(1)
        else { preconditionFailure("the options were validated") }
        // A ledger that was loaded before remembers the keys.
        let isFresh = options.server == nil && options.path == nil
        let seed = isFresh ? plan.seed : plan.seed ^ UInt64(bitPattern: Clock.now()) << 20
        let source = RequestSource(
            currency: currency, granted: granted, spent: spent, purchases: purchases, wallets: plan.wallets,
            firstWallet: plan.firstWallet, keys: KeyMaker(order: plan.keys, seed: seed))
        let interruption = interruption
        return try LoadGenerator(
            target.address, token: target.token, linesInFlight: plan.linesInFlight, source: source,
            isInterrupted: { interruption.hasCome })
    }

    private func fillWallets(_ generator: LoadGenerator) throws {
        guard plan.workload != .credits else { return }
        Console.error("filling \(plan.wallets) wallets")
        try passed(
            generator.run(LoadPhase(kind: .grants, requests: 0..<plan.wallets, batch: LoadLimits.grantBatch)),
            "filling the wallets")
    }

    private func warmUp(_ generator: LoadGenerator) throws {
        guard plan.warmup > 0 else { return }
        try passed(
            generator.run(
                LoadPhase(kind: .workload(plan.workload), requests: 0..<plan.warmup, batch: plan.batch)),
            "warming up")
    }

    /// What the files of the ledger hold.
    private func ledgerBytes(_ target: Target) -> Int64? { target.path.map { LedgerFolder($0).byteCount } }

    private func passed(_ result: PhaseResult, _ what: String) throws {
        if result.wasInterrupted { throw Failure("interrupted while \(what)") }
        guard result.errors == 0 else {
            throw Failure("\(what): there were \(result.errors) errors:\n\(result.firstErrors.joined(separator: "\n"))")
        }
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
