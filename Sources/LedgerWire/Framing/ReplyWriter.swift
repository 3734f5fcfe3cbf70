import LedgerTypes
import StrictJSON

/// Writes replies, a line each, or several as one line between `beginBatch` and `endBatch`. The bytes are one buffer
/// that is used again after `removeAll`.
package struct ReplyWriter: Sendable {
    private var json: JSONWriter
    private var isInBatch = false

    package init(capacity: Int = 4_096) { json = JSONWriter(capacity: capacity) }

    /// What was written since the last `removeAll`: whole lines.
    package var bytes: [UInt8] { json.bytes }

    /// Forgets what was written and keeps the memory.
    package mutating func removeAll() {
        precondition(!isInBatch, "a batch is not ended")
        json.removeAll()
    }

    /// One reply: a line of its own, or the next member of the batch.
    package mutating func write(_ reply: Reply, id: RequestID) {
        json.beginObject()
        json.key("jsonrpc")
        json.ascii("2.0")
        json.key("id")
        json.write(id)
        json.write(reply)
        json.endObject()
        if !isInBatch { json.newline() }
    }

    package mutating func beginBatch() {
        precondition(!isInBatch, "a batch within a batch")
        isInBatch = true
        json.beginArray()
    }

    /// A batch without replies is not written at all: who has none to write does not begin one.
    package mutating func endBatch() {
        precondition(isInBatch, "no batch was begun")
        isInBatch = false
        json.endArray()
        json.newline()
    }
}

extension JSONWriter {
    mutating func write(_ id: RequestID) {
        switch id {
        case .null: null()
        case .integer(let number): integer(number)
        case .string(let text): string(text)
        case .number(let text): raw(text.utf8)
        }
    }

    /// The member `result` or `error`.
    fileprivate mutating func write(_ reply: Reply) {
        switch reply {
        case .pong: result(NoResult())
        case .authenticated(let identity): result(identity)
        case .info(let info): result(info)
        case .outcome(let outcome): write(outcome)
        case .error(let error): self.error(error)
        }
    }

    private mutating func write(_ outcome: Outcome) {
        switch outcome {
        case .purchase(let receipt): result(receipt)
        case .notification(let receipt): result(receipt)
        case .spend(let receipt): result(receipt)
        case .reversal(let receipt): result(receipt)
        case .hold(let receipt): result(receipt)
        case .capture(let receipt): result(receipt)
        case .release(let receipt): result(receipt)
        case .grant(let receipt): result(receipt)
        case .atomic(let receipt): result(receipt)
        case .expired: preconditionFailure("a sweep of what has expired is nobody's request")
        case .balance(let balances): result(balances)
        case .purchaseView(let view): result(view)
        case .consumption(let body): result(body)
        case .forgotten(let wasThere): result(ForgetReceipt(erased: wasThere))
        case .history(let page): result(page)
        case .report(let page): result(page)
        case .journal(let page): result(page)
        case .finding(let finding): result(finding)
        case .blocks(let page): result(page)
        case .promoted(let promotion): result(promotion)
        case .head(let head): result(head)
        case .refused(let refusal): error(WireError(refusal))
        }
    }

    private mutating func result(_ value: some WireValue) {
        key("result")
        value.write(to: &self)
    }

    private mutating func error(_ error: WireError) {
        key("error")
        error.write(to: &self)
    }
}
