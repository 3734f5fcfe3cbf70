import Foundation
import Testing

/// What no source and no page has in it.
@Suite struct TokenTests {
    /// Marks of unfinished work, and ways to end the process that say nothing.
    private static func faults(_ text: String) -> [String] {
        var faults: [String] = []
        if text.contains(/\b(?:TODO|FIXME|XXX)\b/) { faults.append("a mark of unfinished work") }
        if text.contains(/\btry!/) { faults.append("try!") }
        if text.contains(/fatalError\("?(?:not implemented|unimplemented|stub)/) { faults.append("a stub") }
        if text.contains(/\bfatalError\(\s*\)/) { faults.append("fatalError without a reason") }
        if text.contains(/\b(?:preconditionFailure|assertionFailure)\(\s*\)/) {
            faults.append("a trap without a reason")
        }
        return faults
    }

    @Test func theTokensAreFoundHoweverTheyAreWritten() {
        #expect(Self.faults("// TODO: more\nlet a = try! b()").count == 2)
        #expect(Self.faults("fatalError()\nfatalError(\"not implemented\")\npreconditionFailure( )").count == 3)
        #expect(Self.faults("fatalError(\"no lock\"); try? close(); let todo = XXXL").isEmpty)
    }

    @Test func noSourceIsLeftUnfinished() throws {
        for path in ["Sources", "Schema", "Benchmarks/HotPath"].flatMap({
            Repository.files(below: $0, ending: ".swift")
        }) {
            for fault in Self.faults(try Repository.text(path)) { Issue.record("\(path) has \(fault)") }
        }
    }

    @Test func noPageIsLeftUnfinished() throws {
        for path in Repository.pages {
            #expect(!(try Repository.text(path)).contains(/\b(?:TODO|FIXME|XXX|TBD)\b/), "\(path)")
        }
    }

    /// Pages speak of the project, and of nobody's machine.
    @Test func noPageNamesAPathOfOneMachine() throws {
        for path in Repository.pages {
            for match in try Repository.text(path).matches(of: /(?:\/home\/|\/root\/|\/Users\/|\/work\/|\/opt\/)\S*/) {
                Issue.record("\(path) names \(match.0)")
            }
        }
    }

    /// One variable plays every random test again: `Seed.drawn` of the test kit reads it.
    private static func drawsItsOwnSeed(_ text: String) -> Bool {
        text.contains(/[Ss]eeds?\b[^\n;]*\.random\(in/) || text.contains(/environment\["\w*SEED"\]/)
    }

    @Test func everyRandomTestDrawsItsSeedInTheKit() throws {
        for path in Repository.files(below: "Tests", ending: ".swift") where !path.hasSuffix("/Seed.swift") {
            if path.hasPrefix("Tests/ArchitectureTests/") { continue }
            if Self.drawsItsOwnSeed(try Repository.text(path)) { Issue.record("\(path) draws a seed of its own") }
        }
        #expect(Self.drawsItsOwnSeed("let seed = UInt64.random(in: 0...9)"))
        #expect(Self.drawsItsOwnSeed(#"let a = environment["TEST_SEED"]"#))
        #expect(!Self.drawsItsOwnSeed("let seed = Seed.drawn(); let place = Int.random(in: 0..<9, using: &random)"))
    }
}
