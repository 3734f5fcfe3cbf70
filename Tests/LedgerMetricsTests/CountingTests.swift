import LedgerMetrics
import Testing

@Suite struct CountingTests {
    @Test func nothingIsLostThatThreadsCountAtTheSameTime() async {
        let (counter, cells, histogram) = (Counter(), Cells(3), Histogram(.durations))
        await withTaskGroup { tasks in
            for _ in 0..<8 {
                tasks.addTask {
                    for number in 0..<10_000 {
                        counter.add()
                        cells.add(2, at: number % 3)
                        histogram.note(UInt64(number) * 1_000)
                    }
                }
            }
        }
        #expect(counter.total == 80_000)
        #expect((0..<3).map { cells[$0] } == [53_344, 53_328, 53_328])
        #expect(histogram.reading.total == 80_000)
        #expect(histogram.reading.sum == 8 * 1_000 * (0..<10_000).reduce(0, +))
    }

    @Test func aMeasurementIsInTheFirstBucketWhoseBoundItDoesNotExceed() {
        let scale = Histogram.Scale([1, 2, 4])
        #expect([0, 1, 2, 3, 4, 5, .max].map { scale.bucket(of: $0) } == [0, 0, 1, 2, 2, 3, 3])
        #expect(Histogram.Scale.batches.bounds.last == 8_192, "the largest batch (EngineLimits)")
    }

    @Test func aGaugeIsWhatItWasSetToLast() {
        let gauge = Gauge(7)
        #expect(gauge.value == 7)
        gauge.set(-3)
        #expect(gauge.value == -3)
    }
}
