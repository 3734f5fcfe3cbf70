import Foundation
import HotPath

/// Prints how each case stands to its baseline: measured in turn, in one run.
@main
enum Ratios {
    static func main() throws {
        let filter = CommandLine.arguments.dropFirst().first
        print("µs each   baseline   × as fast  case")
        for measured in HotPath.cases where filter.map({ measured.name.contains($0) }) ?? true {
            // A line at a time, also into a pipe.
            fflush(nil)
            guard let ratio = try HotPathRatio(measured, count: 1_000, rounds: 5) else { continue }
            print(
                String(
                    format: "%8.3f  %9.3f  %9.2f  ", ratio.nanoseconds / 1_000, ratio.baselineNanoseconds / 1_000,
                    ratio.speed) + "\(ratio.name) (against \(measured.baseline ?? ""))")
        }
    }
}
