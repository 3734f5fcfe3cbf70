import Benchmark
import HotPath

/// Each case of the hot path under its name. Everything that a case does is in `HotPath`, where a unit test runs it
/// too.
let benchmarks: @Sendable () -> Void = {
    Benchmark.defaultConfiguration = .init(
        metrics: [.wallClock, .instructions],
        warmupIterations: 2,
        // A thousand operations a measurement; the figures are those of one.
        scalingFactor: .kilo,
        maxDuration: .seconds(2),
        maxIterations: 200,
        // A shared machine: what a neighbour costs is no regression, three times as slow is one. Instructions hardly
        // vary; where the processor has none of SHA-256, there are some more.
        thresholds: [
            .wallClock: .init(relative: [.p50: 100, .p90: 200]),
            .instructions: .init(relative: [.p50: 15, .p90: 25]),
        ])
    for measured in HotPath.cases {
        var workload: (any HotPathWorkload)?
        // benchmark 1.38 writes a case's thresholds to a file whose name has no spaces, and looks for it by the case's
        // name as it is.
        Benchmark(measured.name.replacing(" ", with: "_")) { benchmark in
            guard let workload else { return benchmark.error("it was not prepared") }
            let count = benchmark.scaledIterations.count
            benchmark.startMeasurement()
            let good = try workload.run(count)
            benchmark.stopMeasurement()
            guard good == count else { return benchmark.error("\(count - good) of \(count) did not come out right") }
        } setup: {
            workload = try measured.make()
        } teardown: {
            workload = nil
        }
    }
}
