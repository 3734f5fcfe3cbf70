import Testing

@testable import AppStoreServer

/// The tokens of requests, verified with the public key.
@Suite struct TokenTests {
    private static let found = TestStore.Answer.reply(200, #"{"signedTransactionInfo":"jws"}"#)

    @Test func aTokenSaysWhatAppleAsksFor() async throws {
        try await withStore(answer: { _, _ in Self.found }) { client, store in
            _ = try await client.transactionInfo(transactionID: "1")
            let token = try TestJWS(store.requests[0].token)
            #expect(token.header == ["alg": "ES256", "kid": "2X9R4HXF34", "typ": "JWT"])
            #expect(
                token.claims == [
                    "iss": "57246542-96fe-1a63-e053-0824d011072a", "iat": "1777248000", "exp": "1777249200",
                    "aud": "appstoreconnect-v1", "bid": "com.example.game",
                ])
        }
    }

    /// "The token's expiration time … must be no more than 60 minutes after iat."
    @Test func aTokenIsGoodForAnHourAtMost() {
        #expect(AppStoreServerLimits.tokenSeconds <= 3_600)
        // It outlives any attempt that begins with it.
        let attempt = (AppStoreServerLimits.requestTimeoutMilliseconds + 999) / 1_000
        #expect(AppStoreServerLimits.tokenRenewalSeconds > attempt)
    }

    @Test func aTokenIsUsedUntilShortlyBeforeItsEnd() async throws {
        let time = TestTime()
        try await withStore(time: time, answer: { _, _ in Self.found }) { client, store in
            for wait in [0, 1_000, 898_999, 1, 899_999] as [Int64] {
                time.advance(wait)
                _ = try await client.transactionInfo(transactionID: "1")
            }
            let tokens = store.requests.map(\.token)
            #expect(tokens[0] == tokens[1] && tokens[1] == tokens[2])
            #expect(tokens[2] != tokens[3] && tokens[3] == tokens[4])
            #expect(try TestJWS(tokens[3]).claims["iat"] == "1777248900")
        }
    }

    @Test func aTokenOfTheFutureIsMadeAnew() async throws {
        let time = TestTime()
        try await withStore(time: time, answer: { _, _ in Self.found }) { client, store in
            _ = try await client.transactionInfo(transactionID: "1")
            time.advance(-3_600_000)
            _ = try await client.transactionInfo(transactionID: "1")
            #expect(try TestJWS(store.requests[1].token).claims["iat"] == "1777244400")
        }
    }

    @Test func aTokenThatIsNotAcceptedIsNotUsedAgain() async throws {
        let time = TestTime()
        try await withStore(
            time: time, answer: { _, number in number == 1 ? .reply(401, "Unauthenticated\n") : Self.found }
        ) { client, store in
            let error = await #expect(throws: AppStoreServerError.self) {
                try await client.transactionInfo(transactionID: "1")
            }
            #expect(error == .refused(.init(status: 401)) && error?.isRetryable == false)
            time.advance(1_000)
            _ = try await client.transactionInfo(transactionID: "1")
            #expect(store.requests.count == 2 && store.requests[0].token != store.requests[1].token)
        }
    }
}
