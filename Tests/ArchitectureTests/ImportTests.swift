import Foundation
import Testing

/// The arrows between the modules, read from the sources themselves.
@Suite struct ImportTests {
    /// What each target may import beside the standard library. `Foundation` stands for any of its parts.
    private static let arrows: [String: Set<String>] = [
        "StrictJSON": [],
        "LedgerTypes": [],
        "LedgerMetrics": ["Synchronization"],
        "Ledger": ["LedgerTypes"],
        "AppStore": ["COpenSSL", "StrictJSON", "Synchronization"],
        "AppStoreServer": [
            "AppStore", "StrictJSON", "AsyncHTTPClient", "NIOCore", "NIOHTTP1", "NIOPosix", "NIOSSL", "Glibc", "Musl",
            "Synchronization",
        ],
        "AppleReports": ["CZlib", "Glibc", "Musl"],
        "AppStoreSimulator": [
            "AppStore", "AppStoreServer", "AppleReports", "StrictJSON", "AsyncHTTPClient", "HeapModule", "NIOCore",
            "NIOHTTP1",
            "NIOPosix", "NIOSSL", "Glibc", "Musl", "Synchronization",
        ],
        "LedgerWire": ["LedgerTypes", "StrictJSON", "Glibc", "Musl"],
        "LedgerSchema": [],
        "LedgerPages": [],
        "LedgerConsole": ["LedgerPages", "LedgerTypes", "LedgerWire", "StrictJSON"],
        "FileLog": ["Ledger", "Glibc", "Musl", "Synchronization"],
        "PostgresLog": ["CPostgres", "Ledger", "LedgerSchema", "Glibc", "Musl", "Synchronization"],
        "HeadSigning": ["AppStore", "Ledger", "StrictJSON"],
        "LedgerAudit": ["AppStore", "Dispatch", "HeadSigning", "Ledger", "Synchronization"],
        "LedgerEngine": [
            "AppStore", "CLinux", "DequeModule", "Dispatch", "HeadSigning", "Ledger", "LedgerMetrics", "Glibc", "Musl",
            "Synchronization",
        ],
        "SQLiteProjection": [
            "CSQLite", "Dispatch", "Ledger", "LedgerSchema", "StrictJSON", "GRDB", "GRDBSQLite", "Glibc", "Musl",
            "Synchronization",
        ],
        "LineServer": [
            "AppStore", "Ledger", "LedgerConsole", "LedgerEngine", "LedgerMetrics", "LedgerPages", "LedgerWire",
            "StrictJSON", "NIOCore", "NIOPosix",
            "NIOConcurrencyHelpers", "NIOHTTP1", "NIOSSL", "NIOTLS", "Logging", "ServiceLifecycle", "Synchronization",
            "Tracing", "Glibc", "Musl",
        ],
        "TraceExport": [
            "LedgerMetrics", "StrictJSON", "AsyncHTTPClient", "NIOCore", "Logging", "ServiceLifecycle",
            "Synchronization", "Tracing",
        ],
        "LedgerClient": [
            "LedgerWire", "NIOCore", "NIOPosix", "NIOConcurrencyHelpers", "NIOSSL", "NIOTLS", "Synchronization",
            "Glibc", "Musl",
        ],
        "LoadGenerator": [
            "AppStore", "CLinux", "LedgerTypes", "LedgerWire", "StrictJSON", "Histogram", "Foundation",
            "Synchronization",
        ],
        // Foundation is what it is measured against.
        "HotPath": [
            "AppStore", "FileLog", "Ledger", "LedgerEngine", "LedgerWire", "SQLiteProjection", "Foundation",
        ],
        // Foundation and OpenSSL are the second opinions. No GRDB, which takes most of a fuzzer's build.
        "FuzzProperties": [
            "AppStore", "AppleReports", "COpenSSL", "FileLog", "Ledger", "LedgerTypes", "LedgerWire", "StrictJSON",
            "Foundation", "Glibc", "Musl",
        ],
        "FuzzTableProperties": ["FuzzProperties", "Ledger", "SQLiteProjection", "GRDB", "Foundation"],
    ]

    private static func folder(_ target: String) -> String {
        switch target {
        case "LedgerSchema": "Schema"
        case "HotPath": "Benchmarks/HotPath"
        case "FuzzProperties", "FuzzTableProperties": "Tests/\(target)"
        default: "Sources/\(target)"
        }
    }

    /// The modules that a file imports, in its order.
    private static func imports(_ text: String) -> [String] {
        let line =
            #/
            ^ \h* (?: @\w+ (?: \( [^)]* \) )? \s+ )*
            (?: (?: public | package | internal | fileprivate | private ) \s+ )?
            import \s+
            (?: (?: struct | class | enum | protocol | func | var | let | typealias ) \s+ )?
            (\w+)
            /#.anchorsMatchLineEndings()
        return text.matches(of: line).map { String($0.1) }
    }

    @Test(arguments: arrows.keys.sorted())
    func aTargetImportsOnlyWhatTheTableAllows(target: String) throws {
        let files = Repository.files(below: Self.folder(target), ending: ".swift")
        #expect(!files.isEmpty)
        let allowed = try #require(Self.arrows[target])
        for file in files {
            for module in Self.imports(try Repository.text(file)) where !allowed.contains(module) {
                Issue.record("\(file) imports \(module)")
            }
        }
    }

    @Test func everyTargetOfThePackageIsInTheTable() throws {
        let sources = try FileManager.default.contentsOfDirectory(
            atPath: Repository.root.appendingPathComponent("Sources").path)
        let known = Set(Self.arrows.keys).union([
            "CBuild", "CLinux", "COpenSSL", "CPostgres", "CSQLite", "CZlib", "currency-ledger",
        ])
        #expect(Set(sources).subtracting(known) == [])
    }

    @Test func anImportIsRecognisedHoweverItIsWritten() {
        let text = """
            import Alpha
            public import Beta
            @testable import Gamma
              @preconcurrency package import struct Delta.Value
            // import Epsilon
            """
        #expect(Self.imports(text) == ["Alpha", "Beta", "Gamma", "Delta"])
    }
}
