// swift-tools-version: 6.1
import PackageDescription

// A package of its own: of the main one, with its trait `Postgres`, it builds only what `Tests/PostgresLogTests` need
// (`.ci/test-postgres`).
let package = Package(
    name: "currency-ledger-postgres",
    dependencies: [.package(name: "currency-ledger", path: "../..", traits: ["Postgres"])],
    targets: [
        .testTarget(
            name: "RunnerTests",
            dependencies: [
                .product(name: "PostgresLogTests", package: "currency-ledger"),
                // The command itself: the tests of nodes start it.
                .product(name: "currency-ledger", package: "currency-ledger"),
            ])
    ]
)
