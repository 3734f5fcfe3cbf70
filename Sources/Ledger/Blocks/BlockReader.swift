/// Reads the fields that ``BlockWriter`` writes. Never traps, whatever the bytes are.
///
/// The first field that is wrong is remembered as the fault, and everything after it reads as zero or empty: who reads
/// asks for the fault once for each row.
struct BlockReader {
    struct Fault {
        var kind: BlockError.Kind
        var words: StaticString
    }

    private let bytes: UnsafeRawBufferPointer
    /// Where the next field begins.
    private(set) var place: Int
    /// Where the part being read ends.
    private(set) var end: Int
    private(set) var fault: Fault?

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        place = 0
        end = bytes.count
    }

    var isAtEnd: Bool { place == end }

    mutating func fail(_ kind: BlockError.Kind, _ words: StaticString) {
        if fault == nil { fault = Fault(kind: kind, words: words) }
        place = end
    }

    mutating func require(_ holds: Bool, _ words: @autoclosure () -> StaticString) {
        if !holds { fail(.inconsistent, words()) }
    }

    /// Reads no further than so many bytes from here, until ``leave(_:)``, to which the result is given.
    mutating func enter(_ size: Int) -> Int {
        let outer = end
        if size > end - place {
            fail(.malformed, "the section is larger than what is left of the body")
        } else {
            end = place + size
        }
        return outer
    }

    mutating func leave(_ outer: Int) { end = outer }

    mutating func skip(_ count: Int) { _ = range(count) }

    mutating func byte() -> UInt8 {
        if place == end {
            fail(.malformed, "the bytes end within a field")
            return 0
        }
        let value = bytes[place]
        place += 1
        return value
    }

    mutating func fixed32() -> UInt32 {
        let range = range(4)
        if range.isEmpty { return 0 }
        return UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: range.lowerBound, as: UInt32.self))
    }

    mutating func fixed64() -> Int64 {
        let range = range(8)
        if range.isEmpty { return 0 }
        return Int64(bigEndian: bytes.loadUnaligned(fromByteOffset: range.lowerBound, as: Int64.self))
    }

    mutating func digest() -> Digest {
        let range = range(Digest.byteCount)
        return Digest { digest in
            if range.isEmpty {
                digest.initializeMemory(as: UInt8.self, repeating: 0)
            } else {
                digest.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[range]))
            }
        }
    }

    /// A number of 64 bits, in no more bytes than it needs.
    mutating func varint() -> UInt64 {
        // Most are one byte.
        if place < end && bytes[place] < 0x80 {
            place += 1
            return UInt64(bytes[place - 1])
        }
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while place < end {
            let byte = bytes[place]
            place += 1
            if shift == 63 && byte > 1 {
                fail(.malformed, "a number has more than 64 bits")
                return 0
            }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 {
                if byte == 0 {
                    fail(.malformed, "a number has more bytes than it needs")
                    return 0
                }
                return value
            }
            shift += 7
        }
        fail(.malformed, "the bytes end within a field")
        return 0
    }

    /// A number that is never negative.
    mutating func number() -> Int64 {
        let value = varint()
        if value > UInt64(Int64.max) {
            fail(.malformed, "a number is 2^63 or more")
            return 0
        }
        return Int64(bitPattern: value)
    }

    mutating func integer() -> Int64 {
        let value = varint()
        return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    mutating func time(from base: Timestamp) -> Timestamp {
        let time = base &+ integer()
        require(BlockForm.times.contains(time), "a time is not within ±(2^53 − 1)")
        return time
    }

    /// The bytes that a count announces, as their place.
    mutating func blob() -> Range<Int> {
        let count = number()
        return range(count <= Int64(end - place) ? Int(count) : Int.max)
    }

    mutating func text() -> String {
        let range = blob()
        guard let text = String(validating: bytes[range].bindMemoryOrEmpty, as: UTF8.self) else {
            fail(.malformed, "a text is not UTF-8")
            return ""
        }
        return text
    }

    mutating func transaction() -> TransactionID { TransactionID(number: number()) }

    /// Empty, with a fault, where there are not so many.
    private mutating func range(_ count: Int) -> Range<Int> {
        guard count <= end - place else {
            fail(.malformed, "the bytes end within a field")
            return place..<place
        }
        defer { place += count }
        return place..<place + count
    }
}

extension Slice<UnsafeRawBufferPointer> {
    /// As bytes; none where there is no memory.
    fileprivate var bindMemoryOrEmpty: UnsafeBufferPointer<UInt8> {
        UnsafeRawBufferPointer(rebasing: self).bindMemory(to: UInt8.self)
    }
}
