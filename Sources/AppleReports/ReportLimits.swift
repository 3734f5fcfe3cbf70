/// Every bound of reading and matching, each with its reason.
public struct ReportLimits: Hashable, Sendable {
    /// Bytes that a file has at most, inflated where it is compressed: Apple's largest, a year's summary of a large
    /// publisher, have some hundred megabytes.
    public var inflatedBytesMax = 2 << 30
    /// Bytes of a line. Apple's texts have up to 4,000 characters, and a row has several.
    public var lineBytesMax = 64 << 10
    /// Columns of a row. The reports have up to 30.
    public var columnsMax = 256
    /// Lines before the header: a "Financial Detail" has four.
    public var preambleLinesMax = 16
    /// Lines without anything that a file has: Apple's have a few.
    public var emptyLinesMax = 10_000
    /// Faults of one file that are told. A file with as many is another kind of file.
    public var faultsMax = 100
    /// Transactions that are named for one difference; more are counted.
    public var explainedMax = 1_000

    /// Days of the period that a row is of: Apple's longest, a year's summary, are of a year. Differences are explained
    /// day by day.
    static let periodDaysMax = 366

    /// The bounds that there are where nothing else is said.
    public static let standard = ReportLimits()

    private init() {}
}
