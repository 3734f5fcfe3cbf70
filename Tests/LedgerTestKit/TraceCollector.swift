import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix

/// An OTLP receiver in the test: a real server on a loopback port, which keeps what is posted and answers as told.
package final class TraceCollector: Sendable {
    /// What is done with a request.
    package enum Answer: Sendable {
        case reply(Int, String = "{}")
        /// It is taken, after so many milliseconds.
        case late(Int64)
        /// The connection stays open, and nothing comes.
        case silence
        /// The head of a reply, whose body never comes.
        case head
    }

    /// A request as it came.
    package struct Request: Sendable {
        package var method: String
        package var path: String
        package var contentType: String?
        package var body: String
    }

    private let channel: any Channel
    private let log: NIOLockedValueBox<[Request]>

    package var requests: [Request] { log.withLockedValue { $0 } }

    /// Where spans are posted.
    package var endpoint: String { "http://127.0.0.1:\(channel.localAddress?.port ?? 0)/v1/traces" }

    /// All bytes that came.
    package var text: String { requests.map(\.body).joined(separator: "\n") }

    /// All spans that came, in the order in which they did.
    package var spans: [CollectedSpan] {
        get throws { try requests.flatMap { try CollectedSpan.all(of: $0.body) } }
    }

    /// Waits until a span has come that fits, and gives all of its trace.
    /// - Returns: nothing where none came within ten seconds.
    package func trace(where fits: (CollectedSpan) -> Bool) async throws -> [CollectedSpan] {
        for _ in 0..<2_000 {
            let all = try spans
            if let one = all.first(where: fits) { return all.filter { $0.traceID == one.traceID } }
            try await Task.sleep(for: .milliseconds(5))
        }
        return []
    }

    /// - Parameter answer: what to do with a request, by its number from 1 on.
    package static func start(
        answer: @escaping @Sendable (Int) -> Answer = { _ in .reply(200) }
    ) async throws -> TraceCollector {
        let log = NIOLockedValueBox<[Request]>([])
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.pipeline.configureHTTPServerPipeline().flatMap {
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandlers(
                            NIOHTTPServerRequestAggregator(maxContentLength: .max),
                            Handler(log: log, answer: answer))
                    }
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return TraceCollector(channel: channel, log: log)
    }

    private init(channel: any Channel, log: NIOLockedValueBox<[Request]>) {
        self.channel = channel
        self.log = log
    }

    package func stop() async throws { try await channel.close() }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = NIOHTTPServerRequestFull
        typealias OutboundOut = HTTPServerResponsePart

        private let log: NIOLockedValueBox<[Request]>
        private let answer: @Sendable (Int) -> Answer

        init(log: NIOLockedValueBox<[Request]>, answer: @escaping @Sendable (Int) -> Answer) {
            self.log = log
            self.answer = answer
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let came = unwrapInboundIn(data)
            let request = Request(
                method: came.head.method.rawValue, path: came.head.uri,
                contentType: came.head.headers.first(name: "content-type"),
                body: came.body.map { String(buffer: $0) } ?? "")
            let number = log.withLockedValue { log in
                log.append(request)
                return log.count
            }
            switch answer(number) {
            case .silence: return
            case .head: reply(200, "{}", isWhole: false, context)
            case .reply(let code, let body): reply(code, body, isWhole: true, context)
            case .late(let milliseconds):
                context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(milliseconds)) {
                    self.reply(200, "{}", isWhole: true, context)
                }
            }
        }

        private func reply(_ status: Int, _ text: String, isWhole: Bool, _ context: ChannelHandlerContext) {
            let headers = HTTPHeaders([("content-length", String(text.utf8.count))])
            let response = HTTPResponseHead(
                version: .http1_1, status: HTTPResponseStatus(statusCode: status), headers: headers)
            context.writeAndFlush(wrapOutboundOut(.head(response)), promise: nil)
            if !isWhole { return }
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}

/// A span as a collector reads it.
package struct CollectedSpan: Sendable {
    package struct Malformed: Error {}

    package var traceID: String
    package var spanID: String
    package var parentID: String?
    package var name: String
    package var kind: Int
    /// Nanoseconds since the UNIX epoch.
    package var begin: UInt64
    package var end: UInt64
    /// Integers as their digits.
    package var attributes: [String: String]
    /// 2 where it has an error; `nil` where nothing is said of that.
    package var status: Int?
    /// Attributes of what it is of.
    package var resource: [String: String]

    /// Whether the identifiers are as they have to be.
    package var isWellFormed: Bool {
        func isHexadecimal(_ text: String, _ count: Int) -> Bool {
            text.utf8.count == count && text.allSatisfy { "0123456789abcdef".contains($0) }
                && !text.allSatisfy { $0 == "0" }
        }
        return isHexadecimal(traceID, 32) && isHexadecimal(spanID, 16)
            && parentID.map { isHexadecimal($0, 16) } ?? true
    }

    /// The spans of an `ExportTraceServiceRequest`.
    package static func all(of body: String) throws -> [CollectedSpan] {
        guard let request = try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any] else {
            throw Malformed()
        }
        return try objects(request, "resourceSpans").flatMap { part in
            let resource = try attributes(of: part["resource"] as? [String: Any] ?? [:])
            return try objects(part, "scopeSpans").flatMap { try objects($0, "spans") }
                .map { try CollectedSpan($0, of: resource) }
        }
    }

    private init(_ json: [String: Any], of resource: [String: String]) throws {
        guard let traceID = json["traceId"] as? String, let spanID = json["spanId"] as? String,
            let name = json["name"] as? String, let kind = json["kind"] as? Int,
            let begin = (json["startTimeUnixNano"] as? String).flatMap({ UInt64($0) }),
            let end = (json["endTimeUnixNano"] as? String).flatMap({ UInt64($0) })
        else { throw Malformed() }
        self.traceID = traceID
        self.spanID = spanID
        parentID = json["parentSpanId"] as? String
        self.name = name
        self.kind = kind
        self.begin = begin
        self.end = end
        attributes = try CollectedSpan.attributes(of: json)
        status = (json["status"] as? [String: Any])?["code"] as? Int
        self.resource = resource
    }

    private static func objects(_ json: [String: Any], _ name: String) throws -> [[String: Any]] {
        guard let objects = json[name] as? [[String: Any]] else { throw Malformed() }
        return objects
    }

    private static func attributes(of json: [String: Any]) throws -> [String: String] {
        var attributes: [String: String] = [:]
        for attribute in json["attributes"] as? [[String: Any]] ?? [] {
            // A 64-bit integer is a string in this JSON.
            guard let key = attribute["key"] as? String, let value = attribute["value"] as? [String: Any],
                let text = value["stringValue"] as? String ?? value["intValue"] as? String,
                attributes.updateValue(text, forKey: key) == nil
            else { throw Malformed() }
        }
        return attributes
    }
}
