package import LedgerTypes
import StrictJSON

/// Writes replies, a line each, or several as one line between `beginBatch` and `endBatch`. The bytes are one buffer,
/// which is taken from its front piece by piece, and used again.
package struct ReplyWriter: Sendable {
    private var json: JSONWriter
    /// Where the batch begins that is not ended.
    private var batchStart: Int?
    /// How many bytes at the front were removed, and are in memory still.
    private var removed = 0

    package init(capacity: Int = 4_096) { json = JSONWriter(capacity: capacity) }

    /// What was written and not removed: whole lines, and a batch that is not ended.
    package var bytes: [UInt8] { removed == 0 ? json.bytes : Array(json.bytes[removed...]) }

    /// How many bytes that is.
    package var count: Int { json.bytes.count - removed }

    /// How many bytes of memory are kept for it.
    package var capacity: Int { json.bytes.capacity }

    /// How many of the bytes are whole lines.
    package var wholeLineBytes: Int { (batchStart ?? json.bytes.count) - removed }

    /// How many bytes a batch has that is not ended.
    package var batchBytes: Int { json.bytes.count - (batchStart ?? json.bytes.count) }

    /// Removes the first bytes of whole lines. Their memory is used again where nothing is left, and given back
    /// otherwise: much may be written and all but a little of it taken.
    /// - Returns: what `body` makes of them before.
    package mutating func take<Result>(_ count: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        precondition(count <= wholeLineBytes, "a batch that is not ended is written as a whole")
        let taken = removed..<removed + count
        let result = json.bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[taken])) }
        removed += count
        if removed == json.bytes.count {
            json.removeAll()
            removed = 0
        } else if removed >= json.bytes.count / 2 {
            // As many bytes are removed as are copied, or more.
            json.bytes = Array(json.bytes[removed...])
            batchStart = batchStart.map { $0 - removed }
            removed = 0
        }
        return result
    }

    /// One reply: a line of its own, or the next member of the batch.
    /// - Parameter ledger: which of several ledgers it is of; a write's result names it.
    package mutating func write(_ reply: Reply, id: RequestID, ledger: LedgerName? = nil) {
        json.beginObject()
        json.key("jsonrpc")
        json.ascii("2.0")
        json.key("id")
        json.write(id)
        json.write(reply)
        if let ledger, case .outcome(let outcome) = reply, outcome.isOfWrite {
            json.reopenObject()
            json.member("ledger", ledger.text)
            json.endObject()
        }
        json.endObject()
        if batchStart == nil { json.newline() }
    }

    package mutating func beginBatch() {
        precondition(batchStart == nil, "a batch within a batch")
        batchStart = json.bytes.count
        json.beginArray()
    }

    /// A batch without replies is not written at all: who has none to write does not begin one.
    package mutating func endBatch() {
        precondition(batchStart != nil, "no batch was begun")
        batchStart = nil
        json.endArray()
        json.newline()
    }
}

extension Outcome {
    /// The page of a read as ``Outcome/written(_:)``: pages are long, and whoever writes them into a reply may have
    /// others waiting. What is short stays what it is.
    package var writtenPage: Outcome {
        switch self {
        case .history(let page): .written(text(of: page))
        case .lots(let page): .written(text(of: page))
        case .holds(let page): .written(text(of: page))
        case .report(let page): .written(text(of: page))
        case .journal(let page): .written(text(of: page))
        case .purchaseView(let view): .written(text(of: view))
        case .blocks(let page): .written(text(of: page))
        case .purchase, .notification, .spend, .grant, .reversal, .hold, .capture, .release, .atomic, .link,
            .consent, .recorded, .expired, .balance, .consumption, .forgotten, .finding, .appStoreWork, .promoted,
            .steppedDown,
            .head, .closed, .adjustment, .imported, .refused, .written:
            self
        }
    }

    private func text(of page: some WireValue) -> [UInt8] {
        var json = JSONWriter(capacity: 4_096)
        page.write(to: &json)
        return json.bytes
    }
}

extension Outcome {
    /// Whether it is the result of a request that may change the ledger.
    fileprivate var isOfWrite: Bool {
        switch self {
        case .purchase, .notification, .spend, .reversal, .hold, .capture, .release, .grant, .atomic, .link,
            .consent, .recorded, .forgotten, .promoted, .steppedDown, .closed, .adjustment,
            .imported:
            true
        case .expired, .balance, .purchaseView, .consumption, .history, .lots, .holds, .report, .journal, .finding,
            .appStoreWork,
            .blocks, .head, .refused, .written:
            false
        }
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
        case .reloaded(let report): result(report)
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
        case .link(let receipt): result(receipt)
        case .consent(let receipt): result(receipt)
        case .adjustment(let receipt): result(receipt)
        case .imported(let receipt): result(receipt)
        case .expired: preconditionFailure("a sweep of what has expired is nobody's request")
        case .recorded, .appStoreWork: preconditionFailure("what Apple is told is no client's business")
        case .balance(let balances): result(balances)
        case .purchaseView(let view): result(view)
        case .consumption(let body): result(body)
        case .forgotten(let wasThere): result(ForgetReceipt(erased: wasThere))
        case .history(let page): result(page)
        case .lots(let page): result(page)
        case .holds(let page): result(page)
        case .report(let page): result(page)
        case .journal(let page): result(page)
        case .finding(let finding): result(finding)
        case .blocks(let page): result(page)
        case .promoted(let promotion): result(promotion)
        case .steppedDown(let handover): result(handover)
        case .head(let head): result(head)
        case .closed(let closing): result(closing)
        case .refused(let refusal): error(WireError(refusal))
        case .written(let text):
            key("result")
            raw(text)
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
