import Ledger
import LedgerEngine
import LedgerWire
import NIOCore

/// What one connection owes its client: an ordered list of answers, each given or still to come, the text of those that
/// can be written, and what of it the client has not read.
struct ReplyQueue {
    /// A buffer that is kept for the next turn; one grown larger by a report is given back.
    private static let keptBytesMax = 64 << 10

    private struct Slot {
        enum Body {
            case beginBatch
            case endBatch
            // Apart, for most slots are `submitted`.
            indirect case answered(Reply)
            /// The ledger has it; its answers come in the order of these slots.
            case submitted(isRead: Bool)
        }

        /// `nil` for what is not answered.
        var id: RequestID?
        /// Of the line, at the last slot of it.
        var bytes: Int
        /// The largest reply, but for the page of a read.
        var replyBytesMax = 0
        var body: Body
        /// Of what counts as a request.
        var mark: RequestFigures.Mark?

        /// The largest reply, with the page.
        var heldBytesMax: Int {
            if case .submitted(isRead: true) = body { replyBytesMax + Limits.pageBytesMax } else { replyBytesMax }
        }
    }

    /// Where it is counted what became of requests; `nil` where nobody does.
    let figures: RequestFigures?
    /// Where requests are traced: the trace that these are of, and the batch whose answers come next.
    var parent: RequestSpans.Parent?
    var commit: CommitTrace?
    /// When what is accepted now was, in nanoseconds: one look at the clock for all lines of a turn.
    private var acceptedAt: UInt64?
    private var slots = CircularBuffer<Slot>()
    private var writer = ReplyWriter()
    /// Bytes that were written and that the client has not read.
    private var sentBytes = 0
    /// Whether the replies written last are the beginning of a batch's line.
    private(set) var isInBatch = false
    private(set) var requests = 0
    private(set) var bytes = 0
    /// The largest replies to all requests, but for the pages of reads.
    private(set) var replyBytesMax = 0
    /// The same, with the pages of reads, of those of the batch alone that began last.
    private var batchReplyBytesMax = 0
    private var batchesBegun = 0
    private var batchesWritten = 0
    private(set) var reads = ReadsInFlight()
    /// The reply that was written last, where that is an error.
    private(set) var lastError: Reply?

    init(figures: RequestFigures? = nil) { self.figures = figures }

    /// Whether the replies written last are of the batch that began last.
    private var isWritingLastBatch: Bool { isInBatch && batchesWritten == batchesBegun }

    /// Whether everything is answered.
    var isEmpty: Bool { slots.isEmpty }

    /// Bytes of replies that are there, and that the client has not read.
    var unreadBytes: Int { writer.count + sentBytes }

    /// What the connection takes of the memory for what it has accepted: the lines in flight, the largest replies to
    /// their requests, and the replies that are there.
    var memoryBytes: Int { bytes + replyBytesMax + unreadBytes }

    /// What the replies of the batch that began last may take together.
    var batchBytesMax: Int { (isWritingLastBatch ? writer.batchBytes : 0) + batchReplyBytesMax }

    /// Bytes of the whole lines that are to be written, and whether there are any.
    var lineBytes: Int { writer.wholeLineBytes }
    var hasLines: Bool { lineBytes > 0 }

    /// Lines are accepted now.
    mutating func beginAccepting() { acceptedAt = nil }

    /// Marks a request that is accepted.
    /// - Parameters:
    ///   - message: `nil` where it is none.
    ///   - place: of the ledger that is asked; `nil` where none is.
    mutating func mark(_ message: Message?, at place: Int? = nil) -> RequestFigures.Mark? {
        guard let figures else { return nil }
        let time = acceptedAt ?? figures.now()
        acceptedAt = time
        var method: Method?
        if case .success(let asked)? = message?.body { method = asked.method }
        return figures.mark(method, at: place, since: time)
    }

    /// - Parameters:
    ///   - isAnswered: whether there is a line of replies to it.
    ///   - bytes: of the batch's line, which counts from here on.
    mutating func beginBatch(isAnswered: Bool, bytes: Int) {
        self.bytes += bytes
        if !isAnswered { return }
        slots.append(Slot(id: nil, bytes: 0, body: .beginBatch))
        batchesBegun += 1
        batchReplyBytesMax = 0
    }

    /// - Parameter bytes: of the batch's line.
    mutating func endBatch(bytes: Int) { slots.append(Slot(id: nil, bytes: bytes, body: .endBatch)) }

