// swift-tools-version: 6.1
import PackageDescription

// A package of its own: everything in it is built with libFuzzer and its sanitizers (`.ci/fuzz`). Each target looks for
// bytes of which one property of `Tests/FuzzProperties` does not hold.
let names = ["Line", "JWS", "Path", "Payload", "Block", "Log", "Answer", "Report"]
let tables = Target.Dependency.product(name: "FuzzTableProperties", package: "currency-ledger")

let package = Package(
    name: "currency-ledger-fuzz",
    dependencies: [.package(name: "currency-ledger", path: "../..")],
    targets: [
        .systemLibrary(name: "CLibFuzzer"),
        .target(
            name: "Fuzzing",
            dependencies: ["CLibFuzzer", .product(name: "FuzzProperties", package: "currency-ledger")]),
        // The only one that needs GRDB, which takes most of the build.
        .executableTarget(name: "FuzzRow", dependencies: ["Fuzzing", tables]),
    ] + names.map { .executableTarget(name: "Fuzz\($0)", dependencies: ["Fuzzing"]) }
)
