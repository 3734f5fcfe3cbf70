/// Unsigned numbers in seven bits a byte, the lowest first; every byte but the last has its highest bit set. (DWARF 5
/// §7.6.) ``BlockReader`` reads them.
enum LEB128 {
    /// Bytes of the largest number of 64 bits.
    static let byteCountMax = 10

    /// Writes `value` in as few bytes as it needs.
    /// - Parameter memory: at least ``byteCountMax`` bytes.
    /// - Returns: how many bytes it needed.
    @inline(__always)
    static func write(_ value: UInt64, to memory: UnsafeMutableRawPointer) -> Int {
        var count = 0
        var rest = value
        while rest >= 0x80 {
            memory.storeBytes(of: UInt8(truncatingIfNeeded: rest) | 0x80, toByteOffset: count, as: UInt8.self)
            count += 1
            rest >>= 7
        }
        memory.storeBytes(of: UInt8(truncatingIfNeeded: rest), toByteOffset: count, as: UInt8.self)
        return count + 1
    }
}
