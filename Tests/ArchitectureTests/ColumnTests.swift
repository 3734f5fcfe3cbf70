import Foundation
import Testing

/// Lines end at column 120 or before. A column is a character, as an editor counts and as `swift format` does; README's
/// lines keep to it in bytes of UTF-8 too, for tools that know no characters.
@Suite struct ColumnTests {
    private static let columnsMax = 120

    /// Lines that are too long, by number.
    private static func long(_ text: String, measured columns: (Substring) -> Int = \.count) -> [Int] {
        text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
            .filter { columns($0.element) > columnsMax }.map { $0.offset + 1 }
    }

    @Test func aLineIsMeasuredInCharacters() {
        let full = String(repeating: "µ", count: 120)
        #expect(Self.long("\(full)\nb") == [])
        #expect(Self.long("b\n\(full)e\u{301}\n\(full)") == [2])
        #expect(Self.long("\(full)\nb", measured: \.utf8.count) == [1])
    }

    @Test func everyLineOfSwiftEndsInTime() throws {
        for path in Repository.swiftFiles {
            for line in Self.long(try Repository.text(path)) { Issue.record("\(path):\(line) is too long") }
        }
    }

    @Test func everyLineOfAPageEndsInTime() throws {
        #expect(Repository.pages.count > 10)
        for path in Repository.pages {
            for line in Self.long(try Repository.text(path)) { Issue.record("\(path):\(line) is too long") }
        }
    }

    @Test func theReadmeIsShort() throws {
        let readme = try Repository.text("README.md")
        #expect(readme.split(separator: "\n", omittingEmptySubsequences: false).dropLast().count <= 120)
        #expect(Self.long(readme, measured: \.utf8.count) == [])
    }
}
