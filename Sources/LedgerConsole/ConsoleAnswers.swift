package import LedgerTypes
import LedgerWire
import StrictJSON

/// What a page asks of the ledger: requests of the line protocol, as any client of the same token may send them.
package enum ConsoleQuery: Hashable, Sendable {
    case info
    case ledger(LedgerRequest)

    /// A line that asks all of these, as a batch.
    package static func line(_ queries: [ConsoleQuery], ledger: LedgerName?) -> [UInt8] {
        var writer = RequestWriter()
        writer.beginBatch()
        for (number, query) in queries.enumerated() {
            let id = RequestID.integer(Int64(number))
            switch query {
            case .info: writer.write(Methods.info, NoParams(), id: id, ledger: ledger)
            case .ledger(let request): writer.write(request, id: id, ledger: ledger)
            }
        }
        writer.endBatch()
        return writer.bytes
    }
}

/// The replies to what a page has asked, in the same order.
package struct ConsoleAnswers: Sendable {
    private let bytes: [UInt8]
    private let messages: [ReplyMessage]

    /// - Parameter line: the replies, as the line protocol writes them.
    package init(line bytes: [UInt8]) {
        self.bytes = bytes
        let read: ReplyLine? = bytes.withUnsafeBufferPointer { buffer in
            let line = UnsafeBufferPointer(
                rebasing: buffer[..<(buffer.lastIndex(of: UInt8(ascii: "\n")) ?? buffer.count)])
            return try? ReplyLine(line)
        }
        switch read {
        case .batch(let messages): self.messages = messages
        case .single(let message): messages = [message]
        case nil: messages = []
        }
    }

    package var count: Int { messages.count }

    /// What was answered to the query at a place.
    func value<Value: WireValue>(_ type: Value.Type = Value.self, at place: Int) -> Result<Value, WireError> {
        // A line that is refused as a whole has one error for all.
        guard messages.indices.contains(place) else {
            if let only = messages.first, messages.count == 1, case .failure(let error) = only.body {
                return .failure(error)
            }
            return .failure(ConsoleAnswers.lost)
        }
        switch messages[place].body {
        case .failure(let error): return .failure(error)
        case .success(let range):
            let value: Value? = bytes[range].withUnsafeBufferPointer { try? Value(json: $0) }
            return value.map { .success($0) } ?? .failure(ConsoleAnswers.lost)
        }
    }

    private static let lost = WireError(.internalError, "an answer of the ledger's cannot be read")
}
