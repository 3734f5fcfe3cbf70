package import StrictJSON

/// A value that stands in a result: written by the server, read by the client.
///
/// A reader skips members that it does not know, because a newer server may send more; what it needs must be there.
package protocol WireValue: Sendable {
    init(from reader: inout JSONReader) throws(JSONError)
    func write(to writer: inout JSONWriter)
}

/// An empty result.
package struct NoResult: WireValue {
    package init() {}

    package init(from reader: inout JSONReader) throws(JSONError) { try reader.skip() }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.endObject()
    }
}

extension JSONWriter {
    package mutating func write(_ value: some WireValue) { value.write(to: &self) }

    mutating func write(_ values: [some WireValue]) {
        beginArray()
        for value in values { value.write(to: &self) }
        endArray()
    }

    mutating func write(orNull value: (some WireValue)?) {
        if let value { value.write(to: &self) } else { null() }
    }

    mutating func integer(orNull value: Int64?) {
        if let value { integer(value) } else { null() }
    }

    mutating func string(orNull value: String?) {
        if let value { string(value) } else { null() }
    }
}

extension JSONReader {
    mutating func list<Value: WireValue>(of type: Value.Type) throws(JSONError) -> [Value] {
        var values: [Value] = []
        try array { (reader, _) throws(JSONError) in values.append(try Value(from: &reader)) }
        return values
    }

    /// `nil` where the value is null.
    mutating func orNull<Value>(
        _ read: (inout JSONReader) throws(JSONError) -> Value
    ) throws(JSONError) -> Value? {
        guard try peek() == .null else { return try read(&self) }
        try null()
        return nil
    }

    /// A value that is one of an enumeration's.
    mutating func named<Value>(_ find: (String) -> Value?) throws(JSONError) -> Value {
        guard let value = find(try string()) else { throw fail("is a name that this version does not know") }
        return value
    }
}
