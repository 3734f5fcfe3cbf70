import Foundation
import Testing

/// Lines end at column 120 or before. A column is a character, as an editor counts and as `swift format` does; README's
/// lines keep to it in bytes of UTF-8 too, for tools that know no characters.
@Suite struct ColumnTests {
    private static let columnsMax = 120

    /// Lines that are too long, by number.
    private static func long(
        _ text: String, measured columns: (Substring) -> Int = \.count,
        except isFree: (Substring) -> Bool = { _ in false }
    ) -> [Int] {
        text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
            .filter { columns($0.element) > columnsMax && !isFree($0.element) }.map { $0.offset + 1 }
    }

    /// A message of the wire in a test, which stands on one line as it is sent.
    private static func isWireExample(_ line: Substring) -> Bool { line.contains(#"{""#) }

    @Test func aLineIsMeasuredInCharacters() {
        let full = String(repeating: "µ", count: 120)
        #expect(Self.long("\(full)\nb") == [])
        #expect(Self.long("b\n\(full)e\u{301}\n\(full)") == [2])
        #expect(Self.long("\(full)\nb", measured: \.utf8.count) == [1])
        #expect(Self.long("\(full){\"a\":1}\n\(full)b", except: Self.isWireExample) == [2])
    }

    @Test func everyLineOfSwiftEndsInTime() throws {
        for path in Repository.swiftFiles {
            let text = try Repository.text(path)
            let lines = path.hasPrefix("Tests/") ? Self.long(text, except: Self.isWireExample) : Self.long(text)
            for line in lines { Issue.record("\(path):\(line) is too long") }
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
