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
        ("\u{0}", "U+0000"), ("\u{7}", "U+0007"), ("\u{7F}", "U+007F"), ("\u{9F}", "U+009F"), ("\t", "U+0009"),
    ]) func whatNobodySeesIsShownByItsNumber(character: String, number: String) {
        #expect(Self.text { $0.name("a\(character)b") } == "<bdi>a<span class=\"unseen\">\(number)</span>b</bdi>")
        #expect(Self.text { $0.visible("a\(character)b") } == "a\(number)b")
    }

    @Test(
        arguments: [
            ("a1~", nil), ("", nil), ("a b", "a U+0020 b"), ("\u{1F600}", "U+1F600"),
            ("\u{1F600}\u{200D}", "U+1F600 U+200D"),
            ("\u{E9}x", "U+00E9 x"), ("e\u{301}x", "e U+0301 x"), ("\u{627}\u{200C}", "U+0627 U+200C"),
            ("\u{E000}", "U+E000"),
        ] as [(String, String?)])
    func namesThatLookAlikeAreToldApartByTheirCharacters(name: String, characters: String?) {
        #expect(HTML.characters(of: name) == characters)
    }

    /// What may not stand in a page is told apart in names, and replaced in text of the program itself.
    @Test(arguments: [0, 0x1F, 0x7F, 0x80, 0xFDD0, 0xFDEF, 0xFFFE, 0xFFFF, 0x1_FFFE, 0x10_FFFF] as [UInt32])
    func whatAPageMayNotHaveIsNotWritten(number: UInt32) throws {
        let text = "a\(try #require(Unicode.Scalar(number)))b"
        let digits = String(number, radix: 16, uppercase: true)
        let shown = "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        #expect(Self.text { $0.name(text) } == "<bdi>a<span class=\"unseen\">\(shown)</span>b</bdi>")
        #expect(Self.text { $0.visible(text) } == "a\(shown)b")
        #expect(Self.text { $0.text(text) } == "a\u{FFFD}b")
    }

    /// The space is there for whoever copies the name, and a mark for whoever reads it.
    @Test(arguments: [
        (" a", "_a"), ("a ", "a_"), ("a  b", "a _b"), ("  a   b  ", "__a __b _"), ("a b", "a b"), (" ", "_"),
    ]) func spacesThatNobodyWouldSeeAreMarked(name: String, shown: String) {
        let marked = shown.replacing("_", with: "<span class=\"space\"> </span>")
        #expect(Self.text { $0.name(name) } == "<bdi>\(marked)</bdi>")
        #expect(Self.text { $0.visible(name) } == shown.replacing("_", with: "U+0020"))
    }

    @Test func namesKeepTheirSpacesAndStillWrap() {
        #expect("\(PageStyle.css)".contains("\nbdi { white-space: pre-wrap; white-space: break-spaces; }\n"))
    }

    @Test func whatJoinsLettersStays() {
        let name = "\u{1F469}\u{200D}\u{1F680} \u{0646}\u{200C}\u{0645} \u{05E9}\u{05DC}"
        #expect(Self.text { $0.name(name) } == "<bdi>\(name)</bdi>")
    }
}
