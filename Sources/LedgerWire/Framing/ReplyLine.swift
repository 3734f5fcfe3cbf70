package import StrictJSON

/// One reply of a line.
package struct ReplyMessage: Sendable {
    package var id: RequestID
    /// Where the result stands in the line's bytes, as JSON; or the error.
    package var body: Result<Range<Int>, WireError>
}

/// What a server sent on one line.
package enum ReplyLine: Sendable {
    case single(ReplyMessage)
    case batch([ReplyMessage])

    /// Reads one line without its `\n`. Throws where it is no reply of JSON-RPC 2.0.
    package init(_ bytes: UnsafeBufferPointer<UInt8>) throws(JSONError) {
        var reader = JSONReader(bytes)
        if try reader.peek() == .array {
            var messages: [ReplyMessage] = []
            try reader.array { (reader, _) throws(JSONError) in messages.append(try ReplyMessage(&reader)) }
            self = .batch(messages)
        } else {
            self = .single(try ReplyMessage(&reader))
        }
        try reader.end()
    }
}

extension ReplyMessage {
    /// JSON-RPC 2.0 §5: either `result` or `error`, and `id`, which is null where the server could not tell it.
    fileprivate init(_ reader: inout JSONReader) throws(JSONError) {
        var isVersion2 = false
        var id: RequestID?
        var result: Range<Int>?
        var error: WireError?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "jsonrpc": isVersion2 = try reader.text() == "2.0"
            case "id": id = try reader.requestID()
            case "result": result = try reader.raw()
            case "error": error = try WireError(from: &reader)
            default: try reader.skip()
            }
        }
        guard isVersion2 else { throw reader.invalid("jsonrpc", "must be \"2.0\"") }
        let known = try reader.required(id, "id")
        switch (result, error) {
        case (let result?, nil): self.init(id: known, body: .success(result))
        case (nil, let error?): self.init(id: known, body: .failure(error))
        case (nil, nil), (.some, .some): throw reader.invalid("result", "must be there, or else error")
        }
    }
}

extension WireValue {
    /// Reads a result: JSON text, and nothing after it.
    package init(json bytes: UnsafeBufferPointer<UInt8>) throws(JSONError) {
        var reader = JSONReader(bytes)
        try self.init(from: &reader)
        try reader.end()
    }

    /// Reads a result: JSON text, and nothing after it.
    package init(json bytes: [UInt8]) throws(JSONError) {
        let result: Result<Self, JSONError> = bytes.withUnsafeBufferPointer { buffer in
            do throws(JSONError) { return .success(try Self(json: buffer)) } catch { return .failure(error) }
        }
        self = try result.get()
    }
}
