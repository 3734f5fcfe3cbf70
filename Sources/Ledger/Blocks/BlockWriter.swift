/// Writes a block's body into memory that was measured before: no field asks for more.
struct BlockWriter: ~Copyable {
    private let start: UnsafeMutableRawPointer
    private let end: UnsafeMutableRawPointer
    private var cursor: UnsafeMutableRawPointer

    /// - Parameter memory: not empty; nothing else reads or writes it meanwhile.
    init(_ memory: UnsafeMutableRawBufferPointer) {
        guard let base = memory.baseAddress else { preconditionFailure("a block is written into memory") }
        start = base
        end = base + memory.count
        cursor = base
    }

    var count: Int { cursor - start }

    /// Every write passes here: one that would leave the memory is a wrong measure, and stops.
    private func needRoom(_ bytes: Int) {
        precondition(bytes <= end - cursor, "a block is larger than it was measured")
    }

    mutating func add(byte: UInt8) {
        needRoom(1)
        cursor.storeBytes(of: byte, as: UInt8.self)
        cursor += 1
    }

    /// 4 bytes, big-endian.
    mutating func add(fixed32 value: UInt32) {
        needRoom(4)
        cursor.storeBytes(of: value.bigEndian, as: UInt32.self)
        cursor += 4
    }

    /// 8 bytes, big-endian, two's complement.
    mutating func add(fixed64 value: Int64) {
        needRoom(8)
        cursor.storeBytes(of: value.bigEndian, as: Int64.self)
        cursor += 8
    }

    mutating func add(_ digest: Digest) { digest.withUnsafeBytes { add(raw: $0) } }

    private mutating func add(varint value: UInt64) {
        needRoom(LEB128.byteCountMax)
        cursor += LEB128.write(value, to: cursor)
    }

    /// A number that is never negative.
    mutating func add(number: Int64) {
        precondition(number >= 0, "a number of a block is negative")
        add(varint: UInt64(bitPattern: number))
    }

    mutating func add(count: Int) { add(number: Int64(count)) }

    /// Zig-zag: 0, −1, 1, −2 … are 0, 1, 2, 3 …
    mutating func add(integer: Int64) { add(varint: UInt64(bitPattern: integer << 1 ^ integer >> 63)) }

    /// A time as its distance from another.
    mutating func add(time: Timestamp, from base: Timestamp) {
        precondition(BlockForm.times.contains(time), "a time is not one that a block can hold")
        add(integer: time - base)
    }

    mutating func add(text: String) {
        var text = text
        text.withUTF8 { bytes in
            add(count: bytes.count)
            add(raw: UnsafeRawBufferPointer(bytes))
        }
    }

    mutating func add(bytes: ArraySlice<UInt8>) {
        add(count: bytes.count)
        bytes.withUnsafeBytes { add(raw: $0) }
    }

    mutating func add(raw bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        needRoom(bytes.count)
        cursor.copyMemory(from: source, byteCount: bytes.count)
        cursor += bytes.count
    }

    /// What a section begins with; the size is put in by ``end(_:)``, to which the result is given.
    mutating func begin(_ section: BlockSection, rows: Int) -> Int {
        add(byte: section.rawValue)
        add(count: rows)
        add(fixed32: 0)
        return count
    }

    mutating func end(_ first: Int) {
        guard let size = UInt32(exactly: count - first) else { preconditionFailure("a section is over 4 GiB") }
        (start + first - 4).storeBytes(of: size.bigEndian, as: UInt32.self)
    }
}
