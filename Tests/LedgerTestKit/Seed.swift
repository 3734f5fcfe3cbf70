import Foundation

/// The seeds of random tests: one variable of the environment for all of them.
package enum Seed {
    /// The seed in `LEDGER_SEED`, with which a failed run is played again, or a new one. It is printed before anything
    /// runs: a broken invariant traps, and then nothing else is printed.
    /// - Parameters:
    ///   - usual: the one where none is given, instead of a new one.
    ///   - test: as what prints it.
    package static func drawn(or usual: UInt64? = nil, for test: String = #function) -> UInt64 {
        let given = ProcessInfo.processInfo.environment["LEDGER_SEED"]
        let seed: UInt64
        if let given {
            guard let number = UInt64(given) else { preconditionFailure("LEDGER_SEED is no number: \(given)") }
            seed = number
        } else {
            seed = usual ?? UInt64.random(in: 0..<1 << 53)
        }
        print("\(test): LEDGER_SEED=\(seed)")
        return seed
    }
}
