/// A case beside its baseline, measured in turn in one process: what the machine does to one, it does to both.
public struct HotPathRatio: Sendable {
    /// The case.
    public let name: String
    /// Nanoseconds of one operation: the median round.
    public let nanoseconds: Double
    /// The baseline's.
    public let baselineNanoseconds: Double

    /// How many times as fast as its baseline: more than 1 is faster.
    public var speed: Double { baselineNanoseconds / nanoseconds }

    /// Measures one case against its baseline; `nil` where it is a baseline itself.
    /// - Parameters:
    ///   - count: operations of a round, the same for both.
    ///   - rounds: of each, one and the other in turn.
    /// - Throws: what preparing or running throws; ``HotPathError`` where an operation did not come out as it should.
    public init?(_ measured: HotPathCase, count: Int, rounds: Int) throws {
        precondition(count >= 1 && rounds >= 1)
        guard let name = measured.baseline, let baseline = HotPath.cases.first(where: { $0.name == name }) else {
            return nil
        }
        let work = try measured.make()
        let plain = try baseline.make()
        var times: [Double] = []
        var plainTimes: [Double] = []
        // One round before is not counted.
        for round in 0...rounds {
            let time = try HotPathRatio.time(work, count, measured.name)
            let plainTime = try HotPathRatio.time(plain, count, baseline.name)
            guard round > 0 else { continue }
            times.append(time)
            plainTimes.append(plainTime)
        }
        self.name = measured.name
        nanoseconds = times.sorted()[rounds / 2]
        baselineNanoseconds = plainTimes.sorted()[rounds / 2]
    }

    private static func time(_ work: any HotPathWorkload, _ count: Int, _ name: String) throws -> Double {
        let clock = ContinuousClock()
        let start = clock.now
        let good = try work.run(count)
        let elapsed = clock.now - start
        guard good == count else { throw HotPathError("\(name): \(count - good) of \(count) did not come out right") }
        let (seconds, attoseconds) = elapsed.components
        return (Double(seconds) * 1e9 + Double(attoseconds) / 1e9) / Double(count)
    }
}
