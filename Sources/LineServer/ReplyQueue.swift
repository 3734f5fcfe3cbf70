import Ledger
import LedgerEngine
import LedgerWire
import NIOCore

/// What one connection owes its client: an ordered list of answers, each given or still to come.
struct ReplyQueue {
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
        var body: Body
    }

    private var slots = CircularBuffer<Slot>()
    /// Whether the replies written last are the beginning of a batch's line.
    private(set) var isInBatch = false
    private(set) var requests = 0
    private(set) var bytes = 0
    /// Reads that the ledger has, and those that it has answered.
    private(set) var reads = 0
    private(set) var readsAnswered = 0

    /// Whether everything is answered.
    var isEmpty: Bool { slots.isEmpty }

    mutating func beginBatch() { append(Slot(id: nil, bytes: 0, body: .beginBatch)) }

    /// - Parameter bytes: of the batch's line.
    mutating func endBatch(bytes: Int) { append(Slot(id: nil, bytes: bytes, body: .endBatch)) }

    /// - Parameter bytes: of the line, where the request is one by itself.
    mutating func append(_ reply: Reply, id: RequestID?, bytes: Int) {
        append(Slot(id: id, bytes: bytes, body: .answered(reply)))
    }

    mutating func appendSubmitted(isRead: Bool, id: RequestID?, bytes: Int) {
        append(Slot(id: id, bytes: bytes, body: .submitted(isRead: isRead)))
    }

    private mutating func append(_ slot: Slot) {
        bytes += slot.bytes
        switch slot.body {
        case .beginBatch, .endBatch: break
        case .answered: requests += 1
        case .submitted(let isRead):
            requests += 1
            if isRead { reads += 1 }
        }
        slots.append(slot)
    }

    /// Writes every reply that can be given, in order, with the ledger's next answers.
    mutating func settle(_ answers: [Answer] = [], into writer: inout ReplyWriter) {
        var answers = answers[...]
        while let slot = slots.first {
            switch slot.body {
            case .beginBatch:
                writer.beginBatch()
                isInBatch = true
            case .endBatch:
                if isInBatch { writer.endBatch() }
                isInBatch = false
            case .answered(let reply):
                requests -= 1
                if let id = slot.id { writer.write(reply, id: id) }
            case .submitted(let isRead):
                guard let answer = answers.popFirst() else { return }
                requests -= 1
                if isRead {
                    reads -= 1
                    readsAnswered += 1
                }
                if let id = slot.id { writer.write(Reply(answer), id: id) }
            }
            slots.removeFirst()
            bytes -= slot.bytes
        }
        precondition(answers.isEmpty, "more answers than requests")
    }
}
