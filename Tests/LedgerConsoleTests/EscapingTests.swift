import LedgerPages
import Testing

/// Whatever comes from outside is text.
@Suite struct EscapingTests {
    private static func text(_ write: (inout HTML) -> Void) -> String {
        var page = HTML()
        write(&page)
        return String(decoding: page.bytes, as: UTF8.self)
    }

    @Test func markupIsTextInElementsAndInAttributes() {
        let name = "<script>\"'&"
        let escaped = "&lt;script&gt;&quot;&#39;&amp;"
        #expect(Self.text { $0.element("p", name) } == "<p>\(escaped)</p>")
        #expect(Self.text { $0.empty("input", ["value": name]) } == "<input value=\"\(escaped)\"/>")
        #expect(Self.text { $0.name(name) } == "<bdi>\(escaped)</bdi>")
    }

    @Test(arguments: [
        ("\u{202E}", "U+202E"), ("\u{2028}", "U+2028"), ("\u{2029}", "U+2029"), ("\u{2066}", "U+2066"),
        ("\u{200B}", "U+200B"), ("\u{200F}", "U+200F"), ("\u{FEFF}", "U+FEFF"), ("\u{AD}", "U+00AD"),
        ("\u{E0041}", "U+E0041"), ("\u{200D}", "U+200D"), ("\u{A0}", "U+00A0"), ("\u{3164}", "U+3164"),
        ("\u{FE0F}", "U+FE0F"), ("\u{2800}", "U+2800"), ("\u{13430}", "U+13430"),
    ]) func whatNobodySeesIsShownByItsNumber(character: String, number: String) {
        #expect(Self.text { $0.name("a\(character)b") } == "<bdi>a<span class=\"unseen\">\(number)</span>b</bdi>")
        #expect(Self.text { $0.visible("a\(character)b") } == "a\(number)b")
    }

    @Test func whatJoinsLettersStays() {
        let name = "\u{1F469}\u{200D}\u{1F680} \u{0646}\u{200C}\u{0645} \u{05E9}\u{05DC}"
        #expect(Self.text { $0.name(name) } == "<bdi>\(name)</bdi>")
    }
}
