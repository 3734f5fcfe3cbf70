/// What is wrong in a configuration: every fault of it, each with where it stands and why.
struct ConfigurationError: Error, CustomStringConvertible {
    /// Faults that are shown: more help nobody.
    private static let faultsShownMax = 100

    let faults: [String]

    /// - Parameter faults: at least one.
    init(_ faults: [String]) {
        precondition(!faults.isEmpty, "an error without a fault")
        self.faults = faults
    }

    /// One line for each fault, under a heading where they are several.
    var description: String {
        if faults.count == 1 { return faults[0] }
        var lines = ["there are \(faults.count) faults in the configuration"] + faults.prefix(Self.faultsShownMax)
        if faults.count > Self.faultsShownMax { lines.append("and \(faults.count - Self.faultsShownMax) more") }
        return lines.joined(separator: "\n")
    }
}
