// swift-tools-version: 6.1
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
]

// Dependency arrows point up this list only; Tests/ArchitectureTests reads the imports and says so.
let package = Package(
    name: "currency-ledger",
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.5.0")
    ],
    targets: [
        .target(name: "Ledger", swiftSettings: settings),
        .target(
            name: "LedgerSchema", path: "Schema", resources: [.embedInCode("sqlite")], swiftSettings: settings),
        .target(
            name: "SQLiteStore",
            dependencies: [
                "Ledger", "LedgerSchema",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ], swiftSettings: settings),
        .testTarget(
            name: "SQLiteStoreTests",
            dependencies: ["Ledger", "SQLiteStore", .product(name: "GRDB", package: "GRDB.swift")],
            swiftSettings: settings),
    ]
)
