import Foundation
import Testing

/// Every measured figure stands with its run: a paragraph or table of Performance and Decisions that has figures names
/// a run of Performance's table, or the paragraph before it does.
@Suite struct FigureTests {
    /// Digits with a unit of time, size, share or rate; and every number in a table.
    private static func hasFigures(_ paragraph: String) -> Bool {
        let text = paragraph.replacing(/`[0-9a-f]{7}`/, with: "")
        if text.hasPrefix("|") { return text.contains(/\d/) }
        return text.contains(/\d (?:µs|ms|%|×|MB|GB|KB|MiB|GiB)(?:\W|$)/)
            || text.contains(/\d[\d,]* (?:\w+ )*a second\b/)
    }

    private static func runs(named text: String) -> [String] {
        text.matches(of: /`([0-9a-f]{7})`/).map { String($0.1) }
    }

    /// The runs of the table, by name.
    private static func table(_ page: String) -> [String] {
        page.matches(of: /(?m)^\| `([0-9a-f]{7})` \| \d{4}-\d{2}-\d{2} \| [^|]+ \| [^|]+ \|$/).map { String($0.1) }
    }

    /// What is wrong with a page's figures.
    private static func faults(_ page: String, runs known: Set<String>) -> [String] {
        var faults: [String] = []
        var before: [String] = []
        for paragraph in Markdown.paragraphs(page) {
            let named = runs(named: paragraph)
            for run in named where !known.contains(run) { faults.append("\(run) is not in the table of runs") }
            if hasFigures(paragraph) && named.isEmpty && before.isEmpty {
                faults.append("without a run: \(paragraph.prefix(80))")
            }
            before = named
        }
        return faults
    }

    @Test func everyFigureStandsWithItsRun() throws {
        let performance = try Repository.page(named: "Performance.md")
        let table = Self.table(performance)
        #expect(table.count > 10 && Set(table).count == table.count)
        for name in ["Performance.md", "Decisions.md"] {
            for fault in Self.faults(try Repository.page(named: name), runs: Set(table)) {
                Issue.record("\(name): \(fault)")
            }
        }
    }

    @Test func everyRunOfTheTableIsUsed() throws {
        let performance = try Repository.page(named: "Performance.md")
        let text = try performance + Repository.page(named: "Decisions.md")
        for run in Self.table(performance) {
            #expect(Self.runs(named: text).filter { $0 == run }.count > 1, "\(run)")
        }
    }

    @Test func aFigureWithoutItsRunIsFound() {
        let page = """
            A credit takes 30 µs.

            A spend takes 9 µs (`abcdef0`).

            | spends | 7 |

            | more | 8 |

            There were 1,000 spends a second in `1234567`, and 5 players.

            Nothing is measured in 3 words.
            """
        let faults = Self.faults(page, runs: ["abcdef0"])
        #expect(faults.count == 3)
        #expect(faults.first == "without a run: A credit takes 30 µs.")
        #expect(faults.contains("without a run: | more | 8 |"))
        #expect(faults.contains("1234567 is not in the table of runs"))
    }
}
