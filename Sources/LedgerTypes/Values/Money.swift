/// Amounts of money as the reports write them: with three decimals, as the App Store states prices.
public enum Money {
    /// `4990` thousandths are `4.990`.
    public static func text(thousandths: Int128) -> String {
        let digits = String(thousandths.magnitude)
        let padded = String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
        return "\(thousandths < 0 ? "-" : "")\(padded.dropLast(3)).\(padded.suffix(3))"
    }

    /// The thousandths that ``text(thousandths:)`` wrote; `nil` of any other text.
    public static func thousandths(_ text: String) -> Int128? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].utf8.count == 3, let sum = Int128(parts[0] + parts[1]),
            Money.text(thousandths: sum) == text
        else { return nil }
        return sum
    }
}
