// swift-tools-version: 6.1
import PackageDescription

// A package of its own, so that nobody who builds the ledger needs what its benchmarks need.
let package = Package(
    name: "currency-ledger-benchmarks",
    dependencies: [
        .package(name: "currency-ledger", path: ".."),
        // Without its traits: it would replace malloc and the runtime's reference counting to count their calls.
        .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: []),
    ],
    targets: [
        .executableTarget(
            name: "LedgerBenchmarks",
            dependencies: [
                .product(name: "HotPath", package: "currency-ledger"),
                .product(name: "Benchmark", package: "benchmark"),
            ], path: "LedgerBenchmarks",
            plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]),
        // Not in a folder of the name Benchmarks, where the plugin would take it for one.
        .executableTarget(
            name: "Ratios", dependencies: [.product(name: "HotPath", package: "currency-ledger")],
            path: "Tools/Ratios"),
    ]
)
