/// Figures in Prometheus's text format, version 0.0.4
/// (https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format).
///
/// They may come in any order: "All lines for a given metric must be provided as one single group, with the optional
/// HELP and TYPE lines first."
package struct Exposition {
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// A figure. What a sum of all players may come to is wider than 64 bits.
    package enum Value: Sendable {
        case whole(Int128)
        case real(Double)

        package static func count(_ number: some BinaryInteger) -> Value { .whole(Int128(clamping: number)) }
        package static func flag(_ isSo: Bool) -> Value { .whole(isSo ? 1 : 0) }
        /// Milliseconds, told in seconds.
        package static func seconds(milliseconds: Int64) -> Value { .real(Double(milliseconds) / 1_000) }

        fileprivate var text: String {
            switch self {
            case .whole(let number): "\(number)"
            case .real(let number): Exposition.text(number)
            }
        }
    }

    private struct Group {
        let family: Family
        var samples: [UInt8] = []
    }

    private var groups: [Group] = []
    private var places: [String: Int] = [:]

    package init() {}

    package mutating func add(_ family: Family, _ value: Value, _ labels: [Label] = []) {
        precondition(family.kind != .histogram, "\(family.name) is a histogram")
        addSample(to: family, suffix: "", labels, value.text)
    }

    package mutating func add(_ family: Family, _ reading: Histogram.Reading, _ labels: [Label] = []) {
        precondition(family.kind == .histogram, "\(family.name) is no histogram")
        let scale = reading.scale
        var count: UInt64 = 0
        for (place, own) in reading.counts.enumerated() {
            count += own
            let bound = place < scale.bounds.count ? Double(scale.bounds[place]) / Double(scale.perUnit) : .infinity
            addSample(to: family, suffix: "_bucket", labels + [Label("le", Exposition.text(bound))], "\(count)")
        }
        let sum = Double(reading.sum) / Double(scale.perUnit)
        addSample(to: family, suffix: "_sum", labels, Exposition.text(sum))
        // What the last bucket says: more may have been counted since it was read.
        addSample(to: family, suffix: "_count", labels, "\(count)")
    }

    private mutating func addSample(to family: Family, suffix: String, _ labels: [Label], _ value: String) {
        let place = places[family.name] ?? groups.count
        if place == groups.count {
            places[family.name] = place
            groups.append(Group(family: family))
        }
        precondition(groups[place].family == family, "two families are called \(family.name)")
        var line = family.name + suffix
        if !labels.isEmpty {
            let pairs = labels.map { "\($0.name)=\"\(Exposition.escaped($0.value, quoted: true))\"" }
            line += "{\(pairs.joined(separator: ","))}"
        }
        groups[place].samples += Array("\(line) \(value)\n".utf8)
    }

    /// The whole text.
    package var bytes: [UInt8] {
        groups.reduce(into: []) { bytes, group in
            let (name, help) = (group.family.name, Exposition.escaped(group.family.help, quoted: false))
            bytes += Array("# HELP \(name) \(help)\n# TYPE \(name) \(group.family.kind.rawValue)\n".utf8)
            bytes += group.samples
        }
    }

    /// "`label_value` can be any sequence of UTF-8 characters, but the backslash, double-quote, and line feed
    /// characters have to be escaped"; in the text of HELP the first and the last of them.
    private static func escaped(_ text: String, quoted: Bool) -> String {
        let special: Set<UInt8> = [UInt8(ascii: "\\"), UInt8(ascii: "\n"), UInt8(ascii: "\"")]
        guard text.utf8.contains(where: { special.contains($0) }) else { return text }
        var escaped: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): escaped += Array(#"\\"#.utf8)
            case UInt8(ascii: "\n"): escaped += Array(#"\n"#.utf8)
            case UInt8(ascii: "\"") where quoted: escaped += Array(#"\""#.utf8)
            default: escaped.append(byte)
            }
        }
        return String(decoding: escaped, as: UTF8.self)
    }

    /// As Go's `ParseFloat` reads it: "NaN, +Inf, and -Inf are valid values".
    private static func text(_ number: Double) -> String {
        if number.isNaN { return "NaN" }
        if number.isInfinite { return number < 0 ? "-Inf" : "+Inf" }
        if let whole = Int64(exactly: number) { return "\(whole)" }
        return "\(number)"
    }
}
