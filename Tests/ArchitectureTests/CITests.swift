import Testing

/// What README tells a newcomer to run is what the continuous integration runs.
@Suite struct CITests {
    @Test func theCIRunsTheReadmesTestCommand() throws {
        let readme = try Repository.text("README.md")
        #expect(readme.contains("\n.ci/test\n"))
        #expect(try Repository.text(".ci/run").contains("\n.ci/test\n"))
        #expect(readme.contains("\n.ci/setup && swift run currency-ledger demo\n"))
    }
}
