import StrictJSON

/// Reads one line: JSON-RPC 2.0 requests with their parameters.
///
/// A valid request is read in one pass over its bytes. Any other is read again by `FaultyRequest`, which says what is
/// wrong with it, the first in the order of the protocol's table of errors.
///
/// A long batch is read in several goes where its reader has others waiting.
package struct LineParser: Sendable {
    /// What was read of a batch.
    private var messages: [Message] = []
    /// Where the reading of a batch stopped.
    private var place: JSONArrayPlace?
    private var isTooLong = false

    package init() {}

    /// Reads a line at once.
    /// - Parameter bytes: the line without its `\n`.
    package static func parse(_ bytes: UnsafeBufferPointer<UInt8>) -> Line {
        var parser = LineParser()
        guard let line = parser.parse(bytes, requestsMax: .max) else { preconditionFailure("no line is endless") }
        return line
    }

    /// How many requests of a batch were read.
    package var requests: Int { place?.index ?? 0 }

    /// Reads on.
    /// - Parameters:
    ///   - bytes: the line without its `\n`, the same each time.
    ///   - requestsMax: how many requests of a batch are read in this go.
    /// - Returns: the line; `nil` where there is more of it to be read.
    package mutating func parse(_ bytes: UnsafeBufferPointer<UInt8>, requestsMax: Int) -> Line? {
        do throws(JSONError) {
            var reader = JSONReader(bytes)
            guard let line = try line(&reader, requestsMax) else { return nil }
            try reader.end()
            return line
        } catch {
            return .invalid(.parseError("the line \(error.message)"))
        }
    }

    /// Throws only where the line is no JSON text that the reader reads.
    private mutating func line(_ reader: inout JSONReader, _ requestsMax: Int) throws(JSONError) -> Line? {
        switch try reader.peek() {
        case .object:
            return .single(try LineParser.message(&reader))
        case .array:
            return try batch(&reader, requestsMax)
        case .string, .number, .bool, .null:
            _ = try reader.rawOfAnyShape()
            return .invalid(.invalidRequest("a line must be a request (an object) or a batch (an array)"))
        }
    }

    private mutating func batch(_ reader: inout JSONReader, _ requestsMax: Int) throws(JSONError) -> Line? {
        try reader.array(from: &place, elementsMax: requestsMax) { (reader, index) throws(JSONError) in
            guard index < WireLimits.batchRequestsMax else {
                isTooLong = true
                return _ = try reader.rawOfAnyShape()
            }
            messages.append(try LineParser.message(&reader))
        }
        if place != nil { return nil }
        if isTooLong { return .invalid(.batchTooLong) }
        // JSON-RPC 2.0 §6: an Array without at least one value is answered by a single Response.
        if messages.isEmpty { return .invalid(.invalidRequest("a batch must hold at least one request")) }
        return .batch(messages)
    }

    private static func message(_ reader: inout JSONReader) throws(JSONError) -> Message {
        let start = reader
        do throws(JSONError) {
            return try validRequest(&reader)
        } catch {
            reader = start
            return try FaultyRequest(&reader).message
        }
    }

    /// Throws for whatever is not a valid request; `FaultyRequest` tells why.
    private static func validRequest(_ reader: inout JSONReader) throws(JSONError) -> Message {
        var isVersion2 = false
        var id: RequestID?
        var method: Method?
        var asked: Message.Asked?
        var earlyParams: Range<Int>?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "jsonrpc": isVersion2 = try reader.text() == "2.0"
            case "id": id = try reader.requestID()
            case "method":
                method = Methods.named(try reader.text())
                if method == nil { throw reader.fail("is not a method") }
            case "params":
                if let method {
                    asked = try method.read(&reader)
                } else {
                    earlyParams = try reader.raw()
                }
            default: throw reader.fail("is not a member of a request")
            }
        }
        guard isVersion2, let method else { throw reader.fail("is not a request") }
        if let asked { return Message(id: id, body: .success(asked)) }
        return Message(id: id, body: .success(try method.request(earlyParams, in: reader)))
    }
}

extension Method {
    /// The request of these parameters. A request that has no `params` is as if they were empty.
    func request(_ params: Range<Int>?, in reader: JSONReader) throws(JSONError) -> Message.Asked {
        let none: StaticString = "{}"
        let bytes =
            params.map { reader.bytes($0) }
            ?? UnsafeBufferPointer(start: none.utf8Start, count: none.utf8CodeUnitCount)
        var own = JSONReader(bytes)
        return try read(&own)
    }
}
