import Foundation
import Testing

/// Metrics are named in three places beside the sources: on their page, in alert rules, and on a dashboard.
@Suite struct MetricsTests {
    /// The metrics of the service, from the sources.
    private static func families() throws -> Set<String> {
        Set(
            try Repository.source(named: "Families.swift").matches(of: /Family\(\s*"([a-z_]+)", \.([a-z]+)/)
                .map { String($0.1) })
    }

    /// The metrics that a text of expressions names; of a histogram without its suffix.
    private static func named(in text: String) -> Set<String> {
        Set(
            text.matches(of: /\b(?:ledger|process)_[a-z_]+\b/).map {
                String($0.0).replacing(/_(?:bucket|sum|count)$/, with: "")
            })
    }

    /// In the text of a page, where a word in code is a metric if it looks like one.
    private static func onPage(_ page: String) -> Set<String> {
        Set(page.matches(of: /`((?:ledger|process)_[a-z_]+)`/).map { String($0.1) })
    }

    private static func alerts(_ rules: String) -> [String] {
        rules.matches(of: /(?m)^ *- alert: (\w+)$/).map { String($0.1) }
    }

    @Test func everyMetricIsOnItsPageAndNoOther() throws {
        let families = try Self.families()
        #expect(families.count > 40)
        let page = Self.onPage(try Repository.page(named: "Metrics.md"))
        #expect(families.subtracting(page) == [], "are not on the page")
        #expect(page.subtracting(families) == [], "are no metrics")
    }

    @Test func rulesAndDashboardNameMetricsThatThereAre() throws {
        let families = try Self.families()
        let rules = try Repository.text("Schema/metrics/alerts.yml")
        let expressions = rules.matches(of: /(?m)^ +expr: (?:>-\n((?: {10}.*\n)+)|(.+)$)/).map { String($0.0) }
        #expect(expressions.count == Self.alerts(rules).count)
        #expect(Self.named(in: expressions.joined(separator: "\n")).subtracting(families) == [])
        let json = try JSONSerialization.jsonObject(
            with: Data(try Repository.text("Schema/metrics/dashboard.json").utf8))
        let dashboard = try #require(json as? [String: Any])
        let panels = try #require(dashboard["panels"] as? [[String: Any]])
        let targets = panels.flatMap { $0["targets"] as? [[String: Any]] ?? [] }.compactMap { $0["expr"] as? String }
        #expect(targets.count > 30)
        #expect(Self.named(in: targets.joined(separator: "\n")).subtracting(families) == [])
        #expect(Set(panels.compactMap { $0["id"] as? Int }).count == panels.count, "two panels have one number")
    }

    /// Each says what to do, and is provoked by a test.
    @Test func everyAlertIsOnThePageAndInTheTestOfRules() throws {
        let alerts = Self.alerts(try Repository.text("Schema/metrics/alerts.yml"))
        #expect(alerts.count > 20 && Set(alerts).count == alerts.count)
        let page = try Repository.page(named: "Metrics.md")
        let onPage = page.matches(of: /(?m)^\*\*(Ledger\w+)\*\*:/).map { String($0.1) }
        #expect(onPage == alerts, "in the same order")
        let test = try Repository.text("Schema/metrics/alerts_test.yml")
        #expect(test.contains("exp_samples: [{labels: '{}', value: \(alerts.count)}]"), "all of them fire")
    }

    /// Of `Readiness`.
    @Test func everyReasonIsOnThePage() throws {
        let source = try Repository.source(named: "Readiness.swift")
        let reasons = source.matches(of: /(?m)^ {8}case (\w+)(?: = "(\w+)")?$/).map { String($0.2 ?? $0.1) }
        #expect(reasons.count == 9 && reasons.contains("disk_full"))
        let page = try Repository.page(named: "Metrics.md")
        for reason in reasons { #expect(page.contains("| `\(reason)` |"), "\(reason)") }
    }

    private static func promtool(_ arguments: [String]) -> (status: Int32, said: String)? {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["promtool"] + arguments
        process.currentDirectoryURL = Repository.root.appendingPathComponent("Schema/metrics")
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        guard (try? process.run()) != nil else { return nil }
        let said = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, said)
    }

    /// Whether it is there, or has to be.
    private static let wantsPromtool =
        promtool(["--version"])?.status == 0
        || (ProcessInfo.processInfo.environment["LEDGER_TESTS_NEED"] ?? "").contains("promtool")

    @Test(.enabled(if: wantsPromtool, "promtool is not installed"))
    func prometheusAcceptsTheRulesAndEachAlertFires() throws {
        for arguments in [["check", "rules", "alerts.yml"], ["test", "rules", "alerts_test.yml"]] {
            let result = try #require(Self.promtool(arguments))
            #expect(result.status == 0, "\(result.said)")
        }
    }
}
