import Foundation
import LedgerWire
import NIOConcurrencyHelpers
import Testing

@testable import LedgerClient

/// What the client sends again by itself, and what it does not.
@Suite struct RepetitionTests {
    private static let spent = SpendReceipt(entry: 2, replayed: true, drawn: [], balances: [])

    @Sendable private static func reply(_ request: Request) -> Reply {
        switch request {
        case .ledger(.keyed(.spend)): .outcome(.spend(spent))
        case .authenticate(let own): own.token == "wrong" ? .error(.unknownToken) : .authenticated(Samples.game)
        case .ping, .info, .reload, .ledger:
            echo(request)
        }
    }

    private static func request(_ line: [UInt8]) throws -> Request {
        guard case .single(let message) = line.withUnsafeBufferPointer({ LineParser.parse($0) }) else {
            throw ClientError.unreadableReply("a batch")
        }
        return try message.body.get().request
    }

    /// The first `count` connections break at their first line that is no `authenticate`.
    private static func breaking(_ count: Int) -> Peer.ConnectionScript {
        { connection, _, line in
            guard let line else { return [] }
            if connection < count, case .authenticate? = try? request(line) { return [.send(answer(line, reply))] }
            return connection < count ? [.close] : [.send(answer(line, reply))]
        }
    }

    @Test func aRequestWhoseConnectionBreaksIsSentAgainWithTheSameBytes() async throws {
        try await Peer.with(configuration: Waits().configuration(), Self.breaking(3)) { peer, client in
            let gems = CurrencyAmount(currency: try currency("gems"), amount: try #require(Amount(5)))
            #expect(try await client.spend(account: try account("p"), debits: [gems]) == Self.spent)
            let connections = peer.observed.connections
            #expect(connections.count == 4)
            #expect(Set(connections.map(\.first)).count == 1 && connections.allSatisfy { $0.count == 1 })
            guard case .ledger(.keyed(.spend(let spend))) = try Self.request(connections[0][0]) else {
                Issue.record("no spend")
                return
            }
            #expect(spend.key.text.utf8.count == 36)
        }
    }

    @Test func everyCallWithoutAKeyGetsOneOfItsOwn() async throws {
        try await Peer.with(configuration: .raw, Self.breaking(0)) { peer, client in
            let gems = CurrencyAmount(currency: try currency("gems"), amount: try #require(Amount(5)))
            for _ in 0..<3 { _ = try await client.spend(account: try account("p"), debits: [gems]) }
            _ = try await client.spend(account: try account("p"), debits: [gems], key: try key("mine"))
            let keys = try peer.observed.lines.map { line -> String in
                guard case .ledger(.keyed(.spend(let spend))) = try Self.request(line) else { return "" }
                return spend.key.text
            }
            #expect(Set(keys).count == 4 && keys[3] == "mine")
            #expect(keys[0] < keys[1] && keys[1] < keys[2])
        }
    }

    @Test func aGrantWithoutAKeyTakesEverythingThatAGrantHas() async throws {
        try await Peer.with(configuration: .raw, Self.breaking(0)) { peer, client in
            let amount = try #require(Amount(5))
            await #expect(throws: ClientError.self) {
                try await client.grant(
                    account: try account("p"), currency: try currency("gems"), amount: amount, note: "n", expiresAt: 9)
            }
            guard case .ledger(.keyed(.grant(let sent))) = try Self.request(peer.observed.lines[0]) else {
                Issue.record("no grant")
                return
            }
            #expect(sent.note == "n" && sent.expiresAt == 9 && sent.amount == amount)
        }
    }

    @Test(arguments: [WireError.overloaded, .shuttingDown, .storageUnavailable, .outcomeUnknown, .internalError])
    func aRefusalOfTheMomentIsRepeatedOnTheSameConnection(refusal: WireError) async throws {
        let waits = Waits()
        try await Peer.with(
            configuration: waits.configuration(),
            { _, index, line in
                guard let line else { return [] }
                return [.send(index < 3 ? answer(line) { _ in .error(refusal) } : answer(line, echo))]
            }
        ) { peer, client in
            let balances = try await client.balance(try account("p"))
            #expect(balances.account.text == "p")
            let lines = peer.observed.lines
            #expect(lines.count == 4 && Set(lines).count == 1)
            #expect(peer.observed.connections.count == 1)
        }
        #expect(waits.asked == [50, 100, 200])
    }

    @Test func theRepetitionTellsWhatBecameOfASpendWhoseOutcomeWasUnknown() async throws {
        try await Peer.with(
            configuration: Waits().configuration(),
            { _, index, line in
                guard let line else { return [] }
                return [.send(index == 0 ? answer(line) { _ in .error(.outcomeUnknown) } : answer(line, Self.reply))]
            }
        ) { peer, client in
            let gems = CurrencyAmount(currency: try currency("gems"), amount: try #require(Amount(5)))
            let receipt = try await client.spend(account: try account("p"), debits: [gems])
            #expect(receipt.replayed)
            let lines = peer.observed.lines
            #expect(lines.count == 2 && Set(lines).count == 1)
        }
    }

    @Test func aForgetWhoseOutcomeIsUnknownIsNotSentAgain() async throws {
        try await Peer.with(
            configuration: Waits().configuration(),
            { _, _, line in line.map { [.send(answer($0) { _ in .error(.outcomeUnknown) })] } ?? [] }
        ) { peer, client in
            let error = await failure { _ = try await client.forget(try account("p")) }
            #expect(error as? WireError == .outcomeUnknown)
            #expect(peer.observed.lines.count == 1)
        }
    }

    @Test func whatTheCatalogMayLearnIsLeftToTheCaller() async throws {
        let refusal = Refusal(.unknownProduct(product: "p"))
        try await Peer.with(
            configuration: Waits().configuration(),
            { _, _, line in line.map { [.send(answer($0) { _ in .outcome(.refused(refusal)) })] } ?? [] }
        ) { peer, client in
            let error = await #expect(throws: WireError.self) { try await client.credit(signedTransaction: "a.b.c") }
            #expect(error?.reason == "unknown_product" && error?.retryable == true)
            #expect(peer.observed.lines.count == 1)
        }
    }

    @Test func aNewConnectionIsAuthenticatedBeforeAnythingElse() async throws {
        let configuration = Waits().configuration()
        try await Peer.with(configuration: configuration, token: "first", Self.breaking(2)) { peer, client in
            try await client.ping()
            let connections = peer.observed.connections
            #expect(connections.count == 3)
            for lines in connections {
                #expect(try lines.map(Self.request) == [.authenticate(Authentication(token: "first")), .ping])
            }
        }
    }

    @Test func aRoleGivenLaterIsGivenToNewConnectionsToo() async throws {
        try await Peer.with(
            configuration: Waits().configuration(), token: "first",
            { connection, index, line in
                guard let line else { return [] }
                return connection == 0 && index == 2 ? [.close] : [.send(answer(line, Self.reply))]
            }
        ) { peer, client in
            #expect(try await client.authenticate(token: "second").roles == [.game])
            // A token that is refused is not remembered.
            await #expect(throws: (any Error).self) { try await client.authenticate(token: "wrong") }
            try await client.ping()
            let connections = try peer.observed.connections.map { try $0.map(Self.request) }
            #expect(connections.count == 2)
            #expect(connections.last?.first == .authenticate(Authentication(token: "second")))
            #expect(connections.last?.last == .ping)
        }
    }

    @Test func aTokenThatIsNoLongerTakenIsThrownAndNotTriedAgain() async throws {
        let isRevoked = NIOLockedValueBox(false)
        try await Peer.with(
            configuration: Waits().configuration(), token: "t",
            { _, index, line in
                guard let line else { return [] }
                if index == 0, isRevoked.withLockedValue({ $0 }) {
                    return [.send(answer(line) { _ in .error(.unknownToken) })]
                }
                isRevoked.withLockedValue { $0 = true }
                return index == 0 ? [.send(answer(line, Self.reply))] : [.close]
            }
        ) { peer, client in
            let error = await failure { try await client.ping() }
            guard case .connectionLost(let why) = error as? ClientError else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(why.contains("unauthenticated"))
            // What was not sent before is refused plainly.
            #expect(await failure { try await client.ping() } as? WireError == .unknownToken)
            #expect(peer.observed.connections.count == 3)
        }
    }

    @Test func attemptsAndWaitsAreBounded() async throws {
        let waits = Waits(seed: 3)
        let policy = RetryPolicy(attemptsMax: 6, baseMilliseconds: 40, capMilliseconds: 200)
        try await Peer.with(configuration: waits.configuration(policy), Self.breaking(.max)) { peer, client in
            let error = await failure { try await client.ping() }
            guard case .connectionLost = error as? ClientError else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(peer.observed.lines.count == 6)
        }
        // A connection that is lost before it has answered anything is as good as none.
        #expect(waits.asked == [40, 80, 160, 200, 200, 200])
        #expect(waits.slept.count <= 5)
        #expect(waits.slept.allSatisfy { $0 <= 200 })
    }

    @Test func callsOfALostConnectionShareTheAttemptToMakeANewOne() async throws {
        let count = 200
        try await Peer.with(
            configuration: Waits().configuration(),
            { connection, index, line in
                guard let line else { return [] }
                if connection == 0 { return index == count - 1 ? [.close] : [] }
                return [.send(answer(line, echo))]
            }
        ) { peer, client in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<count {
                    group.addTask {
                        let name = try account("p\(number)")
                        #expect(try await client.balance(name).account == name)
                    }
                }
                try await group.waitForAll()
            }
            let connections = peer.observed.connections
            #expect(connections.map(\.count) == [count, count])
            #expect(Set(connections[0]) == Set(connections[1]))
        }
    }

    @Test func whereNobodyListensAnyMoreCallsShareABoundedNumberOfAttempts() async throws {
        let waits = Waits()
        let policy = RetryPolicy(attemptsMax: 5, baseMilliseconds: 10, capMilliseconds: 40)
        let peer = try await Peer.start(eachConnection: { _, _, line in line == nil ? [] : [.close] })
        let client = try await LedgerClient.connect(to: peer.address, configuration: waits.configuration(policy))
        try await peer.stop()
        let errors = await withTaskGroup(of: (any Error)?.self) { group in
            for _ in 0..<50 { group.addTask { await failure { try await client.ping() } } }
            return await group.reduce(into: [(any Error)?]()) { $0.append($1) }
        }
        for error in errors {
            switch error as? ClientError {
            case .cannotConnect, .connectionLost: break
            default: Issue.record("\(String(describing: error))")
            }
        }
        // One for the lost connection and one for each attempt, of which fifty calls share almost all.
        #expect(waits.asked.count <= 4 * 5, "\(waits.asked)")
        try await client.close()
    }

    @Test func aServerThatIsStartedAgainIsFoundAgain() async throws {
        let folder = FileManager.default.temporaryDirectory
        let path = folder.appendingPathComponent("ledger-\(UUID().uuidString.prefix(8)).sock").path
        let first = try await Peer.start(unixPath: path, eachConnection: Self.breaking(.max))
        // It waits when the connection is lost, and when no other could be made: then until the server is there again.
        let (waits, isThere) = (NIOLockedValueBox(0), NIOLockedValueBox(false))
        var configuration = ClientConfiguration.patient(retryPolicy: .standard)
        configuration.pacing = Pacing(
            sleep: { _ in
                let number = waits.withLockedValue { waits in
                    waits += 1
                    return waits
                }
                while number > 1, !isThere.withLockedValue({ $0 }) { try await Task.sleep(for: .milliseconds(5)) }
            }, jitter: { $0 })
        let client = try await LedgerClient.connect(
            to: try ServerAddress("unix:\(path)"), configuration: configuration)
        try await first.stop()
        let call = Task { try await client.balance(try account("p")) }
        try await expectEventually { waits.withLockedValue { $0 } > 1 }
        try? FileManager.default.removeItem(atPath: path)
        let second = try await Peer.start(unixPath: path, eachConnection: Self.breaking(0))
        isThere.withLockedValue { $0 = true }
        #expect(try await call.value.account.text == "p")
        try await client.close()
        try await second.stop()
        try? FileManager.default.removeItem(atPath: path)
    }

    private static let moved = WireError(.ledgerRequired, "the token opens another ledger")
    /// The same where the connection was cut off.
    private static let cutOff = WireError(
        code: WireReason.outcomeUnknown.code, reason: WireReason.outcomeUnknown.rawValue,
        message: "the token opens another ledger", retryable: false)

    /// How so many calls at once have ended.
    private static func errors(of count: Int, _ client: LedgerClient) async -> [(any Error)?] {
        await withTaskGroup(of: (any Error)?.self) { group in
            for number in 0..<count {
                group.addTask { await failure { _ = try await client.balance(try account("p\(number)")) } }
            }
            return await group.reduce(into: [(any Error)?]()) { $0.append($1) }
        }
    }

    /// Over another connection it would be for the ledger that the token opens now.
    @Test(arguments: [moved, cutOff])
    func whatWasSentBeforeItsTokenMovedIsNotSentAgain(word: WireError) async throws {
        try await Peer.with(
            configuration: Waits().configuration(),
            { connection, index, line in
                guard let line else { return [] }
                if connection > 0 { return [.send(answer(line, echo))] }
                return index == 2 ? [.send(lastWord(word)), .close] : []
            }
        ) { peer, client in
            let errors = await Self.errors(of: 3, client)
            #expect(errors.map { $0 as? WireError } == [word, word, word])
            let balance = try await client.balance(try account("p"))
            #expect(balance.account.text == "p")
            #expect(peer.observed.connections.map(\.count) == [3, 1])
        }
    }

    @Test(arguments: [moved, cutOff])
    func whatWasAnsweredForTheMomentBeforeItsTokenMovedIsNotSentAgain(word: WireError) async throws {
        try await Peer.with(
            configuration: Waits().configuration(),
            { connection, _, line in
                guard let line else { return [] }
                if connection > 0 { return [.send(answer(line, echo))] }
                return [.send(answer(line) { _ in .error(.overloaded) } + lastWord(word)), .close]
            }
        ) { peer, client in
            let error = await failure { _ = try await client.balance(try account("p")) }
            #expect(error as? WireError == word)
            #expect(peer.observed.connections.map(\.count) == [1])
        }
    }

    @Test func whatWasNotSentWhenItsTokenMovedIsSentOverANewConnection() async throws {
        var configuration = Waits().configuration()
        configuration.requestsInFlightMax = 1
        try await Peer.with(
            configuration: configuration,
            { connection, _, line in
                guard let line else { return [] }
                return connection > 0 ? [.send(answer(line, echo))] : [.sendLater(lastWord(Self.moved))]
            }
        ) { peer, client in
            let errors = await Self.errors(of: 2, client)
            #expect(errors.compactMap { $0 as? WireError } == [Self.moved])
            #expect(errors.count { $0 == nil } == 1, "\(errors)")
            let connections = peer.observed.connections
            #expect(connections.map(\.count) == [1, 1] && connections[0] != connections[1])
        }
    }

    @Test func aMethodThatThisVersionDoesNotKnowIsNotSentTwice() async throws {
        try await Peer.with(configuration: Waits().configuration(), Self.breaking(1)) { peer, client in
            let error = await failure { _ = try await client.call(method: "transmute") }
            guard case .connectionLost = error as? ClientError else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(peer.observed.lines.count == 1)
        }
        try await Peer.with(configuration: Waits().configuration(), Self.breaking(1)) { peer, client in
            _ = try await client.call(method: "balance", params: Array(#"{"account":"p"}"#.utf8))
            #expect(peer.observed.lines.count == 2)
        }
    }

    @Test func aReplyThatIsNoneIsThrownAndTheNextCallHasANewConnection() async throws {
        try await Peer.with(
            configuration: Waits().configuration(),
            { connection, _, line in
                guard let line else { return [] }
                return [.send(connection == 0 ? Array("nonsense\n".utf8) : answer(line, echo))]
            }
        ) { peer, client in
            let error = await failure { try await client.ping() }
            guard case .unreadableReply = error as? ClientError else {
                Issue.record("\(String(describing: error))")
                return
            }
            try await client.ping()
            #expect(peer.observed.connections.count == 2)
        }
    }
}
