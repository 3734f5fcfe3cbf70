/// What is recorded of corrections beside their entries.
extension BlockRows {
    /// Why an entry corrects a wallet by hand, and who approved it. Who asked for it is the entry's own actor.
    package struct AdjustmentRow: Hashable, Sendable {
        package var entry: EntryID
        /// Which class of lots was corrected.
        package var lotClass: LotClass
        package var reason: String
        package var approver: ActorID?

        package init(entry: EntryID, lotClass: LotClass, reason: String, approver: ActorID?) {
            self.entry = entry
            self.lotClass = lotClass
            self.reason = reason
            self.approver = approver
        }
    }
}
