/// How many of what was measured came to at most each of some bounds.
package final class Histogram: Sendable {
    /// The bounds, and in which unit they are.
    package struct Scale: Sendable {
        /// In ascending order; what is more than the last is in a bucket of its own.
        package let bounds: [UInt64]
        /// How many of what is measured are one of the unit that is told.
        package let perUnit: UInt64

        package init(_ bounds: [UInt64], perUnit: UInt64 = 1) {
            precondition(zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 }, "the bounds do not ascend")
            precondition(perUnit > 0, "a unit has no size")
            self.bounds = bounds
            self.perUnit = perUnit
        }

        /// With the one of what is more than the last bound.
        package var bucketCount: Int { bounds.count + 1 }

        /// In which bucket a measurement is. Most are in the first few.
        package func bucket(of value: UInt64) -> Int {
            var bucket = 0
            while bucket < bounds.count, value > bounds[bucket] { bucket += 1 }
            return bucket
        }

        /// Nanoseconds, told in seconds: from a tenth of an idle disk's sync to what no client waits for.
        package static let durations = Scale(
            [
                50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000,
                100_000_000, 250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000, 10_000_000_000,
            ], perUnit: 1_000_000_000)

        /// Powers of two up to the largest batch.
        package static let batches = Scale((0...13).map { 1 << $0 })
    }

    /// What was measured up to a moment.
    package struct Reading: Sendable {
        package let scale: Scale
        /// Of each bucket by itself.
        package var counts: [UInt64]
        /// Of all measurements, in what is measured.
        package var sum: UInt64

        package init(_ scale: Scale) {
            self.scale = scale
            counts = Array(repeating: 0, count: scale.bucketCount)
            sum = 0
        }

        package var total: UInt64 { counts.reduce(0, +) }
    }

    private let scale: Scale
    /// The buckets, and the sum behind them.
    private let cells: Cells

    package init(_ scale: Scale) {
        self.scale = scale
        cells = Cells(scale.bucketCount + 1)
    }

    /// Any thread may.
    package func note(_ value: UInt64) {
        cells.add(1, at: scale.bucket(of: value))
        cells.add(value, at: scale.bucketCount)
    }

    package var reading: Reading {
        var reading = Reading(scale)
        for bucket in reading.counts.indices { reading.counts[bucket] = cells[bucket] }
        reading.sum = cells[scale.bucketCount]
        return reading
    }
}
