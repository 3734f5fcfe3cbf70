import LedgerWire

/// Many requests on one connection, without a task or a lock for each. Touched on the connection's event loop only,
/// which is what makes it safe to hand over.
final class Pipeline: @unchecked Sendable {
    typealias Write = @Sendable (_ index: Int, _ id: RequestID, _ writer: inout RequestWriter) -> Void
    typealias Read = @Sendable (_ index: Int, _ result: Result<UnsafeBufferPointer<UInt8>, WireError>) -> Void

    private let count: Int
    private let inFlightMax: Int
    private let requestsPerLine: Int
    private let write: Write
    private let read: Read
    private var completion: CheckedContinuation<Void, any Error>?
    private var sent = 0
    private var answered = 0
    private var writer = RequestWriter()

    /// Replies to all, or an end of another kind.
    var isDone: Bool { completion == nil }

    init(
        count: Int, inFlightMax: Int, requestsPerLine: Int, write: @escaping Write, read: @escaping Read,
        completion: CheckedContinuation<Void, any Error>
    ) {
        precondition(count >= 0 && inFlightMax >= 1 && 1...WireLimits.batchRequestsMax ~= requestsPerLine)
        self.count = count
        self.inFlightMax = max(inFlightMax, requestsPerLine)
        self.requestsPerLine = requestsPerLine
        self.write = write
        self.read = read
        self.completion = completion
    }

    /// The lines that may be sent now; `line` is told the requests of each.
    func next(_ line: (Range<Int>) -> Void) -> [UInt8] {
        if sent == count, answered == count { finish(.success(())) }
        guard !isDone else { return [] }
        writer.removeAll()
        while sent < count {
            let requests = sent..<min(count, sent + requestsPerLine)
            guard requests.upperBound - answered <= inFlightMax else { break }
            if requestsPerLine == 1 {
                write(sent, .integer(Int64(sent)), &writer)
            } else {
                writer.beginBatch()
                for index in requests { write(index, .integer(Int64(index)), &writer) }
                writer.endBatch()
            }
            sent = requests.upperBound
            line(requests)
        }
        return writer.bytes
    }

    /// The reply line to `requests`. An error for a batch as a whole is each request's.
    func read(
        _ reply: ReplyLine, _ requests: Range<Int>, _ bytes: UnsafeBufferPointer<UInt8>
    ) throws(ClientError) {
        switch reply {
        case .single(let message):
            guard message.answers(.integer(Int64(requests.lowerBound))) else { throw Pipeline.outOfOrder }
            if requestsPerLine == 1 {
                hand(over: message, requests.lowerBound, bytes)
            } else {
                guard message.id == .null else { throw Pipeline.outOfOrder }
                for index in requests { hand(over: message, index, bytes) }
            }
        case .batch(let messages):
            guard requestsPerLine > 1, messages.count == requests.count else { throw Pipeline.outOfOrder }
            for (index, message) in zip(requests, messages) {
                guard message.id == .integer(Int64(index)) else { throw Pipeline.outOfOrder }
                hand(over: message, index, bytes)
            }
        }
        if answered == count { finish(.success(())) }
    }

    func fail(_ error: any Error) { finish(.failure(error)) }

    private func hand(over message: ReplyMessage, _ index: Int, _ bytes: UnsafeBufferPointer<UInt8>) {
        answered += 1
        read(index, message.body.map { UnsafeBufferPointer(rebasing: bytes[$0]) })
    }

    private func finish(_ result: Result<Void, any Error>) {
        completion?.resume(with: result)
        completion = nil
    }

    private static let outOfOrder = ClientError.unreadableReply("it is not for the oldest request without one")
}
