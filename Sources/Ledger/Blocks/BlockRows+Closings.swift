/// What is recorded of periods beside their ends, which ``BlockRows/closedThrough`` enforces where nothing else does.
extension BlockRows {
    /// Somebody closed the period up to a time: entries after the last of this block are later.
    package struct ClosingRow: Hashable, Sendable {
        /// The last millisecond of the period.
        package var through: Timestamp
        package var time: Timestamp
        package var actor: ActorID?

        package init(through: Timestamp, time: Timestamp, actor: ActorID?) {
            self.through = through
            self.time = time
            self.actor = actor
        }
    }
}
