extension JSONReader {
    /// Reads a string in place.
    package mutating func text() throws(JSONError) -> JSONText {
        try expect(.string)
        position += 1
        let start = position
        var hasEscapes = false
        while true {
            skipPlainText()
            guard position < count else { throw syntax("a string does not end") }
            switch base[position] {
            case UInt8(ascii: "\""):
                let raw = UnsafeBufferPointer(start: base + start, count: position - start)
                position += 1
                return JSONText(raw: raw, hasEscapes: hasEscapes)
            case UInt8(ascii: "\\"):
                hasEscapes = true
                try escape()
            case 0..<0x20:
                throw syntax("a control character in a string is not escaped")
            default:
                try multibyteScalar()
            }
        }
    }

    /// The string at this place, which was read and checked before.
    func knownText() -> JSONText {
        let start = position + 1
        var i = start
        var hasEscapes = false
        while base[i] != UInt8(ascii: "\"") {
            if base[i] == UInt8(ascii: "\\") {
                hasEscapes = true
                i += 1
            }
            i += 1
        }
        return JSONText(raw: UnsafeBufferPointer(start: base + start, count: i - start), hasEscapes: hasEscapes)
    }

    /// Goes on to the next byte that is a quote, a backslash, a control character or not ASCII: eight bytes at a time.
    private mutating func skipPlainText() {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs: UInt64 = 0x8080_8080_8080_8080
        var i = position
        while i + 8 <= count {
            let word = UInt64(littleEndian: UnsafeRawPointer(base + i).loadUnaligned(as: UInt64.self))
            // A byte's high bit is set where it is below 0x20, equal to one of the two, or not ASCII; false hits are
            // only above a true one (the borrow goes upwards), so that the lowest one is right.
            let quote = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
            let backslash = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
            let hits =
                (word &- ones &* 0x20) & ~word | (quote &- ones) & ~quote | (backslash &- ones) & ~backslash | word
            if hits & highs != 0 {
                position = i + (hits & highs).trailingZeroBitCount / 8
                return
            }
            i += 8
        }
        while i < count, JSONReader.isPlain(base[i]) { i += 1 }
        position = i
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte < 0x80 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    /// RFC 8259 §7; a surrogate that has no partner is no character and is refused.
    private mutating func escape() throws(JSONError) {
        guard position + 1 < count else { throw syntax("an escape does not end") }
        switch base[position + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 2
        case UInt8(ascii: "u"):
            let unit = try hexQuad()
            if unit & 0xFC00 == 0xDC00 { throw syntax("a low surrogate stands alone") }
            if unit & 0xFC00 == 0xD800 {
                guard position + 1 < count, base[position] == UInt8(ascii: "\\"),
                    base[position + 1] == UInt8(ascii: "u"), try hexQuad() & 0xFC00 == 0xDC00
                else { throw syntax("a high surrogate stands alone") }
            }
        default:
            throw syntax("there is no such escape")
        }
    }

    /// The four digits of `\uXXXX` at this place.
    private mutating func hexQuad() throws(JSONError) -> UInt32 {
        guard position + 6 <= count else { throw syntax("an escape does not end") }
        var value: UInt32 = 0
        for i in position + 2..<position + 6 {
            guard let digit = JSONReader.hexValue(base[i]) else { throw syntax("an escape needs four hex digits") }
            value = value << 4 | UInt32(digit)
        }
        position += 6
        return value
    }

    static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// RFC 3629 §4: no overlong forms, no surrogates, nothing above U+10FFFF.
    private mutating func multibyteScalar() throws(JSONError) {
        let lead = base[position]
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch lead {
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xE1...0xEC, 0xEE, 0xEF: length = 3
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: length = 4
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: throw JSONError(.invalidUTF8, offset: position)
        }
        guard position + length <= count, second.contains(base[position + 1]) else {
            throw JSONError(.invalidUTF8, offset: position)
        }
        for i in 2..<max(2, length) where base[position + i] & 0xC0 != 0x80 {
            throw JSONError(.invalidUTF8, offset: position)
        }
        position += length
    }
}
