/// A text that somebody else wrote, as people are shown it, on a terminal or in a log: on one line, not too long, and
/// without what a terminal obeys or a reader takes for something else. No more than that: who reads it need not get the
/// text itself back.
package enum ForeignText {
    /// Bytes of a text that are shown where nothing else is said: it is a name, or a sentence.
    package static let bytesMax = 512

    /// The text with each such character escaped.
    /// - Parameter bytesMax: of the text; what is longer ends with `…`.
    package static func shown(_ text: String, bytesMax: Int = bytesMax) -> String {
        var shown = ""
        var bytes = 0
        for scalar in text.unicodeScalars {
            bytes += UTF8.width(scalar)
            guard bytes <= bytesMax else { return shown + "…" }
            shown += escaped(scalar)
        }
        return shown
    }

    /// A character as it is, or escaped where it is none that is seen: a control character, one that changes the
    /// direction of what follows (U+202E), one that ends a line (U+2028), or one that no font has.
    package static func escaped(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\n": "\\n"
        case "\r": "\\r"
        case "\t": "\\t"
        default: isSeen(scalar) ? String(scalar) : "\\u{\(String(scalar.value, radix: 16))}"
        }
    }

    /// A text in JSON, in which such characters stand in strings alone (RFC 8259 §7), with each of them escaped as JSON
    /// does: it says the same.
    package static func shown(json: String) -> String {
        if json.unicodeScalars.allSatisfy(isSeen) { return json }
        return json.unicodeScalars.reduce(into: "") { shown, scalar in
            if isSeen(scalar) {
                shown.unicodeScalars.append(scalar)
            } else {
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16)
                    shown += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            }
        }
    }

    private static func isSeen(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
        default: true
        }
    }
}
