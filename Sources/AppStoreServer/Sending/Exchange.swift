internal import AppStore
internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import StrictJSON

/// Sends a request once, and reads what comes back.
struct Exchange: Sendable {
    let http: HTTPClient
    let address: AppStoreAddress
    /// From the connection to the end of the reply.
    let timeoutMilliseconds: Int64

    /// - Parameter now: when the reply is there, in milliseconds since the UNIX epoch.
    func send(_ request: APIRequest, token: String, now: @escaping @Sendable () -> Int64) async -> AttemptEnd {
        // The client's own deadline ends with the reply's head; this one is for all of it.
        await withTaskGroup(of: AttemptEnd.self) { group in
            group.addTask { await attempt(request, token, now) }
            group.addTask {
                let isOver = (try? await Task.sleep(for: .milliseconds(timeoutMilliseconds))) != nil
                return isOver ? .timedOut : .cancelled
            }
            let end = await group.next()
            group.cancelAll()
            // Of a task that is cancelled, what was read may be a part only.
            return Task.isCancelled ? .cancelled : end ?? .cancelled
        }
    }

    private func attempt(_ request: APIRequest, _ token: String, _ now: () -> Int64) async -> AttemptEnd {
        do {
            let deadline = NIODeadline.now() + .milliseconds(timeoutMilliseconds)
            let response = try await http.execute(message(request, token), deadline: deadline)
            guard (200...299).contains(response.status.code) else { return await refusal(response, now) }
            let body = try await response.body.collect(upTo: AppStoreServerLimits.replyBytesMax)
            return .succeeded(body: Array(body.readableBytesView))
        } catch {
            return Exchange.end(after: error)
        }
    }

    private func message(_ request: APIRequest, _ token: String) -> HTTPClientRequest {
        var message = HTTPClientRequest(url: address.description + request.target)
        message.method = request.endpoint.method
        message.headers.add(name: "Authorization", value: "Bearer \(token)")
        message.headers.add(name: "Accept", value: "application/json")
        message.headers.add(name: "User-Agent", value: "currency-ledger")
        if let body = request.body {
            message.headers.add(name: "Content-Type", value: "application/json")
            message.body = .bytes(ByteBuffer(bytes: body))
        }
        return message
    }

    // MARK: Refusals

    private func refusal(_ response: HTTPClientResponse, _ now: () -> Int64) async -> AttemptEnd {
        // A body that is not whole, not readable or too long says nothing: the status says enough.
        let body = try? await response.body.collect(upTo: AppStoreServerLimits.refusalBytesMax)
        var refusal = Exchange.refusal(body.map { Array($0.readableBytesView) } ?? [])
        refusal.status = Int(response.status.code)
        refusal.retryAfter = response.headers.first(name: "Retry-After").flatMap {
            RateLimits.time(ofHeader: $0, now: now())
        }
        return .refused(refusal)
    }

    /// Apple's number and sentence, as far as the body has them: gateways answer in HTML, and 401 with a word.
    private static func refusal(_ body: [UInt8]) -> AppStoreServerError.Refusal {
        var refusal = AppStoreServerError.Refusal(status: 0)
        let read = try? JSONBody.read(body) { (reader) throws(JSONError) in
            var read = refusal
            try reader.object { (reader, key) throws(JSONError) in
                switch key {
                case "errorCode": read.code = APIErrorCode(rawValue: try reader.integer())
                case "errorMessage":
                    read.message = ForeignText.shown(
                        try reader.string(), bytesMax: AppStoreServerLimits.messageBytesMax)
                default: try reader.skip()
                }
            }
            return read
        }
        if let read { refusal = read }
        return refusal
    }

    // MARK: Failures

    private static func end(after error: any Error) -> AttemptEnd {
        switch error {
        case is CancellationError: .cancelled
        case is NIOTooManyBytesError: .failed(.replyTooLong)
        case let error as HTTPClientError: end(after: error)
        case let error as NIOConnectionError: .notConnected(words(error))
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            .notConnected("TLS: the server's certificate does not name its address")
        // Those of a handshake. Behind it the request may have been sent: any other error of TLS may be of later.
        case NIOSSLError.handshakeFailed, is NIOSSLExtraError: .notConnected("TLS: \(error)")
        case is NIOSSLError, is BoringSSLError: .lost("TLS: \(error)")
        case let error as IOError where error.isOfConnecting: .notConnected("\(error)")
        default: .lost("\(error)")
        }
    }

    private static func end(after error: HTTPClientError) -> AttemptEnd {
        switch error {
        case .connectTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout:
            .notConnected(error.shortDescription)
        case .deadlineExceeded, .readTimeout, .writeTimeout: .timedOut
        // The client was shut down meanwhile, where nobody has cancelled.
        case .cancelled: Task.isCancelled ? .cancelled : .failed(.shutDown)
        case .alreadyShutdown: .failed(.shutDown)
        default: .lost(error.shortDescription)
        }
    }

    /// Why no address of the host took a connection: each differently, perhaps.
    private static func words(_ error: NIOConnectionError) -> String {
        if let first = error.connectionErrors.first { return "\(first.error)" }
        if let first = error.dnsAError ?? error.dnsAAAAError { return "\(error.host) has no address: \(first)" }
        return "\(error.host):\(error.port)"
    }
}
