internal import AppStore
internal import AsyncHTTPClient
internal import NIOCore
internal import NIOSSL
internal import StrictJSON

/// A client of Apple's App Store Server API (version 1.21), for one app and one environment.
///
/// **Trust.** What the App Store signed comes as text, a JWS each: a `Verifier` says whether it is to be believed. The
/// client believes nothing that comes over the network, and keeps none of it.
///
/// **Repetition.** Where no connection is made, one is lost, no reply comes in time, or the App Store fails (status 500
/// and above) or says to try again, the request is sent again as ``RetryPolicy`` says. All calls may be repeated
/// without harm but ``requestTestNotification()``, which is sent again only where it was certainly not carried out.
///
/// **Rates.** Apple counts requests of each kind by the hour. After status 429 no request of that kind is sent before
/// the time that Apple named: a call waits for it where its policy allows, and else throws at once with that time in
/// ``AppStoreServerError/Refusal/retryAfter``.
///
/// **Cancellation.** A call whose task is cancelled throws `CancellationError` at once. What was sent may be carried
/// out.
public final class AppStoreServerClient: Sendable {
    /// What a client is told, beside its key.
    public struct Configuration: Sendable {
        /// The app, as in its `Info.plist`.
        public var bundleID: String
        /// Whom to ask.
        public var address: AppStoreAddress
        /// What is sent again, and when.
        public var retries: RetryPolicy
        /// Milliseconds that one attempt may take, from the connection to the end of the reply.
        public var requestTimeoutMilliseconds: Int64

        /// Describes a client.
        public init(
            bundleID: String, address: AppStoreAddress, retries: RetryPolicy = .standard,
            requestTimeoutMilliseconds: Int64 = AppStoreServerLimits.requestTimeoutMilliseconds
        ) {
            precondition(requestTimeoutMilliseconds > 0, "a reply takes some time")
            self.bundleID = bundleID
            self.address = address
            self.retries = retries
            self.requestTimeoutMilliseconds = requestTimeoutMilliseconds
        }
    }

    private let exchange: Exchange
    private let tokens: BearerTokens
    private let limits = RateLimits()
    private let retries: RetryPolicy
    private let pacing: Pacing

    /// Makes a client. No connection is made before the first call. ``shutDown()`` must be called in the end.
    public convenience init(key: InAppPurchaseKey, configuration: Configuration) {
        self.init(
            key: key, configuration: configuration, tls: TLSConfiguration.makeClientConfiguration(), pacing: .system)
    }

    init(key: InAppPurchaseKey, configuration: Configuration, tls: TLSConfiguration, pacing: Pacing) {
        var tls = tls
        // "Your server must support the Transport Layer Security (TLS) protocol 1.2 or later."
        tls.minimumTLSVersion = .tlsv12
        var http = HTTPClient.Configuration(
            tlsConfiguration: tls,
            // Apple's servers send nobody elsewhere, and the token is for nobody else.
            redirectConfiguration: .disallow,
            timeout: HTTPClient.Configuration.Timeout(
                connect: .milliseconds(AppStoreServerLimits.connectTimeoutMilliseconds)),
            // A small reply could unpack to a large one.
            decompression: .disabled)
        http.httpVersion = .automatic
        http.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = AppStoreServerLimits.connectionsMax
        // The policy says what is tried again.
        http.connectionPool.retryConnectionEstablishment = false
        exchange = Exchange(
            http: HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: http),
            address: configuration.address, timeoutMilliseconds: configuration.requestTimeoutMilliseconds)
        tokens = BearerTokens(key: key, bundleID: configuration.bundleID)
        retries = configuration.retries
        self.pacing = pacing
    }

    /// Makes a client, and shuts it down when `body` has ended.
    @discardableResult
    public static func with<Result>(
        key: InAppPurchaseKey, configuration: Configuration,
        _ body: (AppStoreServerClient) async throws -> Result
    ) async throws -> Result {
        let client = AppStoreServerClient(key: key, configuration: configuration)
        do {
            let result = try await body(client)
            await client.shutDown()
            return result
        } catch {
            await client.shutDown()
            throw error
        }
    }

    /// Closes the connections. Calls in flight fail, and further ones throw ``AppStoreServerError/shutDown``. A second
    /// time it does nothing.
    public func shutDown() async {
        // It fails only where it was shut down already.
        try? await exchange.http.shutdown()
    }

    /// Sends a request as often as the policy allows, and gives the body of the reply.
    /// - Parameter own: the call's own policy; `nil` for the client's.
    func send(_ request: APIRequest, retries own: RetryPolicy? = nil) async throws -> [UInt8] {
        var retry = Retry(
            policy: own ?? retries, isRepeatable: request.endpoint.isRepeatable, startedAt: pacing.now())
        while true {
            try Task.checkCancellation()
            let end = try await attempt(request)
            switch retry.step(after: end, now: pacing.now(), jitter: pacing.jitter) {
            case .finish(let result): return try result.get()
            case .again(let milliseconds): try await pacing.sleep(milliseconds)
            }
        }
    }

    private func attempt(_ request: APIRequest) async throws(AppStoreServerError) -> AttemptEnd {
        if let time = limits.wait(for: request.endpoint, now: pacing.now()) {
            return .refused(
                AppStoreServerError.Refusal(
                    status: 429, code: .rateLimitExceeded, message: "not sent: Apple named a time to come again",
                    retryAfter: time))
        }
        let token = try tokens.token(now: pacing.now())
        let end = await exchange.send(request, token: token, now: pacing.now)
        if case .refused(let refusal) = end {
            if refusal.status == 401 { tokens.drop(token) }
            if refusal.isOfTheRate, let time = refusal.retryAfter { limits.note(time, for: request.endpoint) }
        }
        return end
    }

    /// Sends a request, and reads the reply.
    func send<Reply>(
        _ request: APIRequest, _ read: (inout JSONReader) throws(JSONError) -> Reply
    ) async throws -> Reply {
        let body = try await send(request)
        do {
            return try JSONBody.read(body, read)
        } catch {
            // It may name members of the reply, which are the other side's words.
            throw AppStoreServerError.unreadableReply(
                ForeignText.shown("\(error)", bytesMax: AppStoreServerLimits.messageBytesMax))
        }
    }
}
