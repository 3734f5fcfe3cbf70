import Benchmark
import HotPath

/// Each case of the hot path under its name. Everything that a case does is in `HotPath`, where a unit test runs it too.
let benchmarks: @Sendable () -> Void = {
    Benchmark.defaultConfiguration = .init(
        metrics: [.wallClock, .cpuTotal, .throughput, .instructions],
        warmupIterations: 2,
        // A thousand operations a measurement; the figures are those of one.
        scalingFactor: .kilo,
        maxDuration: .seconds(2),
        maxIterations: 200,
        // A shared machine: what a neighbour costs is no regression, twice as slow is one. Instructions hardly vary.
        thresholds: [
            .wallClock: .init(relative: [.p50: 100, .p90: 200]),
            .cpuTotal: .init(relative: [.p50: 50, .p90: 100]),
            .throughput: .init(relative: [.p50: 50, .p90: 75]),
            .instructions: .init(relative: [.p50: 10, .p90: 15]),
        ])
    for measured in HotPath.cases {
        var workload: (any HotPathWorkload)?
        Benchmark(measured.name) { benchmark in
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
