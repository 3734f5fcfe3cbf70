/// What became of a configuration that a running service read again.
public struct ReloadReport: Hashable, Sendable {
    /// Whether it holds from now on; if not, everything is as it was.
    public var applied: Bool
    /// What is different now, a line each: the names of settings with the old and the new value, where that is no
    /// secret. Empty where nothing is.
    public var changes: [String]
    /// Why it does not hold: everything that is wrong with it, and every setting that needs a restart. Empty where it
    /// does.
    public var faults: [String]

    /// Lines of each list; more stand in the service's log.
    public static let linesMax = 100
    /// Bytes of a line, as UTF-8.
    public static let lineBytesMax = 400

    /// Lines that are too long are cut, and lines that are too many left out.
    public init(applied: Bool, changes: [String] = [], faults: [String] = []) {
        self.applied = applied
        self.changes = ReloadReport.fitting(changes)
        self.faults = ReloadReport.fitting(faults)
    }

    private static func fitting(_ lines: [String]) -> [String] {
        lines.prefix(linesMax).map { line in
            if line.utf8.count <= lineBytesMax { return line }
            var cut = line
            while cut.utf8.count > lineBytesMax - 3 { cut.removeLast() }
            return cut + "…"
        }
    }
}
