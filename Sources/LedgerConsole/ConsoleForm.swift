/// What a form sends: names with values, as in `application/x-www-form-urlencoded` (URL Standard §5.1).
package struct ConsoleForm: Sendable {
    private var values: [String: String] = [:]

    /// `nil` where a name is given twice, or something is no UTF-8.
    package init?(_ text: String) {
        for part in text.utf8.split(separator: UInt8(ascii: "&")) {
            let sides = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = ConsoleForm.decoded(sides[0]),
                let value = sides.count == 2 ? ConsoleForm.decoded(sides[1]) : "", values[name] == nil
            else { return nil }
            values[name] = value
        }
    }

    /// The value of a name; `nil` where it is not given, or empty.
    package subscript(name: String) -> String? { values[name].flatMap { $0.isEmpty ? nil : $0 } }

    /// - Throws: where a value is given and cannot be.
    func value<Value>(_ name: String, _ read: (String) -> Value?) throws(ConsoleMistake) -> Value? {
        guard let text = self[name] else { return nil }
        guard let value = read(text) else { throw .parameter(name) }
        return value
    }

    func needed<Value>(_ name: String, _ read: (String) -> Value?) throws(ConsoleMistake) -> Value {
        guard let value = try value(name, read) else { throw .parameter(name) }
        return value
    }

    private static func decoded(_ part: Substring.UTF8View) -> String? {
        var bytes: [UInt8] = []
        var rest = part[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                    return nil
                }
                bytes.append(high << 4 | low)
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// A value as it stands in a query: all but unreserved characters (RFC 3986 §2.3) in percent signs.
    package static func encoded(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += byte < 16 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return encoded
    }
}
