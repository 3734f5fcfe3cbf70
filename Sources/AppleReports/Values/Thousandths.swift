/// An amount of money in thousandths of its currency's unit: exact, as the App Store signs prices.
public struct Thousandths: RawRepresentable, Hashable, Sendable, Comparable, CustomStringConvertible {
    /// 4.99 is 4990.
    public let rawValue: Int64

    /// An amount of so many thousandths.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// No money.
    public static let zero = Thousandths(rawValue: 0)

    /// By amount.
    public static func < (left: Thousandths, right: Thousandths) -> Bool { left.rawValue < right.rawValue }

    /// The amount without its sign.
    public var magnitude: Thousandths { Thousandths(rawValue: abs(rawValue)) }

    /// The amount with the other sign.
    public static prefix func - (amount: Thousandths) -> Thousandths { Thousandths(rawValue: -amount.rawValue) }

    /// The sum; `nil` where 64 bits do not hold it.
    public func adding(_ other: Thousandths) -> Thousandths? {
        let (sum, isTooMuch) = rawValue.addingReportingOverflow(other.rawValue)
        return isTooMuch ? nil : Thousandths(rawValue: sum)
    }

    /// So many times the amount; `nil` where 64 bits do not hold it.
    public func times(_ count: Int64) -> Thousandths? {
        let (product, isTooMuch) = rawValue.multipliedReportingOverflow(by: count)
        return isTooMuch ? nil : Thousandths(rawValue: product)
    }
}

// MARK: As text

extension Thousandths {
    /// The greatest magnitude that a report may state, 2^53 − 1 thousandths: as the ledger's prices.
    static let magnitudeMax: Int64 = (1 << 53) - 1

    /// A decimal number as reports have it: `4.99`, `-0.99`, `.7`, `12`. Digits behind the third must be zeros.
    /// - Returns: `nil` where it is anything else, or above 2^53 − 1 thousandths.
    public init?(_ text: some StringProtocol) {
        var rest = text.utf8[...]
        let isNegative = rest.first == UInt8(ascii: "-")
        if isNegative { rest = rest.dropFirst() }
        var value: Int64 = 0
        var digits = 0
        /// Digits behind the point; `nil` before it.
        var places: Int?
        for byte in rest {
            if byte == UInt8(ascii: "."), places == nil {
                places = 0
                continue
            }
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            digits += 1
            if let place = places {
                places = place + 1
                if place >= 3 {
                    guard byte == UInt8(ascii: "0") else { return nil }
                    continue
                }
            }
            value = value * 10 + Int64(byte - UInt8(ascii: "0"))
            guard value <= Thousandths.magnitudeMax else { return nil }
        }
        guard digits > 0 else { return nil }
        for _ in min(places ?? 0, 3)..<3 { value *= 10 }
        guard value <= Thousandths.magnitudeMax else { return nil }
        self.init(rawValue: isNegative ? -value : value)
    }

    /// As reports write it: at least two digits behind the point, and a third where it is not 0.
    public var description: String {
        let magnitude = rawValue.magnitude
        let fraction = String(magnitude % 1_000 + 1_000).dropFirst()
        let sign = rawValue < 0 ? "-" : ""
        return "\(sign)\(magnitude / 1_000).\(fraction.hasSuffix("0") ? fraction.dropLast() : fraction)"
    }
}
