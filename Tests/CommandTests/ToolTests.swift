import Foundation
import Testing

/// The tools whose figures are on the page BeyondOneLeader: each holds itself against what is known, and finds the
/// faults that are made on purpose.
@Suite struct ToolTests {
    @Test(arguments: [
        "cross_book.py --check --walks 40 --states 6000", "conditional_put.py --check", "many_books.py --check",
    ])
    func aToolFindsWhatIsBrokenAndNothingElse(line: String) throws {
        let words = line.split(separator: " ").map(String.init)
        let script = Command.root.appendingPathComponent("Benchmarks/Tools/\(words[0])").path
        let finished = try Command.run(URL(fileURLWithPath: "/usr/bin/python3"), [script] + words.dropFirst())
        #expect(finished.status == 0, "\(finished.output)\(finished.error)")
        #expect(finished.output.hasPrefix("seed "))
        #expect(finished.output.hasSuffix("all as it should be\n"))
    }

    /// What the page says of a step that is left out is what the tool can leave out.
    @Test func everyBrokenStepOfThePageIsOneOfTheTool() throws {
        let page = try String(
            contentsOf: Command.root.appendingPathComponent(
                "Sources/currency-ledger/currency-ledger.docc/BeyondOneLeader.md"), encoding: .utf8)
        let tool = try String(
            contentsOf: Command.root.appendingPathComponent("Benchmarks/Tools/cross_book.py"), encoding: .utf8)
        let steps = tool.matches(of: /(?m)^    "([a-z-]+)": "[^"]+",$/).map { String($0.1) }
        #expect(steps.count >= 10)
        for step in steps { #expect(page.contains("| `\(step)` |"), "\(step)") }
    }
}
