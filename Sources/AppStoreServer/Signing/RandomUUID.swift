/// UUIDs of version 4 (RFC 9562 §5.4), from the system's random numbers.
package enum RandomUUID {
    /// The next one: 36 characters, lower case.
    package static func text() -> String {
        var random = SystemRandomNumberGenerator()
        let high = random.next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
        let low = random.next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        let digits = RandomUUID.hexadecimal(high) + RandomUUID.hexadecimal(low)
        var text = ""
        for (place, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(place) { text.append("-") }
            text.append(digit)
        }
        return text
    }

    private static func hexadecimal(_ half: UInt64) -> String {
        let digits = String(half, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
