import Ledger
import LedgerWire
import NIOConcurrencyHelpers
import Testing

@testable import LedgerClient

/// What a node passes on for a client: several requests at once, which keep their order.
@Suite struct AskingAtOnceTests {
    private static let names = ["a", "b", "c", "d"]

    private static func requests() throws -> [LedgerRequest] {
        try names.map { .balance(BalanceQuery(account: try account($0))) }
    }

    /// Grants to the same accounts: what was asked changes the ledger.
    private static func changes() throws -> [LedgerRequest] { try names.map(change) }

    private static func change(_ name: String) throws -> LedgerRequest {
        .keyed(
            .grant(
                Grant(
                    key: try key(name), account: try account(name), currency: try currency("gems"),
                    amount: try #require(Amount(1)))))
    }

    /// The account that a line asks for.
    private static func name(_ line: [UInt8]) -> String {
        guard case .single(let message) = line.withUnsafeBufferPointer({ LineParser.parse($0) }),
            case .success(let asked) = message.body
        else { return "?" }
        return name(asked.request)
    }

    private static func name(_ request: Request) -> String {
        switch request {
        case .ledger(.balance(let query)): query.account.text
        case .ledger(.keyed(.grant(let grant))): grant.account.text
        default: "?"
        }
    }

    /// Answers a balance, or a grant, by its account.
    @Sendable private static func tellAccount(_ request: Request) -> Reply {
        guard let account = AccountName(name(request)) else { return .pong }
        return .outcome(.balance(AccountBalances(account: account, balances: [])))
    }

    private static func accounts(_ results: [Result<[UInt8], any Error>]) -> [String] {
        results.map { result in
            switch result {
            case .success(let json): (try? AccountBalances(json: json))?.account.text ?? "?"
            case .failure(let error): (error as? WireError)?.reason ?? "\(error)"
            }
        }
    }

    /// The connection breaks behind the first answer.
    @Test func whatIsLeftIsSentAgainInItsOrder() async throws {
        let script: Peer.ConnectionScript = { connection, index, line in
            guard let line else { return [] }
            return connection == 0 && index > 0 ? [.close] : [.send(answer(line, echo))]
        }
        try await Peer.with(configuration: Waits().configuration(), script) { peer, client in
            let results = Self.accounts(await client.ask(try Self.requests()))
            #expect(results == Self.names)
            let connections = peer.observed.connections.map { $0.map(Self.name) }
            #expect(connections[0].first == "a" && connections[1] == ["b", "c", "d"])
        }
    }

    /// What the service refused for the moment is sent again, unless something behind it was carried out meanwhile: it
    /// would take effect after that.
    @Test(arguments: [true, false])
    func whatWasRefusedIsNotSentBehindWhatWasCarriedOut(refusesAll: Bool) async throws {
        let script: Peer.ConnectionScript = { _, index, line in
            guard let line else { return [] }
            let isRefused = refusesAll ? index < 4 : index == 0
            return [.send(answer(line) { isRefused ? .error(.overloaded) : Self.tellAccount($0) })]
        }
        try await Peer.with(configuration: Waits().configuration(), script) { peer, client in
            let results = Self.accounts(await client.ask(try Self.changes()))
            #expect(results == (refusesAll ? Self.names : ["overloaded", "b", "c", "d"]))
            let lines = peer.observed.lines.map(Self.name)
            #expect(lines == (refusesAll ? Self.names + Self.names : Self.names))
        }
    }

    /// A read changes nothing, and is to show what stands before it: it keeps nothing from being sent again, and is
    /// then asked again itself.
    @Test func aReadBehindWhatIsSentAgainIsAskedAgain() async throws {
        let script: Peer.ConnectionScript = { _, index, line in
            guard let line else { return [] }
            return [.send(answer(line) { index == 1 ? .error(.overloaded) : Self.tellAccount($0) })]
        }
        try await Peer.with(configuration: Waits().configuration(), script) { peer, client in
            let balance = { LedgerRequest.balance(BalanceQuery(account: try account($0))) }
            let requests = [try balance("a"), try Self.change("b"), try balance("c"), try balance("d")]
            #expect(Self.accounts(await client.ask(requests)) == Self.names)
            #expect(peer.observed.lines.map(Self.name) == ["a", "b", "c", "d", "b", "c", "d"])
        }
    }

    /// It would show what the other shows.
    @Test func aReadBehindAReadThatIsSentAgainIsNotAskedAgain() async throws {
        let script: Peer.ConnectionScript = { _, index, line in
            guard let line else { return [] }
            return [.send(answer(line) { index == 0 ? .error(.overloaded) : Self.tellAccount($0) })]
        }
        try await Peer.with(configuration: Waits().configuration(), script) { peer, client in
            let results = await client.ask(try Self.requests())
            #expect(Self.accounts(results) == Self.names)
            #expect(peer.observed.lines.map(Self.name) == Self.names + ["a"])
        }
    }

    /// The wait of the first would end too late, and those behind it would have a shorter one, or none because the
    /// connection broke.
    @Test(arguments: [false, true])
    func noChangeIsSentAgainBehindOneThatIsGivenUp(breaks: Bool) async throws {
        let script: Peer.ConnectionScript = { connection, index, line in
            guard let line else { return [] }
            if connection == 0 && index < 4 {
                if breaks && index > 0 { return index == 3 ? [.close] : [] }
                return [.send(answer(line) { _ in .error(.storageUnavailable) })]
            }
            return [.send(answer(line, Self.tellAccount))]
        }
        // The new connection that is wanted draws one before.
        let waits = NIOLockedValueBox<[Int64]>(breaks ? [70_000, 0] : [70_000])
        var configuration = Waits().configuration(
            RetryPolicy(attemptsMax: 10, baseMilliseconds: 80_000, capMilliseconds: 80_000))
        configuration.pacing.jitter = { _ in waits.withLockedValue { $0.popLast() ?? 0 } }
        try await Peer.with(configuration: configuration, script) { peer, client in
            let results = Self.accounts(await client.ask(try Self.changes()))
            #expect(results[0] == "storage_unavailable")
            #expect(!results.contains { Self.names.contains($0) }, "none is carried out")
            #expect(peer.observed.lines.count == 4)
        }
    }

    /// A node that is being ended waits for no leader for long.
    @Test func whatIsAskedOfAClientThatGivesUpIsNotSentAgain() async throws {
        let script: Peer.ConnectionScript = { _, _, line in
            line.map { [.send(answer($0) { _ in .error(.storageUnavailable) })] } ?? []
        }
        let policy = RetryPolicy(attemptsMax: .max, baseMilliseconds: 0, capMilliseconds: 0)
        try await Peer.with(configuration: Waits().configuration(policy), script) { peer, client in
            let requests = try Self.changes()
            async let results = client.ask(requests)
            try await expectEventually { peer.observed.lines.count > 20 }
            client.giveUp(afterMilliseconds: 0)
            #expect(Self.accounts(await results) == Array(repeating: "storage_unavailable", count: 4))
        }
    }

    /// It waits before it is sent again.
    @Test func whatIsGivenUpMeanwhileIsNotSentOnceMore() async throws {
        let script: Peer.ConnectionScript = { _, _, line in
            line.map { [.send(answer($0) { _ in .error(.storageUnavailable) })] } ?? []
        }
        let asking = NIOLockedValueBox<LedgerClient?>(nil)
        var configuration = ClientConfiguration.patient(
            retryPolicy: RetryPolicy(attemptsMax: 9, baseMilliseconds: 7, capMilliseconds: 7))
        configuration.pacing = Pacing(
            sleep: { _ in asking.withLockedValue { $0 }?.giveUp(afterMilliseconds: 0) }, jitter: { $0 })
        try await Peer.with(configuration: configuration, script) { peer, client in
            asking.withLockedValue { $0 = client }
            let results = await client.ask(try Self.changes())
            #expect(Self.accounts(results) == Array(repeating: "storage_unavailable", count: 4))
            #expect(peer.observed.lines.count == 4)
            asking.withLockedValue { $0 = nil }
        }
    }

    /// The answers behind a refusal come later: the node that refused is not left before.
    @Test func noAnswerBehindARefusalIsLost() async throws {
        let held = Held(until: 3)
        let first = try await Peer.start { index, line in
            guard let line else { return [] }
            switch index {
            case 0: return [.send(answer(line) { _ in .authenticated(Samples.game) })]
            case 1: return [.send(answer(line) { _ in .error(.storageUnavailable) })]
            default:
                return held.add(line, Self.tellAccount).map {
                    if case .send(let bytes) = $0 { .sendLater(bytes) } else { $0 }
                }
            }
        }
        let second = try await Peer.start(
            answering { request in
                if case .authenticate = request { return .authenticated(Samples.game) }
                return Self.tellAccount(request)
            })
        let client = try await LedgerClient.connect(
            toAnyOf: [first.address, second.address], configuration: Waits().configuration())
        let results = Self.accounts(await client.ask(try Self.changes()))
        #expect(results == ["storage_unavailable", "b", "c", "d"])
        #expect(second.observed.lines.isEmpty, "nothing takes effect behind what was asked after it")
        try await client.close()
        try await first.stop()
        try await second.stop()
    }

    /// Lets its client in, and answers nothing else until so many requests are there.
    private static func leader(silentUntil count: Int) -> Peer.Script {
        let held = Held(until: count)
        return { index, line in
            guard let line else { return [] }
            return index == 0 ? [.send(answer(line) { _ in .authenticated(Samples.game) })] : held.add(line)
        }
    }

    /// A client of nodes, which believes in its leader for so long once that leads no more.
    private static func client(of leader: Peer, formerMilliseconds: Int64) async throws -> LedgerClient {
        var configuration = Waits().configuration()
        configuration.formerLeaderMilliseconds = formerMilliseconds
        return try await LedgerClient.connect(
            toAnyOf: [leader.address, leader.address], configuration: configuration)
    }

    /// Its process stands still, and its machine acknowledges what is sent to it.
    @Test func whatASilentLeaderDoesNotAnswerIsAskedOfTheNext() async throws {
        let silent = try await Peer.start(Self.leader(silentUntil: .max))
        let next = try await Peer.start(Self.leader(silentUntil: 1))
        let client = try await Self.client(of: silent, formerMilliseconds: 1)
        let requests = try Self.requests()
        async let results = client.ask(requests)
        try await expectEventually { silent.observed.lines.count == 5 }
        client.turn(to: next.address)
        #expect(Self.accounts(await results) == Self.names)
        #expect(next.observed.lines.dropFirst().map(Self.name) == Self.names)
        #expect(silent.observed.lines.count == 5, "it is not asked again")
        try await client.close()
        try await silent.stop()
        try await next.stop()
    }

    /// It has handed over the lead, and answers what it was asked before: nothing of that is asked twice or given up.
    @Test func aFormerLeaderThatAnswersIsHeardOut() async throws {
        let former = try await Peer.start(Self.leader(silentUntil: 2))
        let next = try await Peer.start(Self.leader(silentUntil: 1))
        let client = try await Self.client(of: former, formerMilliseconds: 60_000)
        async let forgotten = client.call(method: "forget", params: Array(#"{"account":"p"}"#.utf8))
        try await expectEventually { former.observed.lines.count == 2 }
        client.turn(to: next.address)
        try await client.ping()
        #expect(try await !forgotten.isEmpty, "it would not be sent again")
        #expect(next.observed.lines.isEmpty)
        try await client.close()
        try await former.stop()
        try await next.stop()
    }

    /// What the ledger refused it has decided, as what it carried out.
    @Test func whatWasRefusedForTheMomentIsNotSentBehindWhatTheLedgerRefused() async throws {
        let script: Peer.ConnectionScript = { _, index, line in
            guard let line else { return [] }
            let error = index == 0 ? WireError.overloaded : WireError(.insufficientFunds, "")
            return [.send(answer(line) { _ in .error(error) })]
        }
        try await Peer.with(configuration: Waits().configuration(), script) { peer, client in
            let results = Self.accounts(await client.ask(try Self.changes()))
            #expect(results == ["overloaded", "insufficient_funds", "insufficient_funds", "insufficient_funds"])
            #expect(peer.observed.lines.count == 4)
        }
    }

    /// The connection broke when all had been sent. That the first is then refused, and not sent again because the
    /// others were carried out, does not say that it changed nothing at first.
    @Test func aRefusalDoesNotHideThatAnEarlierAttemptMayHaveBeenCarriedOut() async throws {
        let script: Peer.ConnectionScript = { connection, index, line in
            guard let line else { return [] }
            if connection == 0 { return index == 3 ? [.close] : [] }
            return [.send(answer(line) { index == 0 ? .error(.overloaded) : Self.tellAccount($0) })]
        }
        try await Peer.with(configuration: Waits().configuration(), script) { peer, client in
            let results = await client.ask(try Self.changes())
            #expect(Self.accounts(results).dropFirst() == ["b", "c", "d"])
            guard case .failure(ClientError.connectionLost(let why)) = results[0] else {
                Issue.record("\(results[0])")
                return
            }
            #expect(why.contains("the answer did not come"))
            #expect(peer.observed.connections.map(\.count) == [4, 4])
        }
    }
}
