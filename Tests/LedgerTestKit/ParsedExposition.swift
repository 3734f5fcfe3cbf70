/// Figures in Prometheus's text format, read as strictly as its page says it, and more so where this service may be
/// held to more: each figure has HELP and TYPE before it, is said once, and stands with those of its name.
package struct ParsedExposition {
    package struct Fault: Error, CustomStringConvertible {
        package let description: String
    }

    package struct Series: Hashable {
        package var name: String
        package var labels: [String: String] = [:]
    }

    package struct Family {
        package var type = ""
        package var help: String?
    }

    package private(set) var families: [String: Family] = [:]
    package private(set) var values: [Series: Double] = [:]
    private var order: [(series: Series, family: String, text: Substring)] = []
    private var current = ""

    package init(_ text: String) throws {
        guard text.hasSuffix("\n") else { throw Fault(description: "the last line does not end") }
        for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
            do {
                if line.hasPrefix("#") { try readComment(line) } else { try readSample(line) }
            } catch let fault as Fault {
                throw Fault(description: "\(fault): \(line)")
            }
        }
        for (name, family) in families {
            guard order.contains(where: { $0.family == name }) else {
                throw Fault(description: "\(name) has no figure")
            }
            if family.type == "histogram" { try checkHistogram(name) }
        }
    }

    /// A figure by its name and all of its labels.
    package subscript(_ name: String, _ labels: [String: String] = [:]) -> Double? {
        values[Series(name: name, labels: labels)]
    }

    /// All of a name, added up.
    package func sum(_ name: String, where isMeant: ([String: String]) -> Bool = { _ in true }) -> Double {
        values.filter { $0.key.name == name && isMeant($0.key.labels) }.reduce(0) { $0 + $1.value }
    }

    // MARK: Lines

    private mutating func readComment(_ line: Substring) throws {
        guard let match = line.wholeMatch(of: /# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)/) else {
            throw Fault(description: "is neither HELP nor TYPE")
        }
        let (name, text) = (String(match.2), String(match.3))
        if match.1 == "HELP" {
            guard families[name] == nil else { throw Fault(description: "has been told before") }
            guard text.wholeMatch(of: /(?:[^\\]|\\\\|\\n)+/) != nil else { throw Fault(description: "is not escaped") }
            families[name] = Family(help: text)
            current = name
        } else {
            guard current == name, families[name]?.type == "" else { throw Fault(description: "is out of its place") }
            guard ["counter", "gauge", "histogram"].contains(text) else { throw Fault(description: "is no type") }
            guard text != "counter" || name.hasSuffix("_total") else {
                throw Fault(description: "a counter whose name does not say so")
            }
            families[name]?.type = text
        }
    }

    private mutating func readSample(_ line: Substring) throws {
        guard let match = line.prefixMatch(of: /([a-zA-Z_:][a-zA-Z0-9_:]*)(\{)?/) else {
            throw Fault(description: "has no name")
        }
        let name = String(match.1)
        var rest = line[match.range.upperBound...]
        var labels: [String: String] = [:]
        if match.2 != nil {
            while true {
                let pair = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\\\|\\"|\\n)*)"(,|\} )/
                guard let label = rest.prefixMatch(of: pair) else {
                    throw Fault(description: "has a label that is no label")
                }
                guard labels.updateValue(String(label.2), forKey: String(label.1)) == nil else {
                    throw Fault(description: "has a label twice")
                }
                rest = rest[label.range.upperBound...]
                if label.3 != "," { break }
            }
        } else {
            guard rest.hasPrefix(" ") else { throw Fault(description: "has no value") }
            rest = rest.dropFirst()
        }
        let family = familyName(of: name)
        guard family == current, let type = families[family]?.type, !type.isEmpty else {
            throw Fault(description: "does not stand with HELP and TYPE of its name")
        }
        guard let value = ParsedExposition.value(rest) else {
            throw Fault(description: "has no value that is a number")
        }
        if type == "counter" && !(value >= 0 && value < .infinity) { throw Fault(description: "counts nothing") }
        let series = Series(name: name, labels: labels)
        guard values.updateValue(value, forKey: series) == nil else { throw Fault(description: "is said twice") }
        order.append((series, family, rest))
    }

    /// A histogram's figures have its name and more.
    private func familyName(of name: String) -> String {
        for suffix in ["_bucket", "_sum", "_count"] where name.hasSuffix(suffix) {
            let stem = String(name.dropLast(suffix.count))
            if families[stem]?.type == "histogram" { return stem }
        }
        return name
    }

    private static func value(_ text: Substring) -> Double? {
        switch text {
        case "NaN": .nan
        case "+Inf": .infinity
        case "-Inf": -.infinity
        default: text.wholeMatch(of: /-?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?/).flatMap { Double($0.0) }
        }
    }

    // MARK: Histograms

    /// Each has buckets that ascend and count on, one of all, and a sum.
    private func checkHistogram(_ name: String) throws {
        var buckets: [[String: String]: [(bound: Double, count: Double)]] = [:]
        for (series, family, _) in order where family == name && series.name == name + "_bucket" {
            var labels = series.labels
            guard let text = labels.removeValue(forKey: "le"), let bound = ParsedExposition.value(text[...]),
                let count = values[series]
            else { throw Fault(description: "\(name) has a bucket without a bound") }
            buckets[labels, default: []].append((bound, count))
        }
        for (labels, own) in buckets {
            let ascends = zip(own, own.dropFirst()).allSatisfy { $0.bound < $1.bound && $0.count <= $1.count }
            guard ascends, own.last?.bound == .infinity else {
                throw Fault(description: "\(name): buckets do not ascend")
            }
            guard self[name + "_count", labels] == own.last?.count, self[name + "_sum", labels] != nil else {
                throw Fault(description: "\(name) has no sum, or another count than its last bucket")
            }
        }
        guard order.filter({ $0.series.name == name + "_count" }).count == buckets.count else {
            throw Fault(description: "\(name) has a count without buckets")
        }
    }
}
