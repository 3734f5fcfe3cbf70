/// Writes one JSON text without white space (so without line ends), commas and escapes included.
///
/// The caller keeps the order: in an object a key, then its value.
package struct JSONWriter {
    package var bytes: [UInt8]
    private var needsComma = false

    package init(capacity: Int = 256) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    /// Goes on after bytes that are there already (a whole number of texts or lines).
    package init(appendingTo bytes: consuming [UInt8]) { self.bytes = bytes }

    /// Forgets what was written and keeps the memory.
    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        needsComma = false
    }

    /// Ends a line: what follows is a new text.
    package mutating func newline() {
        bytes.append(UInt8(ascii: "\n"))
        needsComma = false
    }

    /// Goes on with the object that was ended last.
    package mutating func reopenObject() {
        precondition(bytes.last == UInt8(ascii: "}"), "no object was ended last")
        bytes.removeLast()
        needsComma = bytes.last != UInt8(ascii: "{")
    }

    package mutating func beginObject() { open(UInt8(ascii: "{")) }
    package mutating func endObject() { close(UInt8(ascii: "}")) }
    package mutating func beginArray() { open(UInt8(ascii: "[")) }
    package mutating func endArray() { close(UInt8(ascii: "]")) }

    /// A key that needs no escapes.
    package mutating func key(_ name: StaticString) {
        ascii(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// A key of any kind. (A literal would be a `String` by preference; it is a key that needs no escapes.)
    @_disfavoredOverload package mutating func key(_ name: String) {
        string(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// A string that needs no escapes.
    package mutating func ascii(_ value: StaticString) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: UnsafeBufferPointer(start: value.utf8Start, count: value.utf8CodeUnitCount))
        bytes.append(UInt8(ascii: "\""))
    }

    package mutating func string(_ value: String) {
        separate()
        var value = value
        value.withUTF8 { quote($0) }
    }

    /// A string from bytes that are UTF-8.
    package mutating func string(utf8 value: UnsafeBufferPointer<UInt8>) {
        separate()
        quote(value)
    }

    /// A string that holds bytes in base 64 (RFC 4648 §4).
    package mutating func string(base64 value: [UInt8]) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        value.withUnsafeBufferPointer { Base64.encodeStandard($0, into: &bytes) }
        bytes.append(UInt8(ascii: "\""))
    }

    /// A string that holds bytes as hexadecimal digits, the letters small.
    package mutating func string(hexadecimal value: [UInt8]) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        for byte in value {
            bytes.append(JSONWriter.digit(byte >> 4))
            bytes.append(JSONWriter.digit(byte & 15))
        }
        bytes.append(UInt8(ascii: "\""))
    }

    package mutating func integer(_ value: Int64) {
        separate()
        digits(value)
    }

    /// A string that holds an integer.
    package mutating func string(digitsOf value: Int64) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        digits(value)
        bytes.append(UInt8(ascii: "\""))
    }

    /// A string that holds an integer of up to 128 bits.
    package mutating func string(digitsOf value: Int128) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: String(value).utf8)
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func digits(_ value: Int64) {
        if value < 0 { bytes.append(UInt8(ascii: "-")) }
        let start = bytes.count
        var rest = value.magnitude
        repeat {
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        } while rest > 0
        // In place: a slice's `reverse` would copy the whole buffer.
        var (first, last) = (start, bytes.count - 1)
        while first < last {
            bytes.swapAt(first, last)
            first += 1
            last -= 1
        }
    }

    package mutating func bool(_ value: Bool) { value ? raw("true") : raw("false") }
    package mutating func null() { raw("null") }

    /// One value that is JSON already.
    package mutating func raw(_ value: some Sequence<UInt8>) {
        separate()
        bytes.append(contentsOf: value)
    }

    private mutating func raw(_ value: StaticString) {
        separate()
        bytes.append(contentsOf: UnsafeBufferPointer(start: value.utf8Start, count: value.utf8CodeUnitCount))
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    private mutating func open(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func quote(_ value: UnsafeBufferPointer<UInt8>) {
        bytes.append(UInt8(ascii: "\""))
        var plain = 0
        for i in value.indices {
            let byte = value[i]
            guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
            bytes.append(contentsOf: value[plain..<i])
            escape(byte)
            plain = i + 1
        }
        bytes.append(contentsOf: value[plain...])
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func escape(_ byte: UInt8) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case 0..<0x20:
            bytes.append(contentsOf: [UInt8(ascii: "u"), UInt8(ascii: "0"), UInt8(ascii: "0")])
            for digit in [byte >> 4, byte & 15] { bytes.append(JSONWriter.digit(digit)) }
        default: bytes.append(byte)
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
