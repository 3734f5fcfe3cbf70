import LedgerWire
import NIOConcurrencyHelpers
import NIOCore

/// One connection: requests go out in the order in which they came, and each reply belongs to the oldest request
/// without one.
///
/// Any thread may `perform` a call; what is sent within one turn of the event loop leaves in one write. Everything but
/// the outbox is touched on the event loop only.
final class ClientConnection: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// What waits for replies, in the order sent.
    private enum Waiting {
        case call(PendingCall)
        /// One line of a pipeline, with the replies that it asks for.
        case line(Pipeline, requests: Range<Int>)
    }

    let channel: any Channel
    /// Where its other end is.
    let address: ServerAddress
    private let replyBytesMax: Int
    /// How long nothing may come on a connection where a call times out; `nil` where it is kept in any case.
    private let silenceMax: TimeAmount?
    private let outbox: NIOLockedValueBox<Outbox>
    /// Why it ended, where its token has come to open another ledger.
    private let otherLedger = NIOLockedValueBox<WireError?>(nil)
    private var context: ChannelHandlerContext?
    private var waiting = CircularBuffer<Waiting>(initialCapacity: 64)
    private var pipelines: [Pipeline] = []
    private var inbound = ByteBuffer()
    private var cutter: LineCutter
    private var lastRead = NIODeadline.distantPast
    private var timer: (deadline: NIODeadline, task: Scheduled<Void>)?
    /// What was answered in this turn of the event loop.
    private var answered = (calls: 0, bytes: 0)

    /// Why nothing that was sent on it is sent again; `nil` where that may be.
    var refusal: WireError? { otherLedger.withLockedValue { $0 } }

    init(channel: any Channel, to address: ServerAddress, configuration: ClientConfiguration) {
        self.channel = channel
        self.address = address
        replyBytesMax = configuration.replyBytesMax
        cutter = LineCutter(lineBytesMax: configuration.replyBytesMax)
        silenceMax =
            configuration.retryPolicy.reconnects
            ? .milliseconds(configuration.requestTimeoutMilliseconds / ClientLimits.silentPartOfTimeout) : nil
        outbox = NIOLockedValueBox(
            Outbox(
                inFlightMax: configuration.requestsInFlightMax, bytesInFlightMax: ClientLimits.bytesInFlightMax))
    }

    /// How many calls were answered.
    var answers: Int { outbox.withLockedValue { $0.answers } }

    // MARK: Sending

    /// Sends a request, whose line ends with `\n`, and waits for what becomes of it. Called on any thread.
    func perform(id: Int64, line: [UInt8], deadline: NIODeadline) async -> AttemptEnd {
        await end(of: begin([PendingCall(id: id, line: line, deadline: deadline)])[0])
    }

    /// Sends requests in their order, without others between them. Called on any thread.
    func begin(_ calls: [PendingCall]) -> [PendingCall] {
        let (end, mustSchedule) = outbox.withLockedValue { outbox -> ((any Error)?, Bool) in
            if let end = outbox.end { return (end, false) }
            var mustWatch = false
            for call in calls {
                outbox.add(call)
                if outbox.watch.map({ call.deadline < $0 }) ?? true {
                    outbox.watch = call.deadline
                    mustWatch = true
                }
            }
            guard !outbox.isScheduled, mustWatch || !outbox.bytes.isEmpty else { return (nil, false) }
            outbox.isScheduled = true
            return (nil, true)
        }
        if let end { for call in calls { call.disconnect(end) } }
        if mustSchedule { channel.eventLoop.execute { self.drain() } }
        return calls
    }

    /// Waits for what becomes of a request that was sent. Called on any thread.
    func end(of call: PendingCall) async -> AttemptEnd {
        await call.outcome { self.outbox.withLockedValue { $0.noteAbandoned() } }
    }

    /// Called on any thread.
    func run(_ pipeline: Pipeline) { channel.eventLoop.execute { self.begin(pipeline) } }

    /// Ends the connection from this side. Called on any thread.
    func close(_ error: any Error) async throws {
        refuseFurtherCalls(error)
        do {
            try await channel.close()
        } catch ChannelError.alreadyClosed {
            return
        }
    }

    /// Ends the connection from this side, without waiting for it. Called on any thread.
    func abandon(_ error: any Error) {
        refuseFurtherCalls(error)
        channel.close(promise: nil)
    }

    /// Ends the connection once its other end is silent: for so long nothing has come, from now on, and what waits for
    /// an answer was sent so long ago. Called on any thread.
    func end(onceSilentFor time: TimeAmount) {
        let begin = NIODeadline.now()
        channel.eventLoop.execute { self.endWhereSilent(for: time, since: begin) }
    }

    private func endWhereSilent(for time: TimeAmount, since begin: NIODeadline) {
        guard context != nil else { return }
        drain()
        var end = max(begin, lastRead) + time
        if case .call(let oldest)? = waiting.first { end = max(end, oldest.sentAt + time) }
        if end <= .now() {
            self.end(ClientError.connectionLost("another node leads, and this one is silent"))
        } else {
            channel.eventLoop.scheduleTask(deadline: end) { self.endWhereSilent(for: time, since: begin) }
        }
    }

    private func refuseFurtherCalls(_ error: any Error) {
        outbox.withLockedValue { outbox in
            if outbox.end == nil { outbox.end = error }
        }
    }

    private func drain() {
        guard let context else { return }
        var bytes = ByteBuffer()
        let now = NIODeadline.now()
        let watch = outbox.withLockedValue { outbox in
            outbox.fetch(into: &bytes) { call in
                call.sentAt = now
                waiting.append(.call(call))
            }
            return outbox.watch
        }
        arm(watch)
        guard bytes.readableBytes > 0 else { return }
        context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
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

    // MARK: Deadlines

    private func arm(_ deadline: NIODeadline?) {
        guard let deadline else { return }
        if let timer {
            guard deadline < timer.deadline else { return }
            timer.task.cancel()
        }
        timer = (deadline, channel.eventLoop.scheduleTask(deadline: deadline) { self.endOverdueCalls() })
    }

    /// One timer serves all calls: their deadlines are mostly the same time ahead, and few are ever reached.
    private func endOverdueCalls() {
        timer = nil
        let now = NIODeadline.now()
        var next: NIODeadline?
        var isSilent = false
        func visit(_ call: PendingCall) {
            guard !call.hasEnded else { return }
            guard call.deadline <= now else {
                next = next.map { min($0, call.deadline) } ?? call.deadline
                return
            }
            guard call.timeOut() else { return }
            // What still waits for room has not been sent at any time.
            guard let silenceMax, call.sentAt != .distantPast else { return }
            if now - max(call.sentAt, lastRead) >= silenceMax { isSilent = true }
        }
        for case .call(let call) in waiting { visit(call) }
        let watch = outbox.withLockedValue { outbox in
            let unsent = outbox.calls + outbox.queue
            unsent.forEach(visit)
            outbox.prune()
            outbox.watch = next
            return next
        }
        if isSilent { return end(ClientError.connectionLost("the server has been silent for a request's timeout")) }
        arm(watch)
    }

    // MARK: Receiving

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        lastRead = .now()
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
        release()
        fill()
    }

    /// Gives the room of what was answered to calls that wait for it.
    private func release() {
        guard answered.calls > 0 else { return }
        let hasMore = outbox.withLockedValue { outbox in
            outbox.release(calls: answered.calls, bytes: answered.bytes)
            return !outbox.bytes.isEmpty
        }
        answered = (0, 0)
        if hasMore { drain() }
    }

    /// A line without its end; `nil` until the next one is whole.
    private func nextLine() throws(ClientError) -> ByteBuffer? {
        switch inbound.withUnsafeReadableBytes({ cutter.front(of: $0) }) {
        case .line(let range, let end):
            let line = inbound.getSlice(at: inbound.readerIndex + range.lowerBound, length: range.count)
            drop(end)
            return line
        case .unfinished(let empty):
            drop(empty)
            return nil
        case .tooLong:
            throw .unreadableReply("a line is longer than \(replyBytesMax) bytes")
        }
    }

    private func drop(_ count: Int) {
        inbound.moveReaderIndex(forwardBy: count)
        cutter.dropped(count)
    }

    /// Throws where replies can no longer be told apart.
    private func read(_ bytes: UnsafeBufferPointer<UInt8>) throws(ClientError) {
        let reply: ReplyLine
        do {
            reply = try ReplyLine(bytes)
        } catch {
            throw .unreadableReply(error.description)
        }
        if let error = reply.otherLedger { throw refuseWaiting(error) }
        guard let oldest = waiting.popFirst() else { return try unasked(reply) }
        switch (oldest, reply) {
        case (.call(let call), .single(let message)) where message.answers(.integer(call.id)):
            answered.calls += 1
            answered.bytes += call.line.count
            call.answer(message.body.map { Array(bytes[$0]) })
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

    /// The token opens another ledger now. What was sent for the former one and has no answer is not sent again: over
    /// another connection it would be for the other. What was not sent goes on there.
    private func refuseWaiting(_ error: WireError) -> ClientError {
        otherLedger.withLockedValue { $0 = error }
        while let oldest = waiting.popFirst() {
            switch oldest {
            case .call(let call): call.answer(.failure(error))
            case .line(let pipeline, _): pipeline.fail(error)
            }
        }
        return .connectionLost("the token opens another ledger now")
    }

    /// JSON-RPC 2.0 §5: an error with the id null where no request is waiting, as a server sends that has too many
    /// connections.
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
        end(ClientError.connectionLost(ClientTLS.words(error) ?? "\(error)"))
    }

    /// Fails everything that waits, with the first reason that there was.
    private func end(_ error: any Error) {
        let (reason, unsent) = outbox.withLockedValue { $0.finish(error) }
        timer?.task.cancel()
        timer = nil
        while let oldest = waiting.popFirst() {
            switch oldest {
            case .call(let call): call.disconnect(reason)
            case .line(let pipeline, _): pipeline.fail(reason)
            }
        }
        for call in unsent { call.disconnectUnwritten(reason) }
        for pipeline in pipelines { pipeline.fail(reason) }
        pipelines = []
        context?.close(promise: nil)
    }
}

extension ReplyLine {
    /// Why a server ends a connection whose token opens another ledger now. It is no answer to the oldest request: a
    /// server that refuses that one for this reason could read it, and knows its id.
    fileprivate var otherLedger: WireError? {
        guard case .single(let message) = self, message.id == .null, case .failure(let error) = message.body,
            error.isLedgerRequired || error.isInOtherLedger
        else { return nil }
        return error
    }
}

extension ReplyMessage {
    /// Whether it is the reply to this request. An error with the id null is: replies come in order, and the server
    /// could not read this one.
    func answers(_ id: RequestID) -> Bool {
        if self.id == id { return true }
        guard self.id == .null, case .failure = body else { return false }
        return true
    }
}
