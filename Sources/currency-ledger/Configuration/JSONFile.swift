import StrictJSON

/// A value of a file, with the place where it stands.
struct JSONValue {
    struct Member {
        let name: String
        /// Of the name's first quote.
        let offset: Int
        let value: JSONValue
    }

    indirect enum Content {
        case object([Member])
        case array([JSONValue])
        case string(String)
        case number(String)
        case bool(Bool)
        case null
    }

    let content: Content
    /// Of its first byte.
    let offset: Int
    /// The members that lead to it, as `products."com.example.gems".gems`; empty for the whole.
    let path: String

    /// What stands there, in a few words: a scalar as it would be written, and only the kind of anything larger.
    var words: String {
        let charactersMax = 40
        let text: String
        switch content {
        case .object: return JSONKind.object.name
        case .array: return JSONKind.array.name
        case .string(let value): text = JSONValue.quoted(value)
        case .number(let digits): text = digits
        case .bool(let value): return "\(value)"
        case .null: return JSONKind.null.name
        }
        return text.count <= charactersMax ? text : "\(text.prefix(charactersMax))…"
    }

    /// The path of a member of the object at `path`. A name with dots or other signs is written in quotes.
    static func path(_ path: String, _ name: String) -> String {
        let isPlain =
            !name.isEmpty
            && name.utf8.allSatisfy { $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") || $0.isAlphanumeric }
        let step = isPlain ? name : quoted(name)
        return path.isEmpty ? step : "\(path).\(step)"
    }

    /// A text as JSON has it.
    static func quoted(_ text: String) -> String {
        var writer = JSONWriter()
        writer.string(text)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

extension UInt8 {
    fileprivate var isAlphanumeric: Bool {
        self &- UInt8(ascii: "0") < 10 || self | 0x20 &- UInt8(ascii: "a") < 26
    }
}

/// A JSON file of an operator. Its reader notes what is wrong with a value and goes on, so that all faults of a file
/// are said at once, each with its line and column.
struct JSONFile {
    let name: String
    let root: JSONValue
    private let bytes: [UInt8]
    private var faults: [Fault] = []

    private struct Fault {
        let offset: Int
        let path: String
        let rule: String
    }

    /// Reads a file.
    /// - Throws: ``ConfigurationError`` where it cannot be read, or is not JSON at all.
    init(path: String, membersMax: Int = JSONLimits.membersMax) throws(ConfigurationError) {
        let bytes: [UInt8]
        do throws(FileError) {
            bytes = try File.read(path, bytesMax: Settings.fileBytesMax)
        } catch {
            throw ConfigurationError([error.description])
        }
        try self.init(bytes, name: path, membersMax: membersMax)
    }

    /// - Throws: ``ConfigurationError`` where it is not JSON at all, or too deep or too wide: its one fault.
    init(_ bytes: [UInt8], name: String, membersMax: Int = JSONLimits.membersMax) throws(ConfigurationError) {
        self.name = name
        self.bytes = bytes
        let read: Result<(JSONValue, [Fault]), JSONError> = bytes.withUnsafeBufferPointer { buffer in
            var tree = Tree(buffer, membersMax: membersMax)
            var reader = JSONReader(buffer)
            do throws(JSONError) {
                let root = try reader.allowingAnyMembers { (reader) throws(JSONError) in
                    try tree.value(&reader, path: "")
                }
                try reader.end()
                return .success((root, tree.repeated))
            } catch {
                return .failure(error)
            }
        }
        switch read {
        case .success(let (root, repeated)):
            self.root = root
            faults = repeated
        case .failure(let error):
            throw ConfigurationError(["\(name):\(JSONPlace(of: error.offset, in: bytes)): \(error.rule)"])
        }
    }

    /// Builds the values of a text.
    private struct Tree {
        private let text: UnsafeBufferPointer<UInt8>
        private let membersMax: Int
        /// Members whose names their objects have already.
        private(set) var repeated: [Fault] = []

        init(_ text: UnsafeBufferPointer<UInt8>, membersMax: Int) {
            self.text = text
            self.membersMax = membersMax
        }

        mutating func value(_ reader: inout JSONReader, path: String) throws(JSONError) -> JSONValue {
            let kind = try reader.peek()
            let offset = reader.offset
            let content: JSONValue.Content
            switch kind {
            case .object:
                var members: [JSONValue.Member] = []
                var names: Set<String> = []
                try reader.object { (reader, key) throws(JSONError) in
                    let name = key.string
                    let place = self.offset(of: key)
                    guard members.count < membersMax else { throw JSONError(.tooManyMembers, offset: place) }
                    let inner = JSONValue.path(path, name)
                    if !names.insert(name).inserted {
                        repeated.append(Fault(offset: place, path: inner, rule: "is given twice"))
                    }
                    members.append(.init(name: name, offset: place, value: try value(&reader, path: inner)))
                }
                content = .object(members)
            case .array:
                var elements: [JSONValue] = []
                try reader.array { (reader, index) throws(JSONError) in
                    elements.append(try value(&reader, path: "\(path)[\(index)]"))
                }
                content = .array(elements)
            case .string: content = .string(try reader.string())
            case .number:
                let range = try reader.raw()
                content = .number(String(decoding: reader.bytes(range), as: UTF8.self))
            case .bool: content = .bool(try reader.bool())
            case .null:
                try reader.null()
                content = .null
            }
            return JSONValue(content: content, offset: offset, path: path)
        }

        /// Where a name's first quote stands.
        private func offset(of key: JSONText) -> Int {
            guard let start = text.baseAddress, let name = key.raw.baseAddress else {
                preconditionFailure("a name that stands in no text")
            }
            return name - start - 1
        }
    }

    // MARK: Faults

    /// Notes what a value must be and is not.
    /// - Parameter isSecret: whether what stands there is left out.
    mutating func mustBe(_ what: String, _ value: JSONValue, isSecret: Bool = false) {
        note("must be \(what)\(isSecret ? "" : ", not \(value.words)")", value)
    }

    /// Notes what is wrong with a value.
    mutating func note(_ rule: String, _ value: JSONValue) {
        faults.append(Fault(offset: value.offset, path: value.path, rule: rule))
    }

    /// Notes what is wrong with a member's name.
    mutating func note(_ rule: String, _ member: JSONValue.Member) {
        faults.append(Fault(offset: member.offset, path: member.value.path, rule: rule))
    }

    /// Notes that an object lacks a member.
    mutating func missing(_ name: String, in object: JSONValue) {
        faults.append(Fault(offset: object.offset, path: JSONValue.path(object.path, name), rule: "is missing"))
    }

    /// Where a value stands, as `file:line:column: path`, for a fault that is found later.
    func place(of value: JSONValue) -> String { "\(name):\(JSONPlace(of: value.offset, in: bytes)): \(value.path)" }

    /// Where a member's name stands, and the member.
    func place(of member: JSONValue.Member) -> String {
        "\(name):\(JSONPlace(of: member.offset, in: bytes)): \(member.value.path)"
    }

    /// All faults in the order in which they stand in the file, each as `file:line:column: path: rule`.
    var lines: [String] {
        var place = JSONPlace()
        var passed = 0
        return faults.enumerated().sorted { ($0.element.offset, $0.offset) < ($1.element.offset, $1.offset) }.map {
            let fault = $0.element
            place.pass(bytes[passed..<fault.offset])
            passed = fault.offset
            return "\(name):\(place): \(fault.path.isEmpty ? "" : "\(fault.path): ")\(fault.rule)"
        }
    }

    /// - Throws: ``ConfigurationError`` with every fault that was noted, if any was.
    func check() throws(ConfigurationError) {
        if !faults.isEmpty { throw ConfigurationError(lines) }
    }

    // MARK: Values

    /// The members of an object; `nil`, and a fault, where the value is none.
    mutating func members(_ value: JSONValue) -> [JSONValue.Member]? {
        if case .object(let members) = value.content { return members }
        mustBe(JSONKind.object.name, value)
        return nil
    }

    /// The elements of an array; `nil`, and a fault, where the value is none.
    mutating func elements(_ value: JSONValue, isSecret: Bool = false) -> [JSONValue]? {
        if case .array(let elements) = value.content { return elements }
        mustBe(JSONKind.array.name, value, isSecret: isSecret)
        return nil
    }

    /// A string; `nil`, and a fault, where the value is none.
    mutating func string(_ value: JSONValue, isSecret: Bool = false) -> String? {
        if case .string(let text) = value.content { return text }
        mustBe(JSONKind.string.name, value, isSecret: isSecret)
        return nil
    }

    /// True or false; `nil`, and a fault, where the value is neither.
    mutating func bool(_ value: JSONValue) -> Bool? {
        if case .bool(let isTrue) = value.content { return isTrue }
        mustBe("true or false", value)
        return nil
    }

    /// An integer of a range, without fraction and exponent; `nil`, and a fault, where the value is none.
    mutating func integer(_ value: JSONValue, in range: ClosedRange<Int64> = .min ... .max) -> Int64? {
        if case .number(let digits) = value.content, let integer = Int64(digits), range.contains(integer) {
            return integer
        }
        let bounds = range == .min ... .max ? "" : " from \(range.lowerBound) to \(range.upperBound)"
        mustBe("an integer\(bounds)", value)
        return nil
    }

    /// A number as it is written; `nil`, and a fault, where the value is none.
    mutating func number(_ value: JSONValue) -> String? {
        if case .number(let digits) = value.content { return digits }
        mustBe(JSONKind.number.name, value)
        return nil
    }

    /// One of the words of a choice; `nil`, and a fault, where the value is none.
    mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(_ value: JSONValue) -> Choice? {
        if case .string(let text) = value.content, let choice = Choice(rawValue: text) { return choice }
        mustBe("one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))", value)
        return nil
    }
}
