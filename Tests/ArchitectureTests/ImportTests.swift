import Foundation
import Testing

/// The arrows between the modules, read from the sources themselves.
@Suite struct ImportTests {
    /// What each target may import beside the standard library. `Foundation` stands for any of its parts.
    private static let arrows: [String: Set<String>] = [
        "StrictJSON": [],
        "LedgerTypes": [],
        "Ledger": ["LedgerTypes"],
        "AppStore": ["COpenSSL", "StrictJSON", "Synchronization"],
        "LedgerWire": ["LedgerTypes", "StrictJSON"],
        "LedgerSchema": [],
        "FileLog": ["Ledger", "Glibc", "Musl", "Synchronization"],
        "LedgerEngine": ["Ledger", "Dispatch", "Glibc", "Musl"],
        "SQLiteProjection": ["Ledger", "LedgerSchema", "GRDB", "GRDBSQLite", "Glibc", "Musl", "Synchronization"],
        "LedgerServer": [
            "Ledger", "LedgerWire", "AppStore", "NIOCore", "NIOPosix", "NIOConcurrencyHelpers", "NIOSSL", "Logging",
            "Metrics",
            "ServiceLifecycle", "Synchronization", "DequeModule", "Glibc", "Musl",
        ],
        "LedgerClient": [
            "LedgerWire", "NIOCore", "NIOPosix", "NIOConcurrencyHelpers", "NIOSSL", "Synchronization", "Glibc", "Musl",
        ],
        // Foundation is what it is measured against.
        "HotPath": [
            "AppStore", "FileLog", "Ledger", "LedgerEngine", "LedgerWire", "SQLiteProjection", "Foundation",
        ],
    ]

    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static func folder(_ target: String) -> URL {
        switch target {
        case "LedgerSchema": root.appendingPathComponent("Schema")
        case "HotPath": root.appendingPathComponent("Benchmarks/HotPath")
        default: root.appendingPathComponent("Sources/\(target)")
        }
    }

    private static func swiftFiles(below folder: URL) -> [URL] {
        let all = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL }
        return (all ?? []).filter { $0.pathExtension == "swift" }
    }

    private static func imports(of file: URL) throws -> [String] {
        let line =
            /^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|fileprivate|private)\s+)?import\s+(?:(?:struct|class|enum|protocol|func|var|let|typealias)\s+)?(\w+)/
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").compactMap {
            $0.prefixMatch(of: line).map { String($0.1) }
        }
    }

    @Test(arguments: arrows.keys.sorted())
    func aTargetImportsOnlyWhatTheTableAllows(target: String) throws {
        let files = Self.swiftFiles(below: Self.folder(target))
        #expect(!files.isEmpty)
        let allowed = try #require(Self.arrows[target])
        for file in files {
            for module in try Self.imports(of: file) where !allowed.contains(module) {
                Issue.record("\(target)/\(file.lastPathComponent) imports \(module)")
            }
        }
    }

    @Test func everyTargetOfThePackageIsInTheTable() throws {
        let sources = try FileManager.default.contentsOfDirectory(
            atPath: Self.root.appendingPathComponent("Sources").path)
        let known = Set(Self.arrows.keys).union(["CEpoll", "COpenSSL", "currency-ledger"])
        #expect(Set(sources).subtracting(known) == [])
    }

    @Test func anImportIsRecognisedHoweverItIsWritten() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("imports-\(UUID().uuidString).swift")
        defer { try? FileManager.default.removeItem(at: file) }
        try """
        import Alpha
        public import Beta
        @testable import Gamma
          @preconcurrency package import struct Delta.Value
        // import Epsilon
        """.write(to: file, atomically: true, encoding: .utf8)
        #expect(try Self.imports(of: file) == ["Alpha", "Beta", "Gamma", "Delta"])
    }

    @Test func noSourceIsLeftUnfinished() throws {
        let banned = [
            /\bTODO\b/, /\bFIXME\b/, /\bXXX\b/, /\btry!/, /fatalError\("?(?:not implemented|unimplemented|stub)/,
        ]
        for folder in ["Sources", "Schema", "Benchmarks/HotPath"].map(Self.root.appendingPathComponent) {
            for file in Self.swiftFiles(below: folder) {
                let text = try String(contentsOf: file, encoding: .utf8)
                for pattern in banned where text.contains(pattern) {
                    Issue.record("\(file.lastPathComponent) has a mark of unfinished work")
                }
            }
        }
    }

    @Test func theCIRunsTheReadmesTestCommand() throws {
        let readme = try String(contentsOf: Self.root.appendingPathComponent("README.md"), encoding: .utf8)
        #expect(readme.contains("\n.ci/test\n"))
        let run = try String(contentsOf: Self.root.appendingPathComponent(".ci/run"), encoding: .utf8)
        #expect(run.contains("\n.ci/test\n"))
        #expect(readme.contains("\n.ci/setup && swift run currency-ledger demo\n"))
    }
}
