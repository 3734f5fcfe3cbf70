/// What must hold of one kind of input, whatever its bytes are. The fuzz targets of `Tests/FuzzTests` look for bytes of
/// which it does not hold; `FuzzPropertyTests` tries the seeds and all that was once found.
public struct FuzzProperty: Sendable, CustomStringConvertible {
    /// The kind of input.
    public let name: String
    /// Inputs with which a fuzzer begins. Most are accepted.
    public let seeds: @Sendable () -> [[UInt8]]
    /// Pieces of which inputs are made, where they are text.
    public let words: [String]
    /// Reads the bytes, and ends the process where the property does not hold, or the reader traps.
    ///
    /// It returns whether they were accepted.
    public let check: @Sendable ([UInt8]) -> Bool
    /// Changes an input: by a number, some part of it as the function changes bytes. Counts around the part stay right.
    public let change: @Sendable (_ input: [UInt8], _ number: UInt32, _ body: ([UInt8]) -> [UInt8]) -> [UInt8]

    package init(
        _ name: String, seeds: @escaping @Sendable () -> [[UInt8]], words: [String] = [],
        change: @escaping @Sendable ([UInt8], UInt32, ([UInt8]) -> [UInt8]) -> [UInt8] = { $2($0) },
        check: @escaping @Sendable ([UInt8]) -> Bool
    ) {
        self.name = name
        self.seeds = seeds
        self.words = words
        self.change = change
        self.check = check
    }

    /// The kind of input.
    public var description: String { name }

    /// What a connection sends: lines, and the requests on them.
    public static let line = FuzzProperty(
        "line", seeds: { LineProperty.seeds }, words: LineProperty.words,
        change: { JSONParts.change($0, $1, $2) }, check: LineProperty.check)
    /// A JWS with its signature, as a transaction or as a notification.
    public static let jws = FuzzProperty(
        "jws", seeds: { JWSProperty.seeds }, words: JWSProperty.words, change: JWSProperty.change,
        check: JWSProperty.check)
    /// The certificates of a JWS's header.
    public static let path = FuzzProperty(
        "path", seeds: { PathProperty.seeds }, change: PathProperty.change, check: PathProperty.check)
    /// What a JWS says whose signature is good.
    public static let payload = FuzzProperty(
        "payload", seeds: { PayloadProperty.seeds }, words: PayloadProperty.words,
        change: { JSONParts.change($0, $1, edges: PayloadProperty.edges, $2) }, check: PayloadProperty.check)
    /// A block with its names.
    public static let block = FuzzProperty(
        "block", seeds: { BlockProperty.seeds }, change: BlockParts.change, check: BlockProperty.check)
    /// A log's segment files and its head file.
    public static let log = FuzzProperty(
        "log", seeds: { LogProperty.seeds }, change: LogProperty.change, check: LogProperty.check)
    /// The answer that a used key keeps.
    public static let answer = FuzzProperty("answer", seeds: { AnswerProperty.seeds }, check: AnswerProperty.check)
    /// A file of App Store Connect's.
    public static let report = FuzzProperty(
        "report", seeds: { ReportProperty.seeds }, words: ReportProperty.words, check: ReportProperty.check)

    /// All that need no SQLite. `FuzzTableProperties` has the other.
    public static let all = [line, jws, path, payload, block, log, answer, report]
}

/// Ends the process where a property does not hold. The fuzzer keeps the input.
package func require(_ holds: Bool, _ words: @autoclosure () -> String) {
    if !holds { fatalError("the property does not hold: \(words())") }
}

/// What `body` gives, which cannot fail: it makes something of what the program itself made.
package func certain<Result>(_ what: String, _ body: () throws -> Result) -> Result {
    do { return try body() } catch { fatalError("\(what): \(error)") }
}

/// A value that is there, for what the program itself names.
package func certain<Value>(_ value: Value?, _ what: @autoclosure () -> String) -> Value {
    guard let value else { fatalError("\(what()) is none") }
    return value
}

/// Chooses, by one number, one thing after the other.
package struct Choice {
    private var number: Int

    package init(_ number: UInt32) { self.number = Int(number) }

    /// One of the numbers from 0 up to `count`.
    package mutating func of(_ count: Int) -> Int {
        defer { number /= count }
        return number % count
    }
}

/// Takes an input apart, from its front. Where it ends too early, what is left is taken, and numbers are 0.
package struct InputReader {
    private var rest: ArraySlice<UInt8>

    package init(_ bytes: [UInt8]) { rest = bytes[...] }

    package var isAtEnd: Bool { rest.isEmpty }

    package mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    package mutating func integer<Value: FixedWidthInteger>(_ type: Value.Type = Value.self) -> Value {
        (0..<Value.bitWidth / 8).reduce(0) { value, _ in value << 8 | Value(truncatingIfNeeded: byte()) }
    }

    package mutating func bytes(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    /// As many as two bytes before them say.
    package mutating func field() -> [UInt8] { bytes(Int(integer(UInt16.self))) }

    package mutating func all() -> [UInt8] { bytes(rest.count) }
}

extension [UInt8] {
    /// With the count before them, as ``InputReader/field()`` takes them.
    package var asField: [UInt8] { [UInt8(count >> 8), UInt8(count & 0xFF)] + self }
}
