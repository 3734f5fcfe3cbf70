/// A page being written. Text and the values of attributes are escaped here, and nowhere else is any markup made: names
/// of elements and attributes are words of this program, and whatever came from outside is text.
///
/// What is written is HTML that is well-formed XML too (every element is closed, every value quoted).
package struct HTML {
    package typealias Attributes = KeyValuePairs<StaticString, String>

    package private(set) var bytes: [UInt8] = []

    package init() {}

    /// - Parameter body: writes what is in the element.
    package mutating func element(_ name: StaticString, _ attributes: Attributes = [:], _ body: (inout HTML) -> Void) {
        begin(name, attributes)
        append(">")
        body(&self)
        append("</")
        append(name)
        append(">")
    }

    package mutating func element(_ name: StaticString, _ attributes: Attributes, _ text: String) {
        element(name, attributes) { $0.text(text) }
    }

    package mutating func element(_ name: StaticString, _ text: String) { element(name, [:], text) }

    /// An element that has no content, as `meta`.
    package mutating func empty(_ name: StaticString, _ attributes: Attributes) {
        begin(name, attributes)
        append("/>")
    }

    package mutating func text(_ text: String) { bytes += HTML.escaped(text) }

    /// What people outside of this program have named: it may run in either direction, and what is around it does not.
    /// Characters of it that nobody sees, and that would have it seem to be another, are shown by their numbers; spaces
    /// at its ends, or behind another, are marked, and stay what they are for whoever copies the name.
    package mutating func name(_ name: String) {
        element("bdi") { page in
            var seen = String.UnicodeScalarView()
            for (scalar, sight) in HTML.sights(of: name) {
                if sight == .itself {
                    seen.append(scalar)
                    continue
                }
                page.text(String(seen))
                seen = String.UnicodeScalarView()
                if sight == .markedSpace {
                    page.element("span", ["class": "space"], " ")
                } else {
                    page.element("span", ["class": "unseen"], HTML.number(scalar))
                }
            }
            page.text(String(seen))
        }
    }

    /// The same where no element may stand, as in a title.
    package mutating func visible(_ name: String) {
        for (scalar, sight) in HTML.sights(of: name) {
            text(sight == .itself ? String(scalar) : HTML.number(scalar))
        }
    }

    /// A name by its characters: those that are not ASCII, and spaces, by their numbers. `nil` where all are printable
    /// ASCII, of which no two names look alike.
    package static func characters(of name: String) -> String? {
        let isPlain = name.unicodeScalars.allSatisfy { (0x21...0x7E).contains($0.value) }
        if isPlain { return nil }
        return name.unicodeScalars.map { (0x21...0x7E).contains($0.value) ? String($0) : number($0) }
            .joined(separator: " ")
    }

    /// How a character of a name is shown.
    private enum Sight {
        case itself
        /// A space that nobody would see.
        case markedSpace
        case number
    }

    private static func sights(of name: String) -> [(Unicode.Scalar, Sight)] {
        let scalars = Array(name.unicodeScalars)
        return scalars.indices.map { place in
            let (scalar, before) = (scalars[place], place > 0 ? scalars[place - 1] : nil)
            if scalar == " " {
                let isSeen = place > 0 && place < scalars.count - 1 && before != " "
                return (scalar, isSeen ? .itself : .markedSpace)
            }
            return (scalar, isUnseen(scalar, behind: before) ? .number : .itself)
        }
    }

    /// What changes the direction of letters around it (UAX #9 section 2), breaks lines, is a space that is not the
    /// usual one, has no ink, or may not stand in a page at all; but not what joins letters, or chooses their form,
    /// where some scripts need it.
    private static func isUnseen(_ scalar: Unicode.Scalar, behind before: Unicode.Scalar?) -> Bool {
        switch scalar.value {
        case 0x200C, 0x200D, 0xFE00...0xFE0F: return before?.isASCII ?? true
        // Braille without a dot.
        case 0x2800: return true
        default:
            let properties = scalar.properties
            return properties.isWhitespace || properties.isDefaultIgnorableCodePoint
                || properties.generalCategory == .format || isForbidden(scalar)
        }
    }

    /// What neither HTML nor XML may have: control characters, and what is no character.
    private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
        if scalar == "\t" || scalar == "\n" { return false }
        return scalar.properties.generalCategory == .control || scalar.properties.isNoncharacterCodePoint
    }

    private static func number(_ scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        return "U+" + String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
    }

    package mutating func line() { append("\n") }

    /// Markup of this program itself, as a style sheet.
    package mutating func literal(_ markup: StaticString) { append(markup) }

    private mutating func begin(_ name: StaticString, _ attributes: Attributes) {
        append("<")
        append(name)
        for (key, value) in attributes {
            append(" ")
            append(key)
            append("=\"")
            text(value)
            append("\"")
        }
    }

    private mutating func append(_ markup: StaticString) { markup.withUTF8Buffer { bytes += $0 } }

    /// For the text of an element and for a value between quotation marks. Characters that neither HTML nor XML may
    /// have are U+FFFD; a name shows which they are.
    static func escaped(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": bytes += "&amp;".utf8
            case "<": bytes += "&lt;".utf8
            case ">": bytes += "&gt;".utf8
            case "\"": bytes += "&quot;".utf8
            case "'": bytes += "&#39;".utf8
            case " "..."~": bytes.append(UInt8(truncatingIfNeeded: scalar.value))
            case _ where isForbidden(scalar): bytes += "\u{FFFD}".utf8
            case _: bytes += String(scalar).utf8
            }
        }
        return bytes
    }
}
