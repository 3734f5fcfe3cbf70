import Ledger
import LedgerWire
import Logging
import NIOCore
import NIOPosix

/// One connection: bytes to lines to the connection's state, and replies back.
///
/// Everything here is touched only on the channel's event loop; other threads reach it by `eventLoop.execute`.
///
/// Phases: *open*; *ending* (nothing new is carried out: shutdown, or a line too long; everything accepted is still
/// answered); *lingering* (all answered and our side closed; what the client still sends is read and dropped, because
/// closing a socket with unread bytes resets it and takes replies away that are on their way); *closed*.
final class ConnectionHandler: ChannelDuplexHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum Phase {
        case open
        case ending
        case lingering
        case closed
    }

    /// A read of the journal that waits for a first new entry; the requests behind it wait with it.
    private struct Parked {
        let query: JournalQuery
        let ticket: JournalWatch.Ticket
        let timeout: Scheduled<Void>
    }

    /// A reply buffer that is kept for the next turn; one grown larger by a report is given back.
    private static let keptReplyBytesMax = 64 << 10

    private let service: ConnectionServices
    private var state: ConnectionState
    private var lines: LineSplitter
    private var writer = ReplyWriter()
    private var phase = Phase.open
    private var context: ChannelHandlerContext?
    private var lane: Lane?
    private var parked: Parked?
    /// The client sends nothing more.
    private var isInputClosed = false
    /// After a line too long nobody knows where the next one begins.
    private var isDeaf = false
    /// The channel asked to read while that was not wanted.
    private var isReadHeld = false
    private var isPumping = false
    private var mustPumpAgain = false

    init(_ service: ConnectionServices) {
        self.service = service
        state = ConnectionState(tokens: service.tokens, info: service.info, limits: service.limits)
        lines = LineSplitter(lineBytesMax: WireLimits.lineBytesMax)
    }

    // MARK: Channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        lane = Lane(eventLoop: context.eventLoop) { [weak self] results in self?.deliver(results) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        phase = .closed
        _ = unpark()
        lines.removeAll()
        self.context = nil
    }

    func channelActive(context: ChannelHandlerContext) {
        // A shutdown may have overtaken the connection while it was being set up.
        pump()
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        phase = .closed
        _ = unpark()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isDeaf, phase == .open || phase == .ending else { return }
        var bytes = unwrapInboundIn(data)
        lines.append(&bytes)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        pump()
        context.fireChannelReadComplete()
    }

    func read(context: ChannelHandlerContext) {
        if wantsInput { context.read() } else { isReadHeld = true }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { pump() }
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .some(.inputClosed) = event as? ChannelEvent {
            isInputClosed = true
            if phase == .lingering { context.close(promise: nil) } else { pump() }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        service.logger.debug("a connection failed", metadata: ["error": "\(error)"])
        context.close(promise: nil)
    }

    // MARK: From other threads, by the event loop

    private func deliver(_ results: [OperationResult]) {
        state.settle(results, into: &writer)
        pump()
    }

    private func finishRead(_ reply: Reply) {
        state.finishRead(reply, into: &writer)
        pump()
    }

    /// Nothing new is carried out from now on.
    func beginShutdown() {
        state.drain()
        if phase == .open { phase = .ending }
        endWait(nil)
        pump()
    }

    /// The shutdown's time is over.
    func closeNow() { context?.close(promise: nil) }

    // MARK: The turn

    /// A client that does not read its replies, or has too much in flight, is not read from.
    private var canAccept: Bool { !state.isFull && context?.channel.isWritable ?? false }

    private var wantsInput: Bool {
        switch phase {
        case .open, .ending: canAccept && !lines.hasLine()
        case .lingering: true
        case .closed: false
        }
    }

    /// Does all that can be done now: accepts lines, hands operations on, writes replies, with one flush at the end.
    private func pump() {
        guard let context, phase == .open || phase == .ending else { return }
        // Writing may change the channel's writability, which calls back.
        if isPumping {
            mustPumpAgain = true
            return
        }
        isPumping = true
        var hasWritten = false
        repeat {
            mustPumpAgain = false
            acceptLines()
            state.settle(into: &writer)
            submit()
            if !writer.bytes.isEmpty && !state.isInBatch {
                write(context)
                hasWritten = true
                mustPumpAgain = true
            }
            startRead()
            if hasWritten && !mustPumpAgain {
                context.flush()
                hasWritten = false
            }
        } while mustPumpAgain
        isPumping = false
        endIfDone(context)
        if isReadHeld && wantsInput {
            isReadHeld = false
            context.read()
        }
    }

    private func acceptLines() {
        while canAccept {
            switch lines.front() {
            case .unfinished:
                return
            case .tooLong:
                state.accept(.invalid(.lineTooLong), bytes: 0)
                lines.removeAll()
                isDeaf = true
                phase = .ending
                return
            case .line(let length, let consumed):
                let (line, isForeign) = lines.take(length: length, consumed: consumed) { bytes in
                    (LineParser.parse(bytes), ConnectionHandler.isAnotherProtocol(bytes))
                }
                state.accept(line, bytes: consumed)
                if isForeign {
                    lines.removeAll()
                    isDeaf = true
                    phase = .ending
                    return
                }
            }
        }
    }

    /// A line that begins as HTTP's do ("POST / HTTP/1.1"), and no JSON text: what follows is not meant for a ledger.
    /// Without this the body of a request that a web page sends to this machine would be carried out.
    private static func isAnotherProtocol(_ line: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let first = line.first else { return false }
        return (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first)
    }

    private func submit() {
        let operations = state.takeOperations()
        if operations.isEmpty { return }
        guard let lane else { preconditionFailure("a handler has a lane as soon as it has a channel") }
        service.sequencer.submit(operations, from: lane)
    }

    private func write(_ context: ChannelHandlerContext) {
        context.write(wrapOutboundOut(context.channel.allocator.buffer(bytes: writer.bytes)), promise: nil)
        if writer.bytes.capacity > ConnectionHandler.keptReplyBytesMax {
            writer = ReplyWriter()
        } else {
            writer.removeAll()
        }
    }

    /// A read's page may be long: none begins while the client has others to read, and a batch, whose replies wait for
    /// each other, has no more of them than the server is willing to hold.
    private func startRead() {
        guard let context, context.channel.isWritable, let read = state.takeRead() else { return }
        if state.isInBatch && writer.bytes.count > service.limits.batchReplyBytesMax {
            state.finishRead(.error(.overloaded), into: &writer)
            mustPumpAgain = true
            return
        }
        if case .journal(let query) = read, park(query, query.waitMilliseconds, context) { return }
        answer(read, context.eventLoop)
    }

    private func answer(_ read: Query, _ eventLoop: any EventLoop) {
        service.readers.submit { state in
            // Cancelled only when the server stops and the connection is closed already.
            guard state == .active else { return }
            let reply = self.service.answer(read)
            eventLoop.execute { self.finishRead(reply) }
        }
    }

    // MARK: Waiting for the journal

    /// Gives whether the connection waits: not where there is something newer, and not once the server shuts down.
    private func park(_ query: JournalQuery, _ milliseconds: Int64, _ context: ChannelHandlerContext) -> Bool {
        guard milliseconds > 0, !state.isDraining else { return false }
        let ticket = service.sequencer.journal.wait(for: query.after, on: context.eventLoop) { [weak self] ticket in
            self?.wake(ticket)
        }
        guard let ticket else { return false }
        let timeout = context.eventLoop.scheduleTask(in: .milliseconds(milliseconds)) { self.endWait(ticket) }
        parked = Parked(query: query, ticket: ticket, timeout: timeout)
        return true
    }

    private func unpark() -> Parked? {
        guard let waiting = parked else { return nil }
        parked = nil
        waiting.timeout.cancel()
        service.sequencer.journal.cancel(waiting.ticket)
        return waiting
    }

    /// A newer entry is committed. A wake that has crossed with the wait's end is nobody's.
    private func wake(_ ticket: JournalWatch.Ticket) {
        guard let context, parked?.ticket == ticket, let waiting = unpark() else { return }
        answer(.journal(waiting.query), context.eventLoop)
    }

    /// Answers without an entry: this wait's time is over, or, with no ticket, the server shuts down.
    private func endWait(_ ticket: JournalWatch.Ticket?) {
        guard ticket == nil || parked?.ticket == ticket, let waiting = unpark() else { return }
        finishRead(.outcome(.journal(JournalPage(entries: [], next: waiting.query.after))))
    }

    // MARK: The end

    private func endIfDone(_ context: ChannelHandlerContext) {
        guard phase == .ending || isInputClosed, state.isIdle, !lines.hasLine() else { return }
        if isInputClosed {
            phase = .closed
            return whenWritten(context) { context.close(promise: nil) }
        }
        phase = .lingering
        whenWritten(context) { context.close(mode: .output, promise: nil) }
        context.eventLoop.scheduleTask(in: .milliseconds(service.limits.lingerMilliseconds)) { self.closeNow() }
    }

    /// An empty write is done when everything before it is.
    private func whenWritten(_ context: ChannelHandlerContext, _ body: @escaping () -> Void) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer())).assumeIsolated().whenComplete { _ in body() }
    }
}
