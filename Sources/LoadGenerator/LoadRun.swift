package import AppStore
import Foundation
package import LedgerWire

/// The service under load.
package struct LoadTarget {
    package var address: ServerAddress
    package var token: String?
    /// The chain that signs purchases, which the service trusts; `nil` where none is bought.
    package var chain: SandboxChain?
    /// The service's process; `nil` where nothing is said of it.
    package var pid: Int32?
    /// The ledger's folder; `nil` where its size and its disk are not measured.
    package var path: String?
    /// Ends the service where this run has started it, before the size of its files is read.
    package var stop: () throws -> Void

    package init(
        address: ServerAddress, token: String? = nil, chain: SandboxChain? = nil, pid: Int32? = nil,
        path: String? = nil, stop: @escaping () throws -> Void = {}
    ) {
        self.address = address
        self.token = token
        self.chain = chain
        self.pid = pid
        self.path = path
        self.stop = stop
    }
}

/// What is bought and spent.
package struct LoadGoods: Sendable {
    package var bundleID: String
    package var product: String
    package var currency: CurrencyCode

    package init(bundleID: String, product: String, currency: CurrencyCode) {
        self.bundleID = bundleID
        self.product = product
        self.currency = currency
    }
}

/// One run: what is prepared, the load itself, and what is measured around it.
package struct LoadRun {
    private let plan: LoadPlan
    private let goods: LoadGoods
    private let target: LoadTarget
    private let isInterrupted: @Sendable () -> Bool
    private let tell: @Sendable (String) -> Void
    private let seed: UInt64
    private var machine = MachineLimits()

    /// - Parameters:
    ///   - isFresh: whether the ledger is new; one that was loaded before remembers the keys, so they are made from
    ///     another seed.
    ///   - isInterrupted: asked all the time; ends the run.
    ///   - tell: told how far it is.
    package init(
        _ plan: LoadPlan, _ goods: LoadGoods, on target: LoadTarget, isFresh: Bool,
        isInterrupted: @escaping @Sendable () -> Bool, tell: @escaping @Sendable (String) -> Void
    ) {
        self.plan = plan
        self.goods = goods
        self.target = target
        self.isInterrupted = isInterrupted
        self.tell = tell
        seed = isFresh ? plan.seed : plan.seed ^ UInt64(bitPattern: LoadClock.milliseconds()) << 20
    }

    /// - Throws: ``LoadError``, or what a system call or the signer says.
    package mutating func measure() async throws -> LoadSummary {
        let probe = target.pid.map { ServerProbe(pid: $0) }
        // Whether it can be read at all is said before anything is done.
        _ = try probe?.counters()
        let folder = target.path.map { URL(fileURLWithPath: $0).deletingLastPathComponent().path }
        tell("measuring the machine")
        try machine.measure(folder: folder)
        let signing = LoadClock.nanoseconds()
        let requests = plan.requestsPrepared(
            verificationsPerSecond: machine.verificationsPerSecondPerCore * Double(machine.cores))
        let purchases = try await sign(plan.purchases(in: plan.warmup + requests))
        let signingSeconds = Double(LoadClock.nanoseconds() - signing) / 1e9
        let generator = try generator(purchases)
        try fillWallets(generator)
        let sizeBefore = ledgerBytes()
        try warmUp(generator)
        var summary = try load(generator, requests: requests, probe)
        try target.stop()
        if let path = target.path, let sizeBefore, let sizeAfter = ledgerBytes() {
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
    private func load(_ generator: LoadSender, requests: Int, _ probe: ServerProbe?) throws -> LoadSummary {
        tell("measuring the service")
        let before = try probe?.counters()
        let cpu = OwnProcess.cpuSeconds()
        let result = try generator.run(
            LoadPhase(
                kind: .workload(plan.workload), requests: plan.warmup..<plan.warmup + requests, batch: plan.batch,
                durationSeconds: plan.durationSeconds, rate: plan.rate, progress: ""))
        let ownCPU = OwnProcess.cpuSeconds() - cpu
        guard !result.wasInterrupted else {
            throw LoadError(.interrupted, "interrupted after \(result.requests) requests")
        }
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

    private func sign(_ count: Int) async throws -> SignedPurchases? {
        guard count > 0, let chain = target.chain else { return nil }
        guard count <= LoadLimits.purchasesMax else {
            throw LoadError(
                .plan,
                "\(plan.count == nil ? "--duration" : "--count") takes \(count) signed purchases; "
                    + "there is memory for \(LoadLimits.purchasesMax)")
        }
        tell("signing \(count) purchases")
        let now = LoadClock.milliseconds()
        // Eighteen digits, apart from those of every run that began a second before or after.
        let template = SignedPurchases.Template(
            bundleID: goods.bundleID, product: goods.product, firstTransaction: now * 100_000, now: now)
        let purchases = try await SignedPurchases.sign(
            count, template, by: chain, cores: machine.cores, isInterrupted: isInterrupted)
        let line = plan.batch * (purchases.header.count + purchases.stride + LoadRun.envelopeBytesMax)
        guard line <= WireLimits.lineBytesMax else {
            throw LoadError(
                .plan,
                "--batch: \(plan.batch) credits make a line of \(line) bytes, and the service takes "
                    + "\(WireLimits.lineBytesMax)")
        }
        return purchases
    }

    /// What stands around the signed transaction in a credit, at most.
    private static let envelopeBytesMax = 160

    private func generator(_ purchases: SignedPurchases?) throws -> LoadSender {
        guard let granted = Amount(LoadLimits.granted), let spent = Amount(1) else {
            preconditionFailure("the amounts of a run are amounts")
        }
        let source = RequestSource(
            currency: goods.currency, granted: granted, spent: spent, purchases: purchases, wallets: plan.wallets,
            firstWallet: plan.firstWallet, keys: KeyMaker(order: plan.keys, seed: seed))
        return try LoadSender(
            target.address, token: target.token, linesInFlight: plan.linesInFlight, source: source,
            isInterrupted: isInterrupted, tell: tell)
    }

    private func fillWallets(_ generator: LoadSender) throws {
        guard plan.workload != .credits else { return }
        tell("filling \(plan.wallets) wallets")
        try passed(
            generator.run(LoadPhase(kind: .grants, requests: 0..<plan.wallets, batch: LoadLimits.grantBatch)),
            "filling the wallets")
    }

    private func warmUp(_ generator: LoadSender) throws {
        guard plan.warmup > 0 else { return }
        try passed(
            generator.run(
                LoadPhase(kind: .workload(plan.workload), requests: 0..<plan.warmup, batch: plan.batch)),
            "warming up")
    }

    /// What the files of the ledger hold.
    private func ledgerBytes() -> Int64? {
        guard let path = target.path, let files = FileManager.default.enumerator(atPath: path) else { return nil }
        var bytes: Int64 = 0
        for case let name as String in files {
            let attributes = try? FileManager.default.attributesOfItem(atPath: path + "/" + name)
            if attributes?[.type] as? FileAttributeType == .typeRegular {
                bytes += (attributes?[.size] as? NSNumber)?.int64Value ?? 0
            }
        }
        return bytes
    }

    private func passed(_ result: PhaseResult, _ what: String) throws {
        if result.wasInterrupted { throw LoadError(.interrupted, "interrupted while \(what)") }
        guard result.errors == 0 else {
            throw LoadError(
                .service, "\(what): there were \(result.errors) errors:\n\(result.firstErrors.joined(separator: "\n"))")
        }
    }
}
