package import LedgerTypes
package import StrictJSON

/// Writes requests, a line each, or several as one line between `beginBatch` and `endBatch`.
package struct RequestWriter: Sendable {
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

    /// One request; without an id it is carried out and not answered.
    /// - Parameter ledger: the one of the service's ledgers that it is for; `nil` for the connection's.
    package mutating func write<Params, Result>(
        _ call: TypedMethod<Params, Result>, _ params: Params, id: RequestID?, ledger: LedgerName? = nil
    ) {
        begin(id)
        json.ascii(call.method.name)
        json.key("params")
        json.beginObject()
        params.writeMembers(to: &json)
        json.member("ledger", ledger?.text)
        json.endObject()
        end()
    }

    /// A request of any method, with parameters that are JSON already; none where they are empty.
    /// Throws where they are no JSON text; nothing was written then.
    package mutating func write(method: String, params: [UInt8], id: RequestID?) throws(JSONError) {
        if !params.isEmpty { try RequestWriter.check(params) }
        begin(id)
        json.string(method)
        if !params.isEmpty {
            json.key("params")
            // A line end is white space in a checked JSON text, never within a string, and must not end this line.
            json.raw(
                params.lazy.map { byte in
                    byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") ? UInt8(ascii: " ") : byte
                })
        }
        end()
    }

    /// A request, or a whole line, that such a writer has written before, without its line end.
    package mutating func write(prepared: [UInt8]) {
        json.raw(prepared)
        if !isInBatch { json.newline() }
    }

    package mutating func beginBatch() {
        precondition(!isInBatch, "a batch within a batch")
        isInBatch = true
        json.beginArray()
    }

    package mutating func endBatch() {
        precondition(isInBatch, "no batch was begun")
        isInBatch = false
        json.endArray()
        json.newline()
    }

    /// Up to the method's name.
    private mutating func begin(_ id: RequestID?) {
        json.beginObject()
        json.key("jsonrpc")
        json.ascii("2.0")
        if let id {
            json.key("id")
            json.write(id)
        }
        json.key("method")
    }

    private mutating func end() {
        json.endObject()
        if !isInBatch { json.newline() }
    }

    /// Names may repeat: the server is the one to say so.
    private static func check(_ params: [UInt8]) throws(JSONError) {
        let result: Result<Void, JSONError> = params.withUnsafeBufferPointer { bytes in
            do throws(JSONError) {
                var reader = JSONReader(bytes)
                _ = try reader.rawOfAnyShape()
                try reader.end()
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }
}
