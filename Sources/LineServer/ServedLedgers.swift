package import AppStore
package import LedgerEngine
package import LedgerMetrics
package import LedgerWire
import NIOPosix

/// The ledgers of a service, each at its place.
package struct ServedLedgers: Sendable {
    package struct Member: Sendable {
        /// `nil` where it is the only one.
        package var name: LedgerName?
        /// Whose purchases it credits: no two ledgers have one app in one environment.
        package var app: App
        /// It was made for its place among the members.
        package var ledger: RunningLedger
        package var info: @Sendable () -> LedgerInfo
        /// Passes on what another node has to carry out; `nil` where clients are told to ask that node.
        package var relay: (any LeaderRelay)?
        /// Gives the lead to another node, where this one leads, and may block; `nil` where there are no others.
        package var handOver: (@Sendable () -> Void)?
        /// Where its files are; `nil` where it has none.
        package var folder: String?
        /// Adds figures, under the labels of the ledger, that are not the engine's.
        package var measure: @Sendable (inout Exposition, [Label]) -> Void

        package init(
            name: LedgerName? = nil, app: App, ledger: RunningLedger, relay: (any LeaderRelay)? = nil,
            handOver: (@Sendable () -> Void)? = nil, folder: String? = nil,
            measure: @escaping @Sendable (inout Exposition, [Label]) -> Void = { _, _ in },
            info: @escaping @Sendable () -> LedgerInfo
        ) {
            self.relay = relay
            self.handOver = handOver
            self.folder = folder
            self.measure = measure
            self.name = name
            self.app = app
            self.ledger = ledger
            self.info = info
        }
    }

    let version: String
    package let members: [Member]

    /// - Parameter members: at least one; with names where there are several.
    package init(version: String, members: [Member]) {
        precondition(!members.isEmpty, "a service keeps a ledger")
        self.version = version
        self.members = members
    }

    /// Where the ledger at a place is led now, *unknown* where nothing of it is passed on; `nil` where no other node
    /// ever leads one.
    var leadPlace: (@Sendable (Int) -> LeadPlace)? {
        if members.allSatisfy({ $0.relay == nil && $0.handOver == nil }) { return nil }
        return { [members] in members[$0].relay?.place ?? .unknown }
    }

    /// Gives the leads of all ledgers to other nodes, all at once, when what clients have asked is mostly answered:
    /// another node leads before the last client has closed its connection.
    /// - Parameter milliseconds: how long that is waited for.
    func handOver(after milliseconds: Int64) async {
        let handOvers = members.compactMap(\.handOver)
        if handOvers.isEmpty { return }
        try? await Task.sleep(for: .milliseconds(milliseconds))
        // Each on a thread of its own: one may wait long for its database, and the other leads do not wait for that.
        let threads = NIOThreadPool(numberOfThreads: handOvers.count)
        threads.start()
        await withTaskGroup(of: Void.self) { group in
            for handOver in handOvers {
                group.addTask {
                    await withCheckedContinuation { done in
                        threads.submit { _ in
                            handOver()
                            done.resume()
                        }
                    }
                }
            }
        }
        // All is done: what it could throw is that it was shut down before.
        try? await threads.shutdownGracefully()
    }

    var directory: LedgerDirectory { LedgerDirectory(members.map { ($0.name, $0.app) }) }

    /// What `info` answers.
    /// - Parameters:
    ///   - place: the connection's ledger; `nil` where it has none.
    ///   - visible: the places of those that it may ask.
    func info(_ place: Int?, visible: [Int]) -> ServerInfo {
        ServerInfo(
            version: version, ledger: members[place ?? visible[0]].info(),
            ledgers: members.count == 1 ? [] : visible.map { members[$0].info() })
    }
}

/// Which ledger a request is for, by what it names, what its connection or its token has, and what its JWS says.
struct LedgerDirectory: Sendable {
    private let names: [LedgerName?]
    private let apps: [App]

    init(_ ledgers: [(name: LedgerName?, app: App)]) {
        names = ledgers.map(\.name)
        apps = ledgers.map(\.app)
    }

    var count: Int { names.count }

    /// Their names, where there are several.
    var allNames: [LedgerName] { names.compactMap { $0 } }

    /// The name of the ledger at a place, where there are several.
    func name(at place: Int) -> LedgerName? { count == 1 ? nil : names[place] }

    func place(of name: LedgerName) -> Int? { names.firstIndex { $0 == name } }

    /// The places that a token of this ledger opens; all where it is of none.
    func visible(to ledger: LedgerName?) -> [Int] {
        guard let ledger else { return Array(names.indices) }
        return place(of: ledger).map { [$0] } ?? []
    }

    /// The ledger whose verifier is to judge a JWS: that of the app and the environment that it claims. A claim that
    /// none fits is judged by one that fits it in part, or by the first: none of them believes it.
    func place(claimedBy object: SignedObject) -> Int {
        guard let claim = object.claim else { return 0 }
        let ofApp = apps.indices.filter { apps[$0].bundleID.utf8.elementsEqual(claim.bundleID.utf8) }
        return ofApp.first { apps[$0].environment == claim.environment } ?? ofApp.first
            ?? apps.firstIndex { $0.environment == claim.environment } ?? 0
    }
}
