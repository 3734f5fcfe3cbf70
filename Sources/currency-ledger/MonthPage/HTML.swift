/// A page being written. Text and the values of attributes are escaped here, and nowhere else is any markup made: names
/// of elements and attributes are words of this program, and whatever came from outside is text.
///
/// What is written is HTML that is well-formed XML too (every element is closed, every value quoted).
struct HTML {
    typealias Attributes = KeyValuePairs<StaticString, String>

    private(set) var bytes: [UInt8] = []

    /// - Parameter body: writes what is in the element.
    mutating func element(_ name: StaticString, _ attributes: Attributes = [:], _ body: (inout HTML) -> Void) {
        begin(name, attributes)
        append(">")
        body(&self)
        append("</")
        append(name)
        append(">")
    }

    mutating func element(_ name: StaticString, _ attributes: Attributes, _ text: String) {
        element(name, attributes) { $0.text(text) }
    }

    mutating func element(_ name: StaticString, _ text: String) { element(name, [:], text) }

    /// An element that has no content, as `meta`.
    mutating func empty(_ name: StaticString, _ attributes: Attributes) {
        begin(name, attributes)
        append("/>")
    }

    mutating func text(_ text: String) { bytes += HTML.escaped(text) }

    mutating func line() { append("\n") }

    /// Markup of this program itself, as a style sheet.
    mutating func literal(_ markup: StaticString) { append(markup) }

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
    /// have are U+FFFD.
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
            case "\t", "\n": bytes += String(scalar).utf8
            case "\u{0}"..<"\u{20}", "\u{7F}"..."\u{9F}": bytes += "\u{FFFD}".utf8
            case _ where scalar.value & 0xFFFE == 0xFFFE || (0xFDD0...0xFDEF).contains(scalar.value):
                bytes += "\u{FFFD}".utf8
            case _: bytes += String(scalar).utf8
            }
        }
        return bytes
    }
}
