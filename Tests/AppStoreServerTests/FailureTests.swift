import Testing

@testable import AppStoreServer

/// What a client makes of an App Store that fails, over sockets.
@Suite struct FailureTests {
    private static let found = TestStore.Answer.reply(200, #"{"signedTransactionInfo":"jws"}"#)

    private static func ask(_ client: AppStoreServerClient) async throws -> String {
        try await client.transactionInfo(transactionID: "1")
    }

    @Test func aFailureThatPassesIsNotSeen() async throws {
        let time = TestTime()
        try await withStore(
            time: time,
            answer: { _, number in
                switch number {
                case 1: .reply(500, refusal(5_000_001))
                case 2: .reply(503, "<html>down</html>")
                case 3: .close
                case 4: .cut(after: #"{"signedTransactionInfo":"#)
                default: Self.found
                }
            }
        ) { client, store in
            let answer = try await Self.ask(client)
            #expect(answer == "jws")
            #expect(store.requests.count == 5)
            #expect(time.waits == [500, 1_000, 2_000, 4_000])
        }
    }

    @Test func afterFiveAttemptsTheErrorIsTheLast() async throws {
        try await withStore(answer: { _, number in .reply(500, refusal(5_000_000, "Attempt \(number).")) }) {
            client, store in
            let error = await #expect(throws: AppStoreServerError.self) { try await Self.ask(client) }
            let expected = AppStoreServerError.Refusal(status: 500, code: .generalInternal, message: "Attempt 5.")
            #expect(error == .refused(expected))
            #expect(error?.isRetryable == true)
            #expect(store.requests.count == 5)
        }
    }

    @Test func aRefusalSaysWhatAppleSaid() async throws {
        try await withStore(answer: { _, _ in .reply(404, refusal(4_040_010, "Transaction id not found.")) }) {
            client, store in
            let error = await #expect(throws: AppStoreServerError.self) { try await Self.ask(client) }
            #expect(
                error?.description == """
                    the App Store refused: HTTP 404, TransactionIdNotFoundError (4040010): Transaction id not found.
                    """)
            #expect(store.requests.count == 1)
        }
    }

    @Test(
        arguments: [
            ("", nil, nil), ("Unauthenticated\n\nRequest ID: X\n", nil, nil), ("[1]", nil, nil),
            (#"{"errorCode":4009999,"errorMessage":"New."}"#, 4_009_999, "New."), (#"{"errorCode":"1"}"#, nil, nil),
            (#"{"errorCode":4000006}"#, 4_000_006, nil), (#"{"errorMessage":"Words."}"#, nil, "Words."),
            (#"{"errorCode":4000006,"errorMessage":"a\r\nb\u0000c\u202e"}"#, 4_000_006, #"a\r\nb\u{0}c\u{202e}"#),
        ] as [(String, Int64?, String?)])
    func aRefusalIsReadAsFarAsItGoes(body: String, code: Int64?, message: String?) async throws {
        try await withStore(answer: { _, _ in .reply(400, body) }) { client, _ in
            let error = await #expect(throws: AppStoreServerError.self) { try await Self.ask(client) }
            let refusal = AppStoreServerError.Refusal(
                status: 400, code: code.map { APIErrorCode(rawValue: $0) }, message: message)
            #expect(error == .refused(refusal))
        }
    }

    /// Names of members are the other side's words too.
    @Test func anUnreadableReplyIsNamedWithoutWhatATerminalObeys() async throws {
        let long = String(repeating: "n", count: 1_000)
        for name in [#"\u001b[2J"#, #"\u009b31m\u202e"#, long] {
            try await withStore(answer: { _, _ in .reply(200, #"{"\#(name)":1,"\#(name)":2}"#) }) { client, _ in
                let error = await #expect(throws: AppStoreServerError.self) { try await Self.ask(client) }
                guard case .unreadableReply(let words) = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
                #expect(
                    words.unicodeScalars.allSatisfy { ![.control, .format].contains($0.properties.generalCategory) })
                #expect(words.utf8.count <= 600 && words.contains(name == long ? "…" : "is given twice"), "\(words)")
            }
        }
    }

    @Test func aRefusalOfAnyLengthIsARefusal() async throws {
        let long = String(repeating: "é", count: 1_000)
        try await withStore(answer: { _, number in
            number == 1
                ? .reply(400, refusal(4_000_006, long)) : .reply(400, String(repeating: "<", count: 100_000))
        }) { client, _ in
            let error = await #expect(throws: AppStoreServerError.self) { try await Self.ask(client) }
            let message = String(repeating: "é", count: 256) + "…"
            #expect(error == .refused(.init(status: 400, code: .invalidTransactionID, message: message)))
            let second = await #expect(throws: AppStoreServerError.self) { try await Self.ask(client) }
            #expect(second == .refused(.init(status: 400)))
        }
    }

    @Test func whereNobodyListensNothingWasSent() async throws {
        let store = try await TestStore.start { _, _ in .silence }
        let address = try AppStoreAddress("http://127.0.0.1:\(store.port)")
        try await store.stop()
        let time = TestTime()
        let client = AppStoreServerClient(
            key: try TestKeys.key(), configuration: .init(bundleID: "com.example.game", address: address),
            tls: .makeClientConfiguration(), pacing: time.pacing)
        for call in [
            { _ = try await client.transactionInfo(transactionID: "1") },
            // Nobody can have carried it out, so it is sent again too.
            { _ = try await client.requestTestNotification() },
        ] {
            let before = time.waits.count
            do {
                try await call()
                Issue.record("there was an answer")
            } catch AppStoreServerError.cannotConnect {
                #expect(time.waits.count == before + 4)
            }
        }
        await client.shutDown()
    }

    @Test func anAnswerThatDoesNotComeIsATimeout() async throws {
        try await withStore(timeoutMilliseconds: 200, answer: { _, _ in .silence }) { client, store in
            await #expect(throws: AppStoreServerError.timedOut) { try await Self.ask(client) }
            #expect(store.requests.count == 5)
        }
    }

    /// A byte now and then would keep any read's own timeout away for ever.
    @Test func aReplyThatDoesNotEndIsATimeout() async throws {
        try await withStore(retries: .none, timeoutMilliseconds: 300, answer: { _, _ in .drip }) { client, _ in
            await #expect(throws: AppStoreServerError.timedOut) { try await Self.ask(client) }
        }
    }

    @Test(arguments: [TestStore.Answer.close, .cut(after: "{"), .bytes("SSH-2.0-OpenSSH_9.2\r\n\r\n")])
    func aConnectionThatEndsTooEarlyIsLost(answer: TestStore.Answer) async throws {
        try await withStore(retries: .none, answer: { _, _ in answer }) { client, _ in
            let error = await #expect(throws: AppStoreServerError.self) { try await Self.ask(client) }
            guard case .connectionLost = error else { return unexpected(error) }
            #expect(error?.isRetryable == true)
        }
    }

    @Test(arguments: [TestStore.Answer.close, .reply(500, refusal(5_000_001)), .silence])
    func aTestNotificationIsNotAskedForTwice(answer: TestStore.Answer) async throws {
        try await withStore(timeoutMilliseconds: 300, answer: { _, _ in answer }) { client, store in
            let error = await #expect(throws: AppStoreServerError.self) { try await client.requestTestNotification() }
            #expect(error?.isRetryable == true)
            #expect(store.requests.count == 1)
        }
    }

    /// The token is for Apple alone.
    @Test func nobodyIsFollowedElsewhere() async throws {
        let elsewhere = try await TestStore.start { _, _ in Self.found }
        let place = "http://127.0.0.1:\(elsewhere.port)/"
        try await withStore(answer: { _, _ in .reply(307, "", headers: ["Location": place]) }) { client, store in
            let error = await #expect(throws: AppStoreServerError.self) { try await Self.ask(client) }
            #expect(error == .refused(.init(status: 307)))
            #expect(store.requests.count == 1 && elsewhere.requests.isEmpty)
        }
        try await elsewhere.stop()
    }

    @Test func connectionsAreUsedAgain() async throws {
        try await withStore(answer: { _, _ in Self.found }) { client, store in
            for _ in 0..<20 { _ = try await Self.ask(client) }
            #expect(store.requests.count == 20 && store.connections == 1)
        }
    }

    @Test func manyAskAtOnce() async throws {
        try await withStore(answer: { request, _ in
            .reply(200, #"{"signedTransactionInfo":"\#(request.path.split(separator: "/").last ?? "")"}"#)
        }) { client, store in
            let answers = try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<200 {
                    group.addTask { try await client.transactionInfo(transactionID: "\(number)") == "\(number)" }
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(answers == 200 && store.requests.count == 200)
            #expect(store.connections <= 16)
        }
    }

    @Test func aClientThatWasShutDownSaysSo() async throws {
        try await withStore(answer: { _, _ in Self.found }) { client, store in
            await client.shutDown()
            await client.shutDown()
            await #expect(throws: AppStoreServerError.shutDown) { try await Self.ask(client) }
            #expect(store.requests.isEmpty)
        }
    }

    @Test func aClientOfABlockIsShutDownWhateverHappens() async throws {
        let store = try await TestStore.start { _, _ in Self.found }
        let configuration = AppStoreServerClient.Configuration(
            bundleID: "com.example.game", address: try AppStoreAddress("http://127.0.0.1:\(store.port)"))
        let key = try TestKeys.key()
        let kept = try await AppStoreServerClient.with(key: key, configuration: configuration) { client in
            let answer = try await Self.ask(client)
            #expect(answer == "jws")
            return client
        }
        await #expect(throws: AppStoreServerError.shutDown) { try await Self.ask(kept) }
        struct Fault: Error {}
        await #expect(throws: Fault.self) {
            try await AppStoreServerClient.with(key: key, configuration: configuration) { _ in throw Fault() }
        }
        try await store.stop()
    }
}
