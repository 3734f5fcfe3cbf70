import AsyncHTTPClient
import NIOCore
import StrictJSON

/// The OTLP receiver, over HTTP.
struct Collector: Sendable {
    /// What came of a request.
    enum Reply: Sendable, Equatable {
        /// It is taken, but for so many spans that the collector does not want.
        case taken(refused: Int)
        /// The collector does not want it, and would not if it came again.
        case refused(String)
        /// It may come again.
        case failed(String)
    }

    private let http: HTTPClient
    private let endpoint: TraceEndpoint

    /// ``shutDown()`` must be called in the end.
    init(_ endpoint: TraceEndpoint, connectMilliseconds: Int64) {
        var settings = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: HTTPClient.Configuration.Timeout(connect: .milliseconds(connectMilliseconds)),
            // A small reply could unpack to a large one.
            decompression: .disabled)
        settings.httpVersion = .http1Only
        settings.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 1
        // What is tried again, and when, is the exporter's to decide.
        settings.connectionPool.retryConnectionEstablishment = false
        http = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: settings)
        self.endpoint = endpoint
    }

    func shutDown() async {
        // It fails only where it was shut down already.
        try? await http.shutdown()
    }

    /// - Parameter timeoutMilliseconds: from the connection to the end of the reply.
    func send(_ body: [UInt8], timeoutMilliseconds: Int64) async -> Reply {
        // The client's own deadline ends with the reply's head; this one is for all of it.
        await withTaskGroup(of: Reply.self) { group in
            group.addTask { await post(body, timeoutMilliseconds) }
            group.addTask {
                try? await Task.sleep(for: .milliseconds(timeoutMilliseconds))
                return .failed("there was no whole reply in time")
            }
            let reply = await group.next()
            group.cancelAll()
            return reply ?? .failed("it was not sent")
        }
    }

    private func post(_ body: [UInt8], _ timeoutMilliseconds: Int64) async -> Reply {
        var request = HTTPClientRequest(url: endpoint.description)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        request.headers.add(name: "User-Agent", value: "currency-ledger")
        request.body = .bytes(ByteBuffer(bytes: body))
        do {
            let response = try await http.execute(
                request, deadline: NIODeadline.now() + .milliseconds(timeoutMilliseconds))
            let said = try? await response.body.collect(upTo: TraceExportLimits.replyBytesMax)
            // Of a reply that was broken off nobody knows what it would have said.
            if Task.isCancelled { return .failed("there was no whole reply in time") }
            switch response.status.code {
            case 200...299:
                return .taken(refused: Collector.refusedCount(Array(said?.readableBytesView ?? ByteBufferView())))
            // OTLP, "Retryable Response Codes".
            case 429, 502, 503, 504: return .failed("HTTP \(response.status.code)")
            default: return .refused("HTTP \(response.status.code)")
            }
        } catch {
            return .failed("\(error)")
        }
    }

    /// `partialSuccess.rejectedSpans` of an `ExportTraceServiceResponse`; 0 where it says nothing of that, or is none.
    static func refusedCount(_ json: [UInt8]) -> Int {
        let count = json.withUnsafeBufferPointer { bytes -> Int64 in
            var (reader, count) = (JSONReader(bytes), Int64(0))
            do throws(JSONError) {
                try reader.object { (reader, key) throws(JSONError) in
                    guard key == "partialSuccess" else { return try reader.skip() }
                    try reader.object { (reader, key) throws(JSONError) in
                        guard key == "rejectedSpans" else { return try reader.skip() }
                        // A 64-bit integer, which is a string as it is sent, and may be a number too.
                        if try reader.peek() == .string {
                            count = Int64(try reader.string()) ?? 0
                        } else {
                            count = try reader.integer()
                        }
                    }
                }
            } catch {
                return 0
            }
            return count
        }
        return Int(clamping: max(0, count))
    }
}
