/// Makes request keys, 36 characters each, in place.
package struct KeyMaker {
    package enum Order: String, CaseIterable, Sendable {
        case timeOrdered = "time-ordered"
        case random
    }

    static let byteCount = 36
    private let order: Order
    private var generator: SplitMix64
    private let salt: UInt64
    private var count: UInt64 = 0

    init(order: Order, seed: UInt64) {
        self.order = order
        generator = SplitMix64(seed: seed)
        salt = generator.next()
    }

    /// RFC 9562: version 7 (§5.7, method 1 of §6.2: a counter after the time, so that keys of a millisecond ascend
    /// too) or version 4 (§5.4).
    mutating func write(to text: UnsafeMutablePointer<UInt8>, milliseconds: Int64) {
        count &+= 1
        let high: UInt64
        let low: UInt64
        switch order {
        case .timeOrdered:
            high = UInt64(truncatingIfNeeded: milliseconds) << 16 | 0x7000 | (count >> 20) & 0xFFF
            low = 0x8000_0000_0000_0000 | (count & 0xF_FFFF) << 42 | salt & 0x3FF_FFFF_FFFF
        case .random:
            high = generator.next() & ~0xF000 | 0x4000
            low = generator.next() & ~0xC000_0000_0000_0000 | 0x8000_0000_0000_0000
        }
        var place = 0
        func hex(_ bits: UInt64, _ digits: Int) {
            var shift = UInt64(digits) * 4
            for _ in 0..<digits {
                shift -= 4
                let digit = UInt8(truncatingIfNeeded: bits >> shift & 15)
                text[place] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
                place += 1
            }
        }
        func dash() {
            text[place] = UInt8(ascii: "-")
            place += 1
        }
        hex(high >> 32, 8)
        dash()
        hex(high >> 16, 4)
        dash()
        hex(high, 4)
        dash()
        hex(low >> 48, 4)
        dash()
        hex(low, 12)
    }
}

/// Vigna's generator: one word of state, every seed is good.
struct SplitMix64 {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