    /// - Parameters:
    ///   - bytes: of the line, where the request is one by itself.
    ///   - mark: `nil` where it is the answer to no request.
    mutating func append(
        _ reply: Reply, id: RequestID?, bytes: Int, replyBytesMax: Int, mark: RequestFigures.Mark? = nil
    ) {
        append(Slot(id: id, bytes: bytes, replyBytesMax: replyBytesMax, body: .answered(reply), mark: mark))
    }

    /// - Parameter isInBatch: whether it stands in a batch.
    mutating func appendSubmitted(
        isRead: Bool, isInBatch: Bool = false, id: RequestID?, bytes: Int, replyBytesMax: Int,
        mark: RequestFigures.Mark? = nil
    ) {
        if isRead { reads.append(isInBatch: isInBatch) }
        append(
            Slot(id: id, bytes: bytes, replyBytesMax: replyBytesMax, body: .submitted(isRead: isRead), mark: mark))
    }

    private mutating func append(_ slot: Slot) {
        bytes += slot.bytes
        replyBytesMax += slot.replyBytesMax
        batchReplyBytesMax += slot.heldBytesMax
        switch slot.body {
        case .beginBatch, .endBatch: break
        case .answered, .submitted: requests += 1
        }
        slots.append(slot)
    }

    /// Writes every reply that can be given, in order, with the ledger's next answers.
    /// - Parameter ledger: which it is, where there are several.
    /// - Returns: whether there was any.
    @discardableResult
    mutating func settle(_ given: RequestRoute.Answers = .init(list: []), of ledger: LedgerName? = nil) -> Bool {
        if given.haveWaited { commit = nil }
        var answers = given.list[...]
        defer { precondition(answers.isEmpty, "more answers than requests") }
        return settle(of: ledger) { answers.popFirst().map { Reply($0) } }
    }

    /// Writes every reply that can be given, in order, with the next replies of the node that leads.
    mutating func settle(relayed replies: [Reply]) {
        var replies = replies[...]
        settle(of: nil) { replies.popFirst() }
        precondition(replies.isEmpty, "more replies than requests")
    }

    @discardableResult
    private mutating func settle(of ledger: LedgerName?, next: () -> Reply?) -> Bool {
        let count = slots.count
        // One look at the clock for all that is settled together.
        var time: UInt64?
        func note(_ reply: Reply, of mark: RequestFigures.Mark?, in commit: CommitTrace?) {
            guard let mark, let figures else { return }
            let now = time ?? figures.now()
            time = now
            figures.note(RequestFigures.Outcome(reply), of: mark, at: now)
            if let spans = figures.spans {
                spans.record(figures.asked(mark), reply, until: now, under: parent, commit)
            }
        }
        while let slot = slots.first {
            switch slot.body {
            case .beginBatch:
                writer.beginBatch()
                isInBatch = true
                batchesWritten += 1
            case .endBatch:
                if isInBatch { writer.endBatch() }
                isInBatch = false
            case .answered(let reply):
                requests -= 1
                lastError = reply.isError ? reply : nil
                note(reply, of: slot.mark, in: nil)
                if let id = slot.id { writer.write(reply, id: id) }
            case .submitted(let isRead):
                guard let reply = next() else { return slots.count < count }
                requests -= 1
                if isRead { reads.removeFirst() }
                lastError = reply.isError ? reply : nil
                note(reply, of: slot.mark, in: commit)
                if let id = slot.id { writer.write(reply, id: id, ledger: ledger) }
            }
            slots.removeFirst()
            bytes -= slot.bytes
            replyBytesMax -= slot.replyBytesMax
            if isWritingLastBatch { batchReplyBytesMax -= slot.heldBytesMax }
        }
        return slots.count < count
    }

    /// Gives the next piece of the whole lines to `body`, which has it written.
    /// - Parameter bytesMax: how long it is at the most.
    mutating func take<Result>(_ bytesMax: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let count = min(writer.wholeLineBytes, bytesMax)
        sentBytes += count
        defer {
            if writer.count == 0 && writer.capacity > ReplyQueue.keptBytesMax { writer = ReplyWriter() }
        }
        return writer.take(count, body)
    }

    /// All whole lines that are left, with a last one that says why nothing more comes.
    mutating func takeLastWords(_ error: WireError) -> [UInt8] {
        var last = ReplyWriter()
        last.write(.error(error), id: .null)
        return take(writer.wholeLineBytes) { Array($0) } + last.bytes
    }

    /// So many bytes of what was written have not been read by the client.
    mutating func told(unreadBytes: Int) { sentBytes = unreadBytes }
}
