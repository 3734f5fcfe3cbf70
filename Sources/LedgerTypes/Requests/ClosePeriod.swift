/// Closes the period up to a time, for ever.
package struct ClosePeriod: Hashable, Sendable {
    /// The last millisecond of the period.
    package var through: Timestamp

    package init(through: Timestamp) { self.through = through }
}
