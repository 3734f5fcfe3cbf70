extension JSONReader {
    /// Where a number's parts are; a part that is not there is empty.
    struct NumberShape {
        var integer: Range<Int>
        var isNegative: Bool
        var fraction: Range<Int>
        var hasExponent: Bool
    }

    /// Reads an integer of 64 bits. A fraction or an exponent is not an integer, whatever its value.
    package mutating func integer() throws(JSONError) -> Int64 {
        let shape = try numberShape()
        guard shape.fraction.isEmpty, !shape.hasExponent else { throw JSONError(.notAnInteger, offset: valueStart) }
        return try integerPart(shape)
    }

    /// Reads any number, rounded to the nearest double.
    package mutating func number() throws(JSONError) -> Double {
        _ = try numberShape()
        let digits = String(decoding: bytes(valueStart..<position), as: UTF8.self)
        guard let value = Double(digits), value.isFinite else { throw JSONError(.outOfRange, offset: valueStart) }
        return value
    }

    /// Reads a time in milliseconds: an integer, or a number with a fraction, which is cut off (Xcode writes such).
    package mutating func milliseconds() throws(JSONError) -> Int64 {
        let start = self
        let shape = try numberShape()
        guard shape.hasExponent else { return try integerPart(shape) }
        self = start
        let value = try number()
        guard value >= -0x1p63, value < 0x1p63 else { throw JSONError(.outOfRange, offset: valueStart) }
        return Int64(value)
    }

    private func integerPart(_ shape: NumberShape) throws(JSONError) -> Int64 {
        var value: Int64 = 0
        for i in shape.integer {
            let digit = Int64(base[i] - UInt8(ascii: "0"))
            let (tenfold, multiplied) = value.multipliedReportingOverflow(by: 10)
            let (next, added) =
                shape.isNegative
                ? tenfold.subtractingReportingOverflow(digit) : tenfold.addingReportingOverflow(digit)
            if multiplied || added { throw JSONError(.outOfRange, offset: valueStart) }
            value = next
        }
        return value
    }

    /// RFC 8259 §6.
    mutating func numberShape() throws(JSONError) -> NumberShape {
        try expect(.number)
        let isNegative = base[position] == UInt8(ascii: "-")
        if isNegative { position += 1 }
        let integer = digits()
        guard !integer.isEmpty else { throw syntax("a number lacks its digits") }
        if integer.count > 1, base[integer.lowerBound] == UInt8(ascii: "0") {
            throw syntax("a number begins with a zero")
        }
        var shape = NumberShape(
            integer: integer, isNegative: isNegative, fraction: position..<position, hasExponent: false)
        guard position < count else { return shape }
        if base[position] == UInt8(ascii: ".") {
            position += 1
            shape.fraction = digits()
            guard !shape.fraction.isEmpty else { throw syntax("a fraction lacks its digits") }
        }
        if position < count, base[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < count, base[position] == UInt8(ascii: "+") || base[position] == UInt8(ascii: "-") {
                position += 1
            }
            guard !digits().isEmpty else { throw syntax("an exponent lacks its digits") }
            shape.hasExponent = true
        }
        return shape
    }

    private mutating func digits() -> Range<Int> {
        let start = position
        while position < count, base[position] &- UInt8(ascii: "0") < 10 { position += 1 }
        return start..<position
    }
}
