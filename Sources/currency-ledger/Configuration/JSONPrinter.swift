import StrictJSON

/// Prints JSON for people: short values on one line, others indented; members in their order.
struct JSONPrinter {
    /// Characters of a value that still stands on one line.
    var widthMax = 88
    /// Characters of a string before its middle is left out; 0 keeps all.
    var stringMax = 0

    func print(_ bytes: [UInt8]) throws -> String {
        try bytes.withUnsafeBufferPointer { buffer in
            var reader = JSONReader(buffer)
            let node = try read(&reader)
            try reader.end()
            return text(node, indent: 0)
        }
    }

    private indirect enum Node {
        case scalar(String)
        case array([Node])
        case object([(String, Node)])
    }

    private func read(_ reader: inout JSONReader) throws(JSONError) -> Node {
        switch try reader.peek() {
        case .object:
            var members: [(String, Node)] = []
            try reader.object { (reader, key) throws(JSONError) in
                members.append((quoted(key.string), try read(&reader)))
            }
            return .object(members)
        case .array:
            var elements: [Node] = []
            try reader.array { (reader, _) throws(JSONError) in elements.append(try read(&reader)) }
            return .array(elements)
        case .string:
            let value = try reader.string()
            guard stringMax > 0, value.count > stringMax else { return .scalar(quoted(value)) }
            return .scalar(quoted("\(value.prefix(stringMax / 2))… (\(value.count) characters)"))
        case .number, .bool, .null:
            let range = try reader.raw()
            return .scalar(String(decoding: reader.bytes(range), as: UTF8.self))
        }
    }

    private func quoted(_ text: String) -> String {
        var writer = JSONWriter()
        writer.string(text)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private func flat(_ node: Node) -> String {
        switch node {
        case .scalar(let text): text
        case .array(let elements): "[\(elements.map(flat).joined(separator: ", "))]"
        case .object(let members): "{\(members.map { "\($0.0): \(flat($0.1))" }.joined(separator: ", "))}"
        }
    }

    private func text(_ node: Node, indent: Int) -> String {
        let line = flat(node)
        if indent + line.count <= widthMax { return line }
        let inner = String(repeating: " ", count: indent + 2)
        let outer = String(repeating: " ", count: indent)
        switch node {
        case .scalar: return line
        case .array(let elements):
            let parts = elements.map { inner + text($0, indent: indent + 2) }
            return "[\n\(parts.joined(separator: ",\n"))\n\(outer)]"
        case .object(let members):
            let parts = members.map { "\(inner)\($0.0): \(text($0.1, indent: indent + 2))" }
            return "{\n\(parts.joined(separator: ",\n"))\n\(outer)}"
        }
    }
}
