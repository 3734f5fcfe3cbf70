/// A JSON string where it stands in the text, between its quotes, already checked: UTF-8, no control characters, whole
/// escapes. It is good only as long as the reader's bytes are.
package struct JSONText {
    /// The bytes between the quotes, as written.
    package let raw: UnsafeBufferPointer<UInt8>
    package let hasEscapes: Bool

    @inlinable init(raw: UnsafeBufferPointer<UInt8>, hasEscapes: Bool) {
        self.raw = raw
        self.hasEscapes = hasEscapes
    }

    package var isEmpty: Bool { raw.isEmpty }

    package var string: String {
        hasEscapes ? String(decoding: unescaped(), as: UTF8.self) : String(decoding: raw, as: UTF8.self)
    }

    /// The string's bytes, unescaped; they are copied only where there are escapes.
    package func withBytes<R, E: Error>(_ body: (UnsafeBufferPointer<UInt8>) throws(E) -> R) throws(E) -> R {
        guard hasEscapes else { return try body(raw) }
        let decoded = unescaped()
        let result: Result<R, E> = decoded.withUnsafeBufferPointer { bytes in
            do throws(E) { return .success(try body(bytes)) } catch { return .failure(error) }
        }
        return try result.get()
    }

    @inlinable @inline(__always) package static func ~= (pattern: StaticString, text: JSONText) -> Bool {
        text == pattern
    }

    @inlinable @inline(__always) package static func == (text: JSONText, other: StaticString) -> Bool {
        if text.hasEscapes { return text.equalsUnescaped(other) }
        let count = other.utf8CodeUnitCount
        guard text.raw.count == count else { return false }
        let start = other.utf8Start
        for i in 0..<count where text.raw[i] != start[i] { return false }
        return true
    }

    @usableFromInline func equalsUnescaped(_ other: StaticString) -> Bool {
        unescaped().elementsEqual(UnsafeBufferPointer(start: other.utf8Start, count: other.utf8CodeUnitCount))
    }

    func hasSameBytes(as other: JSONText) -> Bool {
        if !hasEscapes && !other.hasEscapes { return raw.elementsEqual(other.raw) }
        return withBytes { mine in other.withBytes { theirs in mine.elementsEqual(theirs) } }
    }

    /// Enough of a key to tell it from others in a vector of thirty-two; equal hashes are compared in full.
    var hash: UInt32 {
        withBytes { bytes in
            var mixed = UInt64(truncatingIfNeeded: bytes.count)
            if bytes.count >= 8 {
                let raw = UnsafeRawBufferPointer(bytes)
                mixed ^= raw.loadUnaligned(as: UInt64.self)
                mixed = mixed &* 0x9E37_79B9_7F4A_7C15
                mixed ^= raw.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self)
            } else {
                for byte in bytes { mixed = mixed << 8 ^ UInt64(byte) }
            }
            return UInt32(truncatingIfNeeded: (mixed &* 0x9E37_79B9_7F4A_7C15) >> 32)
        }
    }

    var prefixForPath: String {
        let whole = string
        guard whole.utf8.count > JSONLimits.pathKeyBytesMax else { return whole }
        return String(decoding: whole.utf8.prefix(JSONLimits.pathKeyBytesMax), as: UTF8.self) + "…"
    }

    /// RFC 8259 §7. The reader has checked every escape, so that each is whole here.
    func unescaped() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: raw.count) { out, count in
            var i = 0
            while i < raw.count {
                guard raw[i] == UInt8(ascii: "\\") else {
                    out[count] = raw[i]
                    count += 1
                    i += 1
                    continue
                }
                let escape = raw[i + 1]
                guard escape == UInt8(ascii: "u") else {
                    out[count] = JSONText.simpleEscape(escape)
                    count += 1
                    i += 2
                    continue
                }
                var scalar = hexQuad(at: i + 2)
                i += 6
                if scalar & 0xFC00 == 0xD800 {
                    scalar = 0x1_0000 + (scalar & 0x3FF) << 10 + (hexQuad(at: i + 2) & 0x3FF)
                    i += 6
                }
                JSONText.append(scalar, to: out, at: &count)
            }
        }
    }

    private static func simpleEscape(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: byte  // a quote, a backslash or a slash stands for itself
        }
    }

    private func hexQuad(at start: Int) -> UInt32 {
        var value: UInt32 = 0
        for i in start..<start + 4 { value = value << 4 | UInt32(JSONReader.hexValue(raw[i]) ?? 0) }
        return value
    }

    private static func append(_ scalar: UInt32, to out: UnsafeMutableBufferPointer<UInt8>, at count: inout Int) {
        func put(_ byte: UInt32) {
            out[count] = UInt8(truncatingIfNeeded: byte)
            count += 1
        }
        switch scalar {
        case 0..<0x80:
            put(scalar)
        case 0x80..<0x800:
            put(0xC0 | scalar >> 6)
            put(0x80 | scalar & 0x3F)
        case 0x800..<0x1_0000:
            put(0xE0 | scalar >> 12)
            put(0x80 | scalar >> 6 & 0x3F)
            put(0x80 | scalar & 0x3F)
        default:
            put(0xF0 | scalar >> 18)
            put(0x80 | scalar >> 12 & 0x3F)
            put(0x80 | scalar >> 6 & 0x3F)
            put(0x80 | scalar & 0x3F)
        }
    }
}
