/// CRC-32C (Castagnoli; RFC 3720 §12.1), eight bytes at a time.
struct Checksum {
    private var state: UInt32 = 0xFFFF_FFFF

    var value: UInt32 { ~state }

    /// `tables[256 * k + byte]` is what `byte` does to the checksum when `k` more bytes follow it in the same step.
    private static let tables: [UInt32] = {
        var tables = [UInt32](repeating: 0, count: 8 * 256)
        for byte in 0..<256 {
            var value = UInt32(byte)
            for _ in 0..<8 { value = value & 1 == 0 ? value >> 1 : value >> 1 ^ 0x82F6_3B78 }
            tables[byte] = value
        }
        for step in 1..<8 {
            for byte in 0..<256 {
                let before = tables[(step - 1) * 256 + byte]
                tables[step * 256 + byte] = before >> 8 ^ tables[Int(before & 0xFF)]
            }
        }
        return tables
    }()

    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        var state = self.state
        Checksum.tables.withUnsafeBufferPointer { tables in
            var index = 0
            while index + 8 <= bytes.count {
                let word =
                    UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
                    ^ UInt64(state)
                state = 0
                for byte in 0..<8 {
                    state ^= tables[(7 - byte) * 256 + Int(word >> (8 * UInt64(byte)) & 0xFF)]
                }
                index += 8
            }
            while index < bytes.count {
                state = state >> 8 ^ tables[Int((state ^ UInt32(bytes[index])) & 0xFF)]
                index += 1
            }
        }
        self.state = state
    }

    /// Adds the bytes of a number, the highest first.
    mutating func add(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.bigEndian) { add($0) }
    }
}
