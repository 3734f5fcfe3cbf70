/// How a page writes a number of units, or money in thousandths.
package enum Quantity {
    case units
    case money

    /// With all of its digits, in groups: `1,234,567`, `-1,234.500`.
    package func text(_ number: Int128) -> String {
        let (digits, decimals) =
            switch self {
            case .units: (String(number.magnitude), "")
            case .money:
                (String(number.magnitude / 1_000), "." + String(String(1_000 + number.magnitude % 1_000).dropFirst()))
            }
        var grouped = ""
        for (place, digit) in digits.enumerated() {
            if place > 0 && (digits.utf8.count - place) % 3 == 0 { grouped += "," }
            grouped.append(digit)
        }
        return (number < 0 ? "\u{2212}" : "") + grouped + decimals
    }

    /// In a few characters, for an axis: `1.2M`, `350k`, `0.5`. What is left of the digits is cut off.
    package func short(_ number: Int128) -> String {
        let thousandths = self == .units ? number.magnitude * 1_000 : number.magnitude
        let names: [(one: UInt128, name: String)] = [
            (1_000_000_000_000_000, "tn"), (1_000_000_000_000, "bn"), (1_000_000_000, "M"), (1_000_000, "k"),
        ]
        let (one, name) = names.first { thousandths >= $0.one } ?? (1_000, "")
        var text = String(thousandths / one)
        let decimals = String(String(1_000 + thousandths % one * 1_000 / one).dropFirst())
        let needed = decimals.replacing(/0+$/, with: "")
        if !needed.isEmpty { text += ".\(needed)" }
        return (number < 0 ? "\u{2212}" : "") + text + name
    }
}
