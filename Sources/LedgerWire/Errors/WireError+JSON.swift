package import StrictJSON

extension WireError: WireValue {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("code")
        writer.integer(Int64(code))
        writer.key("message")
        writer.string(message)
        writer.key("data")
        writer.beginObject()
        writer.key("reason")
        writer.string(reason)
        writer.key("retryable")
        writer.bool(retryable)
        for detail in details {
            writer.key(detail.name)
            writer.value(detail.value)
        }
        writer.endObject()
        writer.endObject()
    }

    /// An error without `data`, as another JSON-RPC server may send it, has no reason and is not retryable.
    package init(from reader: inout JSONReader) throws(JSONError) {
        var code: Int64?
        var message: String?
        var reason = ""
        var retryable = false
        var details: [Detail] = []
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "code": code = try reader.integer()
            case "message": message = try reader.string()
            case "data":
                guard try reader.peek() == .object else {
                    details.append(Detail("data", try reader.value()))
                    return
                }
                try reader.object { (reader, name) throws(JSONError) in
                    switch name {
                    case "reason": reason = try reader.string()
                    case "retryable": retryable = try reader.bool()
                    default: details.append(Detail(name.string, try reader.value()))
                    }
                }
            default: try reader.skip()
            }
        }
        self.init(
            code: Int(try reader.required(code, "code")), reason: reason,
            message: try reader.required(message, "message"), retryable: retryable, details: details)
    }

    /// The error as JSON, as it stands in a reply.
    package var json: [UInt8] {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func value(_ value: WireError.Value) {
        switch value {
        case .string(let text): string(text)
        case .integer(let number): integer(number)
        case .bool(let truth): bool(truth)
        case .null: null()
        case .json(let text): raw(text.utf8)
        }
    }
}

extension JSONReader {
    fileprivate mutating func value() throws(JSONError) -> WireError.Value {
        let start = self
        switch try peek() {
        case .string: return .string(try string())
        case .bool: return .bool(try bool())
        case .null:
            try null()
            return .null
        case .number:
            do throws(JSONError) {
                return .integer(try integer())
            } catch {
                self = start
                return try json()
            }
        case .object, .array: return try json()
        }
    }

    private mutating func json() throws(JSONError) -> WireError.Value {
        let range = try raw()
        return .json(String(decoding: bytes(range), as: UTF8.self))
    }
}
