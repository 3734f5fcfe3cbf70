import LedgerMetrics
import LedgerTestKit
import Testing

@Suite struct ExpositionTests {
    private static let requests = Family("test_requests_total", .counter, "Requests, by what became of them.")
    private static let depth = Family("test_depth", .gauge, "What waits: a \\ and\na second line.")
    private static let time = Family("test_time_seconds", .histogram, "How long they took.")

    /// Of every kind, in an order that has to be mended, with values that have to be escaped.
    private static var example: Exposition {
        var exposition = Exposition()
        let histogram = Histogram(.durations)
        for value: UInt64 in [1, 50_000, 50_001, 3_000_000, 20_000_000_000] { histogram.note(value) }
        for ledger in ["eu", #"a "quoted" \ name, {with} braces"#, "two\nlines", ""] {
            let labels = [Label("ledger", ledger)]
            exposition.add(requests, .count(UInt64.max), labels + [Label("outcome", "ok")])
            exposition.add(depth, .real(0.1 + 0.2), labels)
            exposition.add(time, histogram.reading, labels)
            exposition.add(requests, .count(0), labels + [Label("outcome", "refused")])
        }
        exposition.add(depth, .real(.infinity), [Label("ledger", "bounds"), Label("side", "above")])
        exposition.add(depth, .real(-.infinity), [Label("ledger", "bounds"), Label("side", "below")])
        exposition.add(depth, .real(.nan), [Label("ledger", "bounds"), Label("side", "nowhere")])
        exposition.add(depth, .whole(Int128(1) << 100))
        exposition.add(depth, .seconds(milliseconds: -1_500), [Label("ledger", "time")])
        exposition.add(depth, .real(5e-324), [Label("ledger", "least")])
        return exposition
    }

    @Test func theTextIsThatOfTheFormat() throws {
        var exposition = Exposition()
        exposition.add(Self.depth, .count(3), [Label("ledger", #"a\"# + "\n\"b\"")])
        exposition.add(Self.requests, .count(7))
        exposition.add(Self.depth, .real(0.5))
        #expect(
            String(decoding: exposition.bytes, as: UTF8.self) == #"""
                # HELP test_depth What waits: a \\ and\na second line.
                # TYPE test_depth gauge
                test_depth{ledger="a\\\n\"b\""} 3
                test_depth 0.5
                # HELP test_requests_total Requests, by what became of them.
                # TYPE test_requests_total counter
                test_requests_total 7

                """#)
    }

    @Test func aHistogramCountsOnFromBucketToBucket() throws {
        let histogram = Histogram(Histogram.Scale([10, 100], perUnit: 10))
        for value: UInt64 in [0, 10, 11, 100, 101, 5_000] { histogram.note(value) }
        var exposition = Exposition()
        exposition.add(Self.time, histogram.reading, [Label("step", "append")])
        let lines = String(decoding: exposition.bytes, as: UTF8.self).split(separator: "\n").dropFirst(2)
        #expect(
            Array(lines) == [
                #"test_time_seconds_bucket{step="append",le="1"} 2"#,
                #"test_time_seconds_bucket{step="append",le="10"} 4"#,
                #"test_time_seconds_bucket{step="append",le="+Inf"} 6"#,
                #"test_time_seconds_sum{step="append"} 522.2"#, #"test_time_seconds_count{step="append"} 6"#,
            ])
    }

    @Test func theStrictCheckAcceptsIt() throws {
        let parsed = try ParsedExposition(String(decoding: Self.example.bytes, as: UTF8.self))
        #expect(parsed.families.count == 3)
        #expect(parsed["test_requests_total", ["ledger": "eu", "outcome": "ok"]] == 18_446_744_073_709_551_615)
        #expect(parsed["test_time_seconds_bucket", ["ledger": "eu", "le": "0.00005"]] == nil)
        #expect(parsed["test_time_seconds_bucket", ["ledger": "eu", "le": "5e-05"]] == 2)
        #expect(parsed["test_time_seconds_count", ["ledger": ""]] == 5)
        #expect(parsed["test_depth"] == 1_267_650_600_228_229_401_496_703_205_376)
        #expect(parsed["test_depth", ["ledger": "time"]] == -1.5)
    }

    @Test(arguments: [
        "a_total 1", "# HELP a_total A.\na_total 1", "# HELP a_total A.\n# TYPE a_total counter\na_total -1",
        "# HELP a A.\n# TYPE a counter\na 1", "# HELP a A.\n# TYPE a gauge\na 1\na 2",
        "# HELP a A.\n# TYPE a gauge\na{b=\"\\c\"} 1", "# HELP a A.\n# TYPE a gauge\na{b=\"1\",b=\"2\"} 1",
        "# HELP a A.\n# TYPE a gauge\na one", "# HELP a A.\n# TYPE a gauge",
        "# HELP a A.\n# TYPE a gauge\na 1\n# HELP b B.\n# TYPE b gauge\nb 1\na{c=\"d\"} 1",
        "# HELP a A.\n# TYPE a histogram\na_bucket{le=\"1\"} 1\na_sum 1\na_count 1",
        "# HELP a A.\n# TYPE a histogram\na_bucket{le=\"1\"} 2\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 1",
        "# HELP a A.\n# TYPE a histogram\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 2",
    ])
    func theStrictCheckRefusesWhatIsNoExposition(text: String) {
        #expect(throws: ParsedExposition.Fault.self) { try ParsedExposition(text + "\n") }
    }

    @Test(.enabled(if: PrometheusProgram.promtool.isWanted, "promtool is not installed"))
    func prometheusItselfAcceptsIt() throws {
        #expect(throws: PrometheusProgram.Refusal.self) {
            try PrometheusProgram.promtool.check(figures: Array("a\n".utf8))
        }
        try PrometheusProgram.promtool.check(figures: Self.example.bytes)
    }

    @Test(.enabled(if: PrometheusProgram.python.isWanted, "prometheus_client is not installed"))
    func thePythonClientAcceptsIt() throws {
        #expect(throws: PrometheusProgram.Refusal.self) {
            try PrometheusProgram.python.check(figures: Array("a\n".utf8))
        }
        try PrometheusProgram.python.check(figures: Self.example.bytes)
    }
}
