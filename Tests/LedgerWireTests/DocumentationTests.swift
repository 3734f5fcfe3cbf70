import Foundation
import LedgerWire
import Testing

/// The page that documents the protocol says what the code does.
@Suite struct DocumentationTests {
    private static func page() throws -> String {
        let root = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        return try String(
            contentsOf: root.appendingPathComponent("Sources/LedgerWire/LedgerWire.docc/Protocol.md"), encoding: .utf8)
    }

    /// The cells of each row of the table under a heading, without its head.
    private static func rows(under heading: String) throws -> [[String]] {
        let section = try #require(try page().components(separatedBy: "## \(heading)\n").dropFirst().first)
        let lines = section.components(separatedBy: "\n## ")[0].split(separator: "\n").filter { $0.hasPrefix("|") }
        return lines.dropFirst(2).map { line in
            line.dropFirst().dropLast().split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    /// What stands between back quotes.
    private static func names(_ text: String) -> [String] { text.matches(of: /`([^`]+)`/).map { String($0.1) } }

    @Test func everyMethodIsListedWithItsRoles() throws {
        let rows = try Self.rows(under: "Methods")
        #expect(Set(rows.map { Self.names($0[0]).first ?? "" }) == Set(Methods.all.map(\.description)))
        #expect(rows.count == Methods.all.count)
        for row in rows {
            let method = try #require(Methods.named(Self.names(row[0])[0]))
            let roles: [String]
            switch method.access {
            case .everyone: roles = ["none"]
            case .anyRole: roles = ["any"]
            case .roles(let allowed): roles = allowed.all.map(\.rawValue)
            }
            #expect(Set(row[1].components(separatedBy: ", ")) == Set(roles), "\(method)")
        }
    }

    @Test func everyReasonIsListedUnderItsCode() throws {
        var listed: [String: Int] = [:]
        for row in try Self.rows(under: "Errors") {
            let code = try #require(Int(row[0].replacing("−", with: "-")))
            for name in Self.names(row[1]) { listed[name] = code }
        }
        for reason in WireReason.allCases { #expect(listed[reason.rawValue] == reason.code, "\(reason.rawValue)") }
    }

    @Test func everyKindOfEntryIsListed() throws {
        let page = try Self.page()
        for kind in EntryKind.allCases { #expect(page.contains("`\(kind.name)`"), "\(kind.name)") }
    }
}
