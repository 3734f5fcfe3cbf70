/// Rows that the format of blocks has room for and that later versions write: their operations need no new version of
/// the format. This version reads and writes their bytes, and does nothing with them.
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

    /// From here on decisions follow another catalog.
    package struct CatalogRow: Hashable, Sendable {
        package var version: Int64
        /// SHA-256 of the catalog's file.
        package var digest: Digest
        package var time: Timestamp

        package init(version: Int64, digest: Digest, time: Timestamp) {
            self.version = version
            self.digest = digest
            self.time = time
        }
    }
}
