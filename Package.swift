// swift-tools-version: 6.1
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
]

// Dependency arrows point up this list only; Tests/ArchitectureTests reads the imports and says so.
let package = Package(
    name: "currency-ledger",
    products: [
        .executable(name: "currency-ledger", targets: ["currency-ledger"]),
        .library(name: "LedgerClient", targets: ["LedgerClient"]),
        .library(name: "AppStore", targets: ["AppStore"]),
        .library(name: "AppStoreServer", targets: ["AppStoreServer"]),
        .library(name: "AppleReports", targets: ["AppleReports"]),
        .library(name: "HotPath", targets: ["HotPath"]),
        .library(name: "FuzzProperties", targets: ["FuzzProperties"]),
        .library(name: "FuzzTableProperties", targets: ["FuzzTableProperties"]),
    ],
    traits: [
        .trait(name: "Postgres", description: "The log in PostgreSQL, for several nodes. It needs libpq.")
    ],
    dependencies: [
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(
            url: "https://github.com/apple/swift-configuration", from: "1.0.0",
            traits: []),
        .package(url: "https://github.com/apple/swift-collections", from: "1.1.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.3.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.36.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.30.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.5.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.30.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.8.0"),
    ],
    targets: [
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        // Its environment says what is built, and needs no file written into the sources.
        .target(
            name: "CBuild",
            cSettings: [.define("COMMIT", to: "\"\(Context.environment["CURRENCY_LEDGER_COMMIT"] ?? "")\"")]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .target(name: "StrictJSON", swiftSettings: settings),
        .target(name: "LedgerTypes", swiftSettings: settings),
        .target(name: "LedgerMetrics", swiftSettings: settings),
        .target(name: "Ledger", dependencies: ["LedgerTypes"], swiftSettings: settings),
        .target(name: "AppStore", dependencies: ["COpenSSL", "StrictJSON"], swiftSettings: settings),
        .target(name: "AppleReports", dependencies: ["CZlib"], swiftSettings: settings),
        .target(
            name: "AppStoreServer",
            dependencies: [
                "AppStore", "StrictJSON",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ], swiftSettings: settings),
        .target(
            name: "AppStoreSimulator",
            dependencies: [
                "AppStore", "AppStoreServer", "AppleReports", "StrictJSON",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "HeapModule", package: "swift-collections"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ], swiftSettings: settings),
        .target(name: "LedgerWire", dependencies: ["LedgerTypes", "StrictJSON"], swiftSettings: settings),
        .target(
            name: "LedgerSchema", path: "Schema", exclude: ["metrics", "protocol", "verify"],
            resources: [.embedInCode("sqlite")], swiftSettings: settings),
        .target(name: "LedgerPages", swiftSettings: settings),
        .target(
            name: "LedgerConsole", dependencies: ["LedgerPages", "LedgerTypes", "LedgerWire", "StrictJSON"],
            swiftSettings: settings),
        .target(name: "FileLog", dependencies: ["Ledger"], swiftSettings: settings),
        // Without the trait it is a module without content, and libpq need not be there.
        .target(
            name: "PostgresLog",
            dependencies: [
                "Ledger", "LedgerSchema", .target(name: "CPostgres", condition: .when(traits: ["Postgres"])),
            ],
            swiftSettings: settings),
        .target(name: "HeadSigning", dependencies: ["AppStore", "Ledger", "StrictJSON"], swiftSettings: settings),
        .target(
            name: "LedgerAudit", dependencies: ["AppStore", "HeadSigning", "Ledger"], swiftSettings: settings),
        .target(
            name: "LedgerEngine",
            dependencies: [
                "AppStore", "CLinux", "HeadSigning", "Ledger", "LedgerMetrics",
                .product(name: "DequeModule", package: "swift-collections"),
            ],
            swiftSettings: settings),
        .target(
            name: "SQLiteProjection",
            dependencies: [
                "CSQLite", "Ledger", "LedgerSchema", "StrictJSON",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ], swiftSettings: settings),
        .target(
            name: "LineServer",
            dependencies: [
                "AppStore", "Ledger", "LedgerConsole", "LedgerEngine", "LedgerMetrics", "LedgerPages", "LedgerWire",
                "StrictJSON",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ], swiftSettings: settings),
        .target(
            name: "LedgerClient",
            dependencies: [
                "LedgerWire",
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
            ], swiftSettings: settings),
        .target(
            name: "TraceExport",
            dependencies: [
                "LedgerMetrics", "StrictJSON",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ], swiftSettings: settings),
        .target(
            name: "LoadGenerator",
            dependencies: [
                "AppStore", "CLinux", "LedgerTypes", "LedgerWire", "StrictJSON",
                .product(name: "Histogram", package: "hdrhistogram-swift"),
            ], swiftSettings: settings),
        .executableTarget(
            name: "currency-ledger",
            dependencies: [
                "AppStore", "AppStoreServer", "AppStoreSimulator", "AppleReports", "CBuild", "FileLog", "HeadSigning",
                "Ledger", "LedgerAudit", "LedgerClient", "LedgerEngine", "LedgerMetrics", "LedgerPages", "LedgerWire",
                "LineServer", "LoadGenerator", "PostgresLog", "SQLiteProjection", "StrictJSON", "TraceExport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ], swiftSettings: settings),
        .target(
            name: "HotPath",
            dependencies: ["AppStore", "FileLog", "Ledger", "LedgerEngine", "LedgerWire", "SQLiteProjection"],
            path: "Benchmarks/HotPath", swiftSettings: settings),
        .target(
            name: "FuzzProperties",
            dependencies: [
                "AppStore", "AppleReports", "COpenSSL", "FileLog", "Ledger", "LedgerWire", "StrictJSON",
            ],
            path: "Tests/FuzzProperties", swiftSettings: settings),
        .target(
            name: "FuzzTableProperties",
            dependencies: [
                "FuzzProperties", "Ledger", "SQLiteProjection", .product(name: "GRDB", package: "GRDB.swift"),
            ], path: "Tests/FuzzTableProperties", swiftSettings: settings),
        .target(
            name: "LedgerTestKit",
            dependencies: [
                "AppStore", "FileLog", "Ledger", "LedgerEngine",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ], path: "Tests/LedgerTestKit", swiftSettings: settings),
        .testTarget(name: "ArchitectureTests", swiftSettings: settings),
        .testTarget(
            name: "StrictJSONTests", dependencies: ["LedgerTestKit", "StrictJSON"], swiftSettings: settings),
        .testTarget(
            name: "LedgerMetricsTests", dependencies: ["LedgerMetrics", "LedgerTestKit"], swiftSettings: settings),
        .testTarget(
            name: "AppStoreTests", dependencies: ["AppStore", "COpenSSL", "LedgerTestKit", "StrictJSON"],
            swiftSettings: settings),
        .testTarget(
            name: "AppStoreServerTests",
            dependencies: [
                "AppStore", "AppStoreServer", "StrictJSON",
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ], swiftSettings: settings),
        .testTarget(
            name: "AppleReportsTests", dependencies: ["AppleReports", "LedgerTestKit"], swiftSettings: settings),
        .testTarget(
            name: "AppStoreSimulatorTests",
            dependencies: [
                "AppStore", "AppStoreServer", "AppStoreSimulator", "AppleReports", "LedgerTestKit", "StrictJSON",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ], swiftSettings: settings),
        .testTarget(
            name: "TraceExportTests",
            dependencies: [
                "LedgerTestKit", "TraceExport",
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ], swiftSettings: settings),
        .testTarget(name: "LedgerTests", dependencies: ["Ledger", "LedgerTestKit"], swiftSettings: settings),
        .testTarget(
            name: "LedgerConsoleTests", dependencies: ["LedgerConsole", "LedgerPages", "LedgerTypes", "LedgerWire"],
            swiftSettings: settings),
        .testTarget(
            name: "LedgerWireTests", dependencies: ["Ledger", "LedgerTestKit", "LedgerWire", "StrictJSON"],
            swiftSettings: settings),
        .testTarget(
            name: "LedgerClientTests",
            dependencies: [
                "LedgerClient", "LedgerTestKit", "LedgerWire", "Ledger",
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ], swiftSettings: settings),
        .testTarget(
            name: "LineServerTests",
            dependencies: [
                "AppStore", "Ledger", "LedgerClient", "LedgerEngine", "LedgerTestKit", "LedgerWire", "LineServer",
                "StrictJSON", "TraceExport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ], swiftSettings: settings),
        .testTarget(
            name: "FileLogTests", dependencies: ["FileLog", "Ledger", "LedgerTestKit"], swiftSettings: settings),
        // Without the trait it has no test.
        .testTarget(
            name: "PostgresLogTests",
            dependencies: [
                "AppStore", "FileLog", "Ledger", "LedgerAudit", "LedgerClient", "LedgerEngine", "LedgerSchema",
                "LedgerTestKit", "LedgerWire", "PostgresLog", "SQLiteProjection", "StrictJSON", "currency-ledger",
                .target(name: "CPostgres", condition: .when(traits: ["Postgres"])),
                .product(name: "GRDB", package: "GRDB.swift"),
            ], exclude: ["Patroni"], swiftSettings: settings),
        .testTarget(
            name: "HeadSigningTests",
            dependencies: ["AppStore", "HeadSigning", "Ledger", "LedgerTestKit", "StrictJSON"],
            swiftSettings: settings),
        .testTarget(
            name: "SQLiteProjectionTests",
            dependencies: [
                "Ledger", "LedgerSchema", "LedgerTestKit", "SQLiteProjection",
                .product(name: "GRDB", package: "GRDB.swift"),
            ], swiftSettings: settings),
        .testTarget(
            name: "LedgerAuditTests",
            dependencies: [
                "AppStore", "FileLog", "Ledger", "LedgerAudit", "LedgerEngine", "LedgerTestKit", "SQLiteProjection",
                .product(name: "GRDB", package: "GRDB.swift"),
            ], swiftSettings: settings),
        .testTarget(
            name: "LedgerEngineTests",
            dependencies: [
                "AppStore", "FileLog", "Ledger", "LedgerEngine", "LedgerTestKit", "SQLiteProjection",
                .product(name: "GRDB", package: "GRDB.swift"),
            ], swiftSettings: settings),
        .testTarget(
            name: "SimulationTests",
            dependencies: [
                "AppStore", "FileLog", "Ledger", "LedgerAudit", "LedgerEngine", "LedgerTestKit", "SQLiteProjection",
                .product(name: "GRDB", package: "GRDB.swift"),
            ], swiftSettings: settings),
        .testTarget(
            name: "HotPathTests", dependencies: ["AppStore", "HotPath", "Ledger", "LedgerEngine"],
            swiftSettings: settings),
        .testTarget(
            name: "FuzzPropertyTests", dependencies: ["FuzzProperties", "FuzzTableProperties"],
            swiftSettings: settings),
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "AppStore", "AppStoreServer", "AppStoreSimulator", "AppleReports", "FileLog", "HeadSigning", "Ledger",
                "LedgerClient", "LedgerEngine", "LedgerTestKit", "LedgerWire", "LineServer", "TraceExport",
                "currency-ledger",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            exclude: ["Format1", "Format2", "app_store.py"],
            swiftSettings: settings),
    ]
)

// What these tests do is to start, ask and wait: their own code is compiled in a third of the time so. What they test
// is optimised as what is shipped is, and so are tests that compute by themselves.
let waiting = [
    "AppStoreServerTests", "AppStoreSimulatorTests", "ArchitectureTests", "CommandTests", "LedgerClientTests",
    "LedgerConsoleTests", "LedgerEngineTests", "LineServerTests", "PostgresLogTests", "TraceExportTests",
]
for target in package.targets where waiting.contains(target.name) {
    target.swiftSettings?.append(.unsafeFlags(["-Onone"]))
}
