/// A strict pull reader over one JSON text (RFC 8259): what the caller does not ask for is still checked in full.
///
/// The text is UTF-8 without a byte order mark. Two members of one object may not have the same name (after
/// unescaping), also in what is skipped; nesting and the number of members are bounded. The caller keeps the bytes
/// alive and unchanged.
/// ```swift
/// var reader = JSONReader(bytes)
/// try reader.object { reader, key throws(JSONError) in
///     switch key {
///     case "amount": amount = try reader.integer()
///     default: try reader.skip()
///     }
/// }
/// try reader.end()
/// ```
/// A member's closure must read exactly one value. After an error the reader's position has no meaning.
package struct JSONReader {
    let base: UnsafePointer<UInt8>
    let count: Int
    let membersMax: Int
    var position = 0
    var depth = 0
    var allowsAnyMembers = false
    /// The member that ``settingApart(_:_:)`` speaks of, the depth of its object, and where its value stands.
    @usableFromInline var apart: (name: StaticString, depth: Int, value: Range<Int>?)?
    /// Where the value that was read last, or is being read, begins.
    @usableFromInline var valueStart = 0

    package init(_ bytes: UnsafeBufferPointer<UInt8>, membersMax: Int = JSONLimits.membersMax) {
        precondition(bytes.count <= UInt32.max, "places of keys are kept in 32 bits")
        // An empty buffer may have no address; one that is never read stands in for it.
        base = bytes.baseAddress ?? UnsafePointer(JSONReader.emptyText.utf8Start)
        count = bytes.count
        self.membersMax = membersMax
    }

    private static let emptyText: StaticString = ""

    /// The byte that is read next.
    package var offset: Int { position }

    /// The kind of the next value, by its first byte.
    package mutating func peek() throws(JSONError) -> JSONKind {
        skipWhiteSpace()
        guard position < count else { throw syntax("the text ends where a value should begin") }
        switch base[position] {
        case UInt8(ascii: "{"): return .object
        case UInt8(ascii: "["): return .array
        case UInt8(ascii: "\""): return .string
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .bool
        case UInt8(ascii: "n"): return .null
        default: throw syntax("no value begins like this")
        }
    }

    /// Reads an object and calls `member` for each of its members, which must read (or skip) the member's value.
    @inlinable package mutating func object(
        _ member: (inout JSONReader, JSONText) throws(JSONError) -> Void
    ) throws(JSONError) {
        var keys = try beginObject()
        while let key = try nextKey(&keys) {
            do throws(JSONError) {
                if apart != nil, try takeApart(key) { continue }
                try member(&self, key)
            } catch {
                throw error.inside(key)
            }
        }
    }

    /// Reads an array and calls `element` for each of its elements with its index.
    @inlinable package mutating func array(
        _ element: (inout JSONReader, Int) throws(JSONError) -> Void
    ) throws(JSONError) {
        try beginArray()
        var index = 0
        while try nextElement(index) {
            do throws(JSONError) { try element(&self, index) } catch { throw error.inside(index) }
            index += 1
        }
    }

    /// Reads some more elements of an array, for a caller who has something else to do before all are read.
    /// - Parameters:
    ///   - place: where the reading of it stopped; `nil` before it begins, and when all are read. A reader of the same
    ///     bytes goes on with it.
    ///   - elementsMax: how many are read at the most.
    package mutating func array(
        from place: inout JSONArrayPlace?, elementsMax: Int,
        _ element: (inout JSONReader, Int) throws(JSONError) -> Void
    ) throws(JSONError) {
        if let place { (position, depth) = (place.position, place.depth) } else { try beginArray() }
        let first = place?.index ?? 0
        var index = first
        while index - first < elementsMax {
            guard try nextElement(index) else { return place = nil }
            do throws(JSONError) { try element(&self, index) } catch { throw error.inside(index) }
            index += 1
        }
        place = JSONArrayPlace(position: position, depth: depth, index: index)
    }

    package mutating func string() throws(JSONError) -> String { try text().string }

    package mutating func bool() throws(JSONError) -> Bool {
        try expect(.bool)
        if base[position] == UInt8(ascii: "t") {
            try literal("true")
            return true
        }
        try literal("false")
        return false
    }

    package mutating func null() throws(JSONError) {
        try expect(.null)
        try literal("null")
    }

    /// Reads one value of any kind, checks it in full and forgets it.
    package mutating func skip() throws(JSONError) {
        switch try peek() {
        case .object: try object { reader, _ throws(JSONError) in try reader.skip() }
        case .array: try array { reader, _ throws(JSONError) in try reader.skip() }
        case .string: _ = try text()
        case .number: _ = try numberShape()
        case .bool: _ = try bool()
        case .null: try null()
        }
    }

    /// Within `body` an object may have any number of members, also of the same name: for a caller who has to say what
    /// else is wrong with a text.
    package mutating func allowingAnyMembers<Result>(
        _ body: (inout JSONReader) throws(JSONError) -> Result
    ) throws(JSONError) -> Result {
        let before = allowsAnyMembers
        allowsAnyMembers = true
        let result = try body(&self)
        allowsAnyMembers = before
        return result
    }

    /// Within `body`, the object that is read next has no member of this name: that is read here, and checked in full.
    /// - Returns: what `body` gives, and where the member's value stands; `nil` where there is none.
    package mutating func settingApart<Result>(
        _ name: StaticString, _ body: (inout JSONReader) throws(JSONError) -> Result
    ) throws(JSONError) -> (Result, Range<Int>?) {
        apart = (name, depth + 1, nil)
        let result = try body(&self)
        defer { apart = nil }
        return (result, apart?.value)
    }

    /// - Returns: whether this member is the one that is set apart.
    @usableFromInline mutating func takeApart(_ key: JSONText) throws(JSONError) -> Bool {
        guard let apart, apart.depth == depth, key == apart.name else { return false }
        // Where members may repeat, the last is as good as the first.
        let value = try raw()
        self.apart?.value = value
        return true
    }

    /// Reads one value of any kind, checks it in full and says where it stands.
    package mutating func raw() throws(JSONError) -> Range<Int> {
        skipWhiteSpace()
        let start = position
        try skip()
        valueStart = start
        return start..<position
    }

    /// Reads one value of any shape, checks that it is JSON and says where it stands. It may be nested however deep,
    /// its objects may have any members: for a caller who has to find where a value ends that nobody will read.
    package mutating func rawOfAnyShape() throws(JSONError) -> Range<Int> {
        skipWhiteSpace()
        let start = position
        // The objects (true) and arrays that are open, instead of recursion.
        var open: [Bool] = []
        repeat {
            var isFirst = false
            switch try peek() {
            case .object, .array:
                open.append(base[position] == UInt8(ascii: "{"))
                position += 1
                isFirst = true
            case .string: _ = try text()
            case .number: _ = try numberShape()
            case .bool: _ = try bool()
            case .null: try null()
            }
            try passEnds(&open, isFirst: isFirst)
        } while !open.isEmpty
        valueStart = start
        return start..<position
    }

    /// Goes to the next value, over the ends of objects and arrays. `open` is empty after the last of them.
    private mutating func passEnds(_ open: inout [Bool], isFirst: Bool) throws(JSONError) {
        var isFirst = isFirst
        while let isObject = open.last {
            skipWhiteSpace()
            guard position < count else { throw syntax("the text ends within an object or an array") }
            if base[position] == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                position += 1
                open.removeLast()
                isFirst = false
                continue
            }
            if !isFirst {
                guard base[position] == UInt8(ascii: ",") else {
                    throw syntax("a comma or a closing bracket is missing")
                }
                position += 1
            }
            skipWhiteSpace()
            guard isObject else {
                // Only after a comma.
                if position < count, base[position] == UInt8(ascii: "]") { throw syntax("an element is missing") }
                return
            }
            guard position < count, base[position] == UInt8(ascii: "\"") else {
                throw syntax("a member's name is missing")
            }
            _ = try text()
            skipWhiteSpace()
            guard position < count, base[position] == UInt8(ascii: ":") else { throw syntax("a colon is missing") }
            position += 1
            return
        }
    }

    /// The bytes of a range that `raw()` gave.
    package func bytes(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "a range of another text")
        return UnsafeBufferPointer(start: base + range.lowerBound, count: range.count)
    }

    /// Only white space may remain.
    package mutating func end() throws(JSONError) {
        skipWhiteSpace()
        guard position == count else { throw syntax("something follows the value") }
    }

    /// An error for the value that was read last, for the caller to throw: "must be …".
    package func fail(_ message: String) -> JSONError { JSONError(.invalid(message), offset: valueStart) }

    /// An error for a member that is not there, for the caller to throw after the object.
    package func missing(_ name: StaticString) -> JSONError { missing(name.description) }

    package func missing(_ name: String) -> JSONError { JSONError(.missing, offset: position, path: name) }
}

/// Where the reading of an array stopped, behind one of its elements.
package struct JSONArrayPlace: Sendable {
    let position: Int
    let depth: Int
    /// Of the next element.
    package let index: Int
}
