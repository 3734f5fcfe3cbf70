import Foundation

@testable import StrictJSON

/// A JSON text as a tree, built with every call of the reader.
indirect enum JSONTree: Equatable {
    case object([String: JSONTree])
    case array([JSONTree])
    case string(String)
    case number(Double)
    case bool(Bool)
    case null

    init(_ reader: inout JSONReader) throws(JSONError) {
        switch try reader.peek() {
        case .object:
            var members: [String: JSONTree] = [:]
            try reader.object { reader, key throws(JSONError) in members[key.string] = try JSONTree(&reader) }
            self = .object(members)
        case .array:
            var elements: [JSONTree] = []
            try reader.array { reader, index throws(JSONError) in
                precondition(index == elements.count)
                elements.append(try JSONTree(&reader))
            }
            self = .array(elements)
        case .string: self = .string(try reader.string())
        case .number: self = .number(try reader.number())
        case .bool: self = .bool(try reader.bool())
        case .null:
            try reader.null()
            self = .null
        }
    }

    static func parse(_ bytes: [UInt8]) throws(JSONError) -> JSONTree {
        try read(bytes) { reader throws(JSONError) in try JSONTree(&reader) }
    }

    static func parse(_ text: String) throws(JSONError) -> JSONTree { try parse(Array(text.utf8)) }

    /// What Foundation makes of it; nil if it refuses.
    static func foundation(_ bytes: [UInt8]) -> JSONTree? {
        (try? JSONSerialization.jsonObject(with: Data(bytes), options: [.fragmentsAllowed])).map { JSONTree($0) }
    }

    private init(_ value: Any) {
        switch value {
        case let members as [String: Any]: self = .object(members.mapValues { JSONTree($0) })
        case let elements as [Any]: self = .array(elements.map { JSONTree($0) })
        case let string as String: self = .string(string)
        case is NSNull: self = .null
        case let number as NSNumber:
            // Foundation's booleans are numbers of the C type char.
            self = String(cString: number.objCType) == "c" ? .bool(number.boolValue) : .number(number.doubleValue)
        default: preconditionFailure("JSON has no \(type(of: value))")
        }
    }
}

/// Reads one whole text.
func read<T>(_ bytes: [UInt8], _ body: (inout JSONReader) throws(JSONError) -> T) throws(JSONError) -> T {
    let result: Result<T, JSONError> = bytes.withUnsafeBufferPointer { buffer in
        var reader = JSONReader(buffer)
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

func read<T>(_ text: String, _ body: (inout JSONReader) throws(JSONError) -> T) throws(JSONError) -> T {
    try read(Array(text.utf8), body)
}

/// The error of reading a text in full, nil if there is none.
func refusal(_ bytes: [UInt8]) -> JSONError? {
    do throws(JSONError) {
        try read(bytes) { reader throws(JSONError) in try reader.skip() }
        return nil
    } catch {
        return error
    }
}

func refusal(_ text: String) -> JSONError? { refusal(Array(text.utf8)) }
