/// RFC 4648, strict: one alphabet, padding exactly where it belongs, and no bits that mean nothing, so that each
/// sequence of bytes has one text only.
package enum Base64 {
    /// §5, without padding, as JWS wants it.
    package static func decodeURL(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        text.withUnsafeBufferPointer { decodeURL($0) }
    }

    /// §5, without padding.
    package static func encodeURL(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        bytes.withUnsafeBufferPointer { encodeURL($0, into: &text) }
        return String(decoding: text, as: UTF8.self)
    }

    package static func decodeURL(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? { decode(text, urlTable) }

    /// §4, with padding, as in `x5c`.
    package static func decodeStandard(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        let padding = text.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
        return decode(UnsafeBufferPointer(rebasing: text.dropLast(padding)), standardTable)
    }

    package static func encodeURL(_ bytes: UnsafeBufferPointer<UInt8>, into text: inout [UInt8]) {
        encode(bytes, urlAlphabet, into: &text)
    }

    package static func encodeStandard(_ bytes: UnsafeBufferPointer<UInt8>, into text: inout [UInt8]) {
        let start = text.count
        encode(bytes, standardAlphabet, into: &text)
        while (text.count - start) % 4 != 0 { text.append(UInt8(ascii: "=")) }
    }

    private static let urlAlphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    private static let standardAlphabet: StaticString =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    private static let urlTable = table(urlAlphabet)
    private static let standardTable = table(standardAlphabet)

    /// No character stands for more than 63, so the two high bits say that it stands for none.
    private static let invalid: UInt8 = 0xFF

    private static func table(_ alphabet: StaticString) -> [UInt8] {
        var table = [UInt8](repeating: invalid, count: 256)
        for value in 0..<64 { table[Int(alphabet.utf8Start[value])] = UInt8(value) }
        return table
    }

    private static func decode(_ text: UnsafeBufferPointer<UInt8>, _ table: [UInt8]) -> [UInt8]? {
        let tail = text.count % 4
        guard tail != 1 else { return nil }
        var seen: UInt8 = 0
        let bytes = table.withUnsafeBufferPointer { table in
            [UInt8](unsafeUninitializedCapacity: text.count / 4 * 3 + max(0, tail - 1)) { out, count in
                var from = 0
                while from + 4 <= text.count {
                    let a = table[Int(text[from])], b = table[Int(text[from + 1])]
                    let c = table[Int(text[from + 2])], d = table[Int(text[from + 3])]
                    seen |= a | b | c | d
                    out[count] = a << 2 | b >> 4
                    out[count + 1] = b << 4 | c >> 2
                    out[count + 2] = c << 6 | d
                    count += 3
                    from += 4
                }
                guard tail > 0 else { return }
                let a = table[Int(text[from])], b = table[Int(text[from + 1])]
                let c = tail == 3 ? table[Int(text[from + 2])] : 0
                seen |= a | b | c
                // §3.5: the bits that are left over must be zero.
                if (tail == 2 ? b << 4 : c << 6) != 0 { seen = invalid }
                out[count] = a << 2 | b >> 4
                if tail == 3 { out[count + 1] = b << 4 | c >> 2 }
                count += tail - 1
            }
        }
        return seen & 0xC0 == 0 ? bytes : nil
    }

    private static func encode(_ bytes: UnsafeBufferPointer<UInt8>, _ alphabet: StaticString, into text: inout [UInt8])
    {
        let letters = alphabet.utf8Start
        let start = text.count
        text.append(contentsOf: repeatElement(0, count: (bytes.count * 4 + 2) / 3))
        text.withUnsafeMutableBufferPointer { text in
            var to = start
            func put(_ bits: UInt32, _ shift: UInt32) {
                text[to] = letters[Int(bits >> shift & 63)]
                to += 1
            }
            var from = 0
            while from + 3 <= bytes.count {
                let bits = UInt32(bytes[from]) << 16 | UInt32(bytes[from + 1]) << 8 | UInt32(bytes[from + 2])
                put(bits, 18)
                put(bits, 12)
                put(bits, 6)
                put(bits, 0)
                from += 3
            }
            switch bytes.count - from {
            case 1:
                let bits = UInt32(bytes[from]) << 16
                put(bits, 18)
                put(bits, 12)
            case 2:
                let bits = UInt32(bytes[from]) << 16 | UInt32(bytes[from + 1]) << 8
                put(bits, 18)
                put(bits, 12)
                put(bits, 6)
            default: break
            }
        }
    }
}
