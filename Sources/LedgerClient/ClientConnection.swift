import LedgerWire
import NIOConcurrencyHelpers
import NIOCore

/// One connection: requests go out in the order in which they came, and each reply belongs to the oldest request without one.
///
/// Any thread may `send`; what is sent within one turn of the event loop leaves in one write. Everything but the outbox is
/// touched on the event loop only.
final class ClientConnection: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// What waits for replies. `sent` lines keep their order.
    enum Waiting {
        case call(id: Int64, CheckedContinuation<[UInt8], any Error>)
        /// One line of a pipeline, with the replies that it asks for.
        case line(Pipeline, requests: Range<Int>)
    }

    private struct Outbox {
        var bytes: [UInt8] = []
        var waiting: [Waiting] = []
        var isScheduled = false
        /// Why nothing can be sent any more.
        var end: (any Error)?
    }

    private let outbox = NIOLockedValueBox(Outbox())
    private let eventLoop: any EventLoop
    private let replyBytesMax: Int
    private var context: ChannelHandlerContext?
    private var waiting = CircularBuffer<Waiting>(initialCapacity: 64)
    private var pipelines: [Pipeline] = []
    private var inbound = ByteBuffer()
    /// Bytes of `inbound` known to hold no line end.
    private var scanned = 0

    init(eventLoop: any EventLoop, replyBytesMax: Int) {
        self.eventLoop = eventLoop
        self.replyBytesMax = replyBytesMax
    }

    // MARK: Sending

    /// `line` ends with `\n`. Called on any thread.
    func send(_ line: [UInt8], _ call: Waiting) {
        let (end, mustSchedule) = outbox.withLockedValue { outbox -> ((any Error)?, Bool) in
            if let end = outbox.end { return (end, false) }
            outbox.bytes.append(contentsOf: line)
            outbox.waiting.append(call)
            let mustSchedule = !outbox.isScheduled
            outbox.isScheduled = true
            return (nil, mustSchedule)
        }
        if let end { return ClientConnection.fail(call, end) }
        if mustSchedule { eventLoop.execute { self.drain() } }
    }

    /// Called on any thread.
    func run(_ pipeline: Pipeline) { eventLoop.execute { self.begin(pipeline) } }

    /// Ends the connection from this side. Called on any thread.
    func refuseFurtherCalls(_ error: any Error) {
        outbox.withLockedValue { outbox in
            if outbox.end == nil { outbox.end = error }
        }
    }

    private func drain() {
        var bytes = ByteBuffer()
        outbox.withLockedValue { outbox in
            outbox.isScheduled = false
            bytes.writeBytes(outbox.bytes)
            outbox.bytes.removeAll(keepingCapacity: outbox.bytes.capacity <= ClientLimits.keptBufferBytesMax)
            for call in outbox.waiting { waiting.append(call) }
            outbox.waiting.removeAll(keepingCapacity: true)
        }
        guard bytes.readableBytes > 0 else { return }
        context?.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
    }

    private func begin(_ pipeline: Pipeline) {
        if let end = outbox.withLockedValue({ $0.end }) { return pipeline.fail(end) }
        pipelines.append(pipeline)
        fill()
    }

    /// Sends what pipelines may send now, in one write.
    private func fill() {
        guard !pipelines.isEmpty else { return }
        drain()
        for pipeline in pipelines {
            let bytes = pipeline.next { requests in waiting.append(.line(pipeline, requests: requests)) }
            guard !bytes.isEmpty else { continue }
            context?.write(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
        }
        context?.flush()
    }

    // MARK: Receiving

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        if inbound.readableBytes == 0 {
            inbound = bytes
        } else {
            inbound.writeBuffer(&bytes)
        }
        do {
            while let line = try nextLine() {
                try line.withUnsafeReadableBytes { try self.read($0.bindMemory(to: UInt8.self)) }
            }
        } catch {
            return end(error)
        }
        if inbound.readableBytes == 0 { inbound = ByteBuffer() } else { inbound.discardReadBytes() }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        pipelines.removeAll { $0.isDone }
        fill()
    }

    /// A line without its end; `nil` until the next one is whole.
    private func nextLine() throws(ClientError) -> ByteBuffer? {
        let end = inbound.withUnsafeReadableBytes { bytes in bytes[scanned...].firstIndex(of: UInt8(ascii: "\n")) }
        guard let end else {
            scanned = inbound.readableBytes
            guard scanned <= replyBytesMax else {
                throw .unreadableReply("a line is longer than \(replyBytesMax) bytes")
            }
            return nil
        }
        scanned = 0
        let line = inbound.readSlice(length: end)
        inbound.moveReaderIndex(forwardBy: 1)
        return line
    }

    /// Throws where replies can no longer be told apart.
    private func read(_ bytes: UnsafeBufferPointer<UInt8>) throws(ClientError) {
        let reply: ReplyLine
        do {
            reply = try ReplyLine(bytes)
        } catch {
            throw .unreadableReply(error.description)
        }
        guard let oldest = waiting.popFirst() else { return try unasked(reply) }
        switch (oldest, reply) {
        case (.call(let id, let continuation), .single(let message)) where message.answers(.integer(id)):
            continuation.resume(with: message.body.map { Array(bytes[$0]) }.mapError { $0 })
        case (.line(let pipeline, let requests), _):
            do throws(ClientError) {
                try pipeline.read(reply, requests, bytes)
            } catch {
                waiting.prepend(oldest)
                throw error
            }
        case (.call, .single), (.call, .batch):
            waiting.prepend(oldest)
            throw .unreadableReply("it is not for the oldest request without one")
        }
    }

    /// JSON-RPC 2.0 §5: an error with the id null where no request is waiting, as a server sends that has too many connections.
    private func unasked(_ reply: ReplyLine) throws(ClientError) {
        guard case .single(let message) = reply, message.id == .null, case .failure(let error) = message.body else {
            throw .unreadableReply("nothing was asked")
        }
        refuseFurtherCalls(error)
    }

    // MARK: The connection's life

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelInactive(context: ChannelHandlerContext) {
        end(ClientError.connectionLost("the server closed it"))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end(ClientError.connectionLost("\(error)"))
    }

    /// Fails everything that waits, with the first reason that there was.
    private func end(_ error: any Error) {
        let (reason, unsent) = outbox.withLockedValue { outbox -> (any Error, [Waiting]) in
            let reason = outbox.end ?? error
            outbox.end = reason
            let unsent = outbox.waiting
            outbox.waiting = []
            outbox.bytes = []
            return (reason, unsent)
        }
        while let call = waiting.popFirst() { ClientConnection.fail(call, reason) }
        for call in unsent { ClientConnection.fail(call, reason) }
        for pipeline in pipelines { pipeline.fail(reason) }
        pipelines = []
        context?.close(promise: nil)
    }

    private static func fail(_ waiting: Waiting, _ error: any Error) {
        switch waiting {
        case .call(_, let continuation): continuation.resume(throwing: error)
        case .line(let pipeline, _): pipeline.fail(error)
        }
    }
}

extension ReplyMessage {
    /// Whether it is the reply to this request. An error with the id null is: replies come in order, and the server could not
    /// read this one.
    func answers(_ id: RequestID) -> Bool {
        if self.id == id { return true }
        guard self.id == .null, case .failure = body else { return false }
        return true
    }
}
