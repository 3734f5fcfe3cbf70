import ArgumentParser
import Ledger
import LedgerWire
import LoadGenerator

/// The options of `load`, and the plan that they make.
struct LoadOptions: ParsableArguments {
    @Option(
        help:
            """
            credits: distinct signed purchases; spends: of one unit each, from wallets that are filled before; mixed: \
            one and the other in turn.
            """
    )
    var workload = LoadPlan.Workload.credits

    @Option(help: "Connections.")
    var connections = 1

    @Option(
        help:
            """
            Requests without a reply, over all connections. Default: 64, and \(LoadLimits.inFlightPaced) with --rate; \
            more where --connections × --batch is
            """
    )
    var inFlight: Int?

    @Option(help: "Requests of one line; 1 sends each as a message of its own.")
    var batch = 1

    @Option(help: "Requests to measure. Default: 100000 where there is no --duration")
    var count: Int?

    @Option(help: "Seconds to measure; with --count whatever ends first.")
    var duration: Double?

    @Option(help: "Players.")
    var wallets = 10_000

    @Option(help: "The number of the first of them, so that a ledger that was loaded before gets others.")
    var firstWallet = 0

    @Option(help: "How request keys are made: time-ordered (UUIDv7) or random (UUIDv4).")
    var keys = KeyMaker.Order.timeOrdered

    @Option(help: "Requests a second, sent when they are due. Default: as fast as replies come")
    var rate: Double?

    @Option(help: "Requests before the clock starts.")
    var warmup = 2_000

    @Option(help: "Seed of the keys.")
    var seed: UInt64 = 1

    @Flag(help: "Print one JSON object.")
    var json = false

    @Option(
        help:
            """
            The ledger's folder. The server that is started keeps it there, going on with what it holds; with \
            --server, where its size and its disk are measured.
            """,
        completion: .directory)
    var path: String?

    @Flag(help: "Keep the folder of the server that is started: its ledger, chain, configuration and log.")
    var keep = false

    @Option(help: "host:port or unix:/path of a running service, instead of starting one.")
    var server: String?

    @Option(help: "The folder of the signing chain that the service at --server trusts.", completion: .directory)
    var chain: String?

    @Option(help: "The process id of the service at --server; without it nothing is said of its process.")
    var pid: Int32?

    @Option(help: "The token for the service at --server. Default: the environment variable LEDGER_TOKEN")
    var token: String?

    @Option(help: "The app.")
    var bundleId = "com.example.game"

    @Option(help: "The product that is bought.")
    var product = "com.example.game.gems500"

    @Option(help: "The currency that is granted and spent.")
    var currency = "gems"

    /// - Throws: `ValidationError` that names the flag.
    func plan() throws -> LoadPlan {
        func check(_ isGood: Bool, _ message: @autoclosure () -> String) throws {
            if !isGood { throw ValidationError(message()) }
        }
        try check(
            1...LoadLimits.connectionsMax ~= connections,
            "--connections must be from 1 to \(LoadLimits.connectionsMax), not \(connections).")
        try check(
            1...WireLimits.batchRequestsMax ~= batch,
            "--batch must be from 1 to \(WireLimits.batchRequestsMax), not \(batch).")
        let least = connections * batch
        let inFlight = inFlight ?? max(least, rate == nil ? 64 : LoadLimits.inFlightPaced)
        try check(
            least...LoadLimits.inFlightMax ~= inFlight,
            "--in-flight must be from \(least) (--connections × --batch) to \(LoadLimits.inFlightMax), not \(inFlight)."
        )
        try check(
            1...LoadLimits.countMax ~= count ?? 1,
            "--count must be from 1 to \(LoadLimits.countMax), not \(count ?? 0).")
        let duration = duration ?? 1
        try check(
            duration > 0 && duration <= LoadLimits.durationSecondsMax,
            "--duration must be more than 0 and at most \(Int(LoadLimits.durationSecondsMax)) seconds, not \(duration)."
        )
        try check(
            1...LoadLimits.walletsMax ~= wallets,
            "--wallets must be from 1 to \(LoadLimits.walletsMax), not \(wallets).")
        try check(
            0...LoadLimits.firstWalletMax ~= firstWallet,
            "--first-wallet must be from 0 to \(LoadLimits.firstWalletMax), not \(firstWallet).")
        let rate = rate ?? 1
        try check(
            rate > 0 && rate <= LoadLimits.rateMax,
            "--rate must be more than 0 and at most \(Int(LoadLimits.rateMax)) requests a second, not \(rate).")
        try check(
            0...LoadLimits.countMax / 10 ~= warmup,
            "--warmup must be from 0 to \(LoadLimits.countMax / 10), not \(warmup).")
        try checkServer(check)
        return LoadPlan(
            workload: workload, connections: connections, inFlight: inFlight / batch * batch, batch: batch,
            count: count ?? (self.duration == nil ? 100_000 : nil), durationSeconds: self.duration, wallets: wallets,
            firstWallet: firstWallet,
            keys: keys, rate: self.rate, warmup: warmup, seed: seed)
    }

    private func checkServer(_ check: (Bool, @autoclosure () -> String) throws -> Void) throws {
        try check(CurrencyCode(currency) != nil, "--currency: '\(currency)' is not a currency's code.")
        try check(!bundleId.isEmpty, "--bundle-id must not be empty.")
        try check(!product.isEmpty, "--product must not be empty.")
        if let server {
            do throws(ServerAddress.Malformed) {
                _ = try ServerAddress(server)
            } catch {
                throw ValidationError("--server: \(error.description).")
            }
            try check(!keep, "--keep is for the server that is started; --server names a running one.")
            try check(
                workload == .spends || chain != nil,
                "--chain is needed with --server: purchases must be signed by a chain that it trusts.")
            try check(pid ?? 1 > 0, "--pid must be a process id, not \(pid ?? 0).")
        } else {
            for (flag, isGiven) in [("--chain", chain != nil), ("--pid", pid != nil), ("--token", token != nil)] {
                try check(!isGiven, "\(flag) is for a running service, which --server names.")
            }
        }
    }
}

extension LoadPlan.Workload: ExpressibleByArgument {}

extension KeyMaker.Order: ExpressibleByArgument {}
