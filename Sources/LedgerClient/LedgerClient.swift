public import LedgerWire
import NIOCore
import NIOPosix
import Synchronization

/// A connection to a currency ledger.
///
/// Any number of calls may be made at once: they are sent in the order in which they are made, without waiting for each other,
/// and take effect and are answered in that order. A call throws a ``WireError`` where the ledger or the server refuses it
/// (nothing was changed), and a ``ClientError`` where the connection fails: then a request with a key, a signed transaction or a
/// signed notification may be sent again and is never done twice.
///
/// A call that was made is not taken back by cancelling its task.
public final class LedgerClient: Sendable {
    private let channel: any Channel
    private let connection: ClientConnection
    private let lastID = Atomic<Int64>(0)

    private init(channel: any Channel, connection: ClientConnection) {
        self.channel = channel
        self.connection = connection
    }

    deinit { channel.close(promise: nil) }

    /// Connects, and authenticates where a token is given.
    /// - Throws: ``ClientError/cannotConnect(_:)``; the ``WireError`` of a token that the server does not know.
    public static func connect(to address: ServerAddress, token: String? = nil) async throws -> LedgerClient {
        try await connect(to: address, token: token, replyBytesMax: WireLimits.replyBytesMax)
    }

    static func connect(to address: ServerAddress, token: String?, replyBytesMax: Int) async throws -> LedgerClient {
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.milliseconds(ClientLimits.connectTimeoutMilliseconds))
        // The handler is given back by the initializer, not looked up later: a server that closes at once has removed it by then.
        let initialize: @Sendable (any Channel) -> EventLoopFuture<LedgerClient> = { channel in
            channel.eventLoop.makeCompletedFuture {
                let connection = ClientConnection(eventLoop: channel.eventLoop, replyBytesMax: replyBytesMax)
                try channel.pipeline.syncOperations.addHandler(connection)
                return LedgerClient(channel: channel, connection: connection)
            }
        }
        let client: LedgerClient
        do {
            switch address {
            case .tcp(let host, let port):
                // Requests are written whole: waiting for more to fill a segment would only delay them (RFC 896).
                client = try await bootstrap.channelOption(.tcpOption(.tcp_nodelay), value: 1)
                    .connect(host: host, port: port, channelInitializer: initialize)
            case .unix(let path):
                client = try await bootstrap.connect(unixDomainSocketPath: path, channelInitializer: initialize)
            }
        } catch {
            throw ClientError.cannotConnect("\(error)")
        }
        if let token { _ = try await client.authenticate(token: token) }
        return client
    }

    /// Closes the connection. Calls in flight throw ``ClientError/closed``.
    public func close() async throws {
        connection.refuseFurtherCalls(ClientError.closed)
        do {
            try await channel.close()
        } catch ChannelError.alreadyClosed {
            return
        }
    }

    /// Calls a method by its name, with parameters that are a JSON object (none where empty), and gives the result as JSON.
    /// - Throws: ``ClientError/invalidParams(_:)`` where `params` are no JSON text; ``WireError``; ``ClientError``.
    public func call(method: String, params: [UInt8] = []) async throws -> [UInt8] {
        let id = nextID()
        var writer = RequestWriter(capacity: 128 + method.utf8.count + params.count)
        do {
            try writer.write(method: method, params: params, id: .integer(id))
        } catch {
            throw ClientError.invalidParams(error.description)
        }
        return try await send(writer.bytes, id)
    }

    func call<Value: WireValue>(_ request: Request, _ type: Value.Type = Value.self) async throws -> Value {
        let result = try await call(request)
        do {
            return try Value(json: result)
        } catch {
            throw ClientError.unreadableReply("\(error)")
        }
    }

    /// The result as JSON.
    func call(_ request: Request) async throws -> [UInt8] {
        let id = nextID()
        var writer = RequestWriter(capacity: 256)
        writer.write(request, id: .integer(id))
        return try await send(writer.bytes, id)
    }

    private func nextID() -> Int64 { lastID.add(1, ordering: .relaxed).newValue }

    private func send(_ line: [UInt8], _ id: Int64) async throws -> [UInt8] {
        guard line.count - 1 <= WireLimits.lineBytesMax else { throw ClientError.requestTooLong }
        return try await withCheckedThrowingContinuation { continuation in
            connection.send(line, .call(id: id, continuation))
        }
    }

    /// Sends `count` requests, at most `inFlight` of them unanswered, and hands over their replies in order; for load and tests,
    /// without a task or a lock for each. `write` writes request `index` under `id`, which is the index; `reply` is given the
    /// result as JSON, good during the call only. Both are called on the connection's event loop and must not block.
    /// With several requests a line, each line is a batch.
    /// - Throws: ``ClientError`` where the connection ends before all are answered.
    package func pipeline(
        count: Int, inFlight: Int, requestsPerLine: Int = 1,
        write: @escaping @Sendable (_ index: Int, _ id: RequestID, _ writer: inout RequestWriter) -> Void,
        reply: @escaping @Sendable (_ index: Int, _ result: Result<UnsafeBufferPointer<UInt8>, WireError>) -> Void
    ) async throws {
        try await withCheckedThrowingContinuation { completion in
            connection.run(
                Pipeline(
                    count: count, inFlightMax: inFlight, requestsPerLine: requestsPerLine, write: write, read: reply,
                    completion: completion))
        }
    }
}
