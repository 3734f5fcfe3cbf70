import Foundation
import Testing

/// What README tells a newcomer to run is what the continuous integration runs.
@Suite struct CITests {
    @Test func theCIRunsTheReadmesTestCommand() throws {
        let readme = try Repository.text("README.md")
        #expect(readme.contains("\n.ci/test\n"))
        #expect(try Repository.text(".ci/run").contains("\n.ci/test --traits Postgres\n"))
        #expect(readme.contains("\n.ci/setup && swift run currency-ledger demo\n"))
    }

    /// Every fuzz target is built, is run, and stands in the table of Contributing.
    @Test func theCIRunsEveryFuzzTarget() throws {
        let sources = Repository.root.appendingPathComponent("Tests/FuzzTests/Sources")
        let targets = try FileManager.default.contentsOfDirectory(atPath: sources.path)
            .filter { $0.hasPrefix("Fuzz") && $0 != "Fuzzing" }
        #expect(targets.count >= 8)
        let package = try Repository.text("Tests/FuzzTests/Package.swift")
        let script = try Repository.text(".ci/fuzz")
        let list = try #require(script.firstMatch(of: /\ntargets=\(([^)]+)\)/)).1.split(separator: " ")
        let page = try Repository.page(named: "Contributing.md")
        for target in targets {
            #expect(package.contains("\"\(target)\"") || package.contains("\"\(target.dropFirst(4))\""), "\(target)")
            #expect(page.contains("\n- `\(target)`, "), "\(target)")
        }
        #expect(list.map(String.init).sorted() == targets.sorted())
    }
}
