import StrictJSON

/// Reads one line: JSON-RPC 2.0 requests with their parameters.
///
/// A valid request is read in one pass over its bytes. Any other is read again by `FaultyRequest`, which says what is
/// wrong with it, the first in the order of the protocol's table of errors.
package enum LineParser {
    /// `bytes` are the line without its `\n`.
    package static func parse(_ bytes: UnsafeBufferPointer<UInt8>) -> Line {
        do throws(JSONError) {
            var reader = JSONReader(bytes)
            let line = try line(&reader)
            try reader.end()
            return line
        } catch {
            return .invalid(.parseError("the line \(error.message)"))
        }
    }

    /// Throws only where the line is no JSON text that the reader reads.
    private static func line(_ reader: inout JSONReader) throws(JSONError) -> Line {
        switch try reader.peek() {
        case .object:
            return .single(try message(&reader))
        case .array:
            return try batch(&reader)
        case .string, .number, .bool, .null:
            _ = try reader.rawOfAnyShape()
            return .invalid(.invalidRequest("a line must be a request (an object) or a batch (an array)"))
        }
    }

    private static func batch(_ reader: inout JSONReader) throws(JSONError) -> Line {
        var messages: [Message] = []
        var isTooLong = false
        try reader.array { (reader, index) throws(JSONError) in
            guard index < WireLimits.batchRequestsMax else {
                isTooLong = true
                return _ = try reader.rawOfAnyShape()
            }
            messages.append(try message(&reader))
        }
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
