package import StrictJSON

/// A JSON text that is read as a whole.
package enum JSONBody {
    /// What `body` reads of a text that holds one value and nothing else.
    package static func read<Value>(
        _ json: [UInt8], _ body: (inout JSONReader) throws(JSONError) -> Value
    ) throws(JSONError) -> Value {
        let result: Result<Value, JSONError> = json.withUnsafeBufferPointer { bytes in
            var reader = JSONReader(bytes)
            do throws(JSONError) {
                let value = try body(&reader)
                try reader.end()
                return .success(value)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}

extension JSONReader {
    /// An array of texts.
    mutating func strings() throws(JSONError) -> [String] {
        var values: [String] = []
        try array { (reader, _) throws(JSONError) in values.append(try reader.string()) }
        return values
    }
}
