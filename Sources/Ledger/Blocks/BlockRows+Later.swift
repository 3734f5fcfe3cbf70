/// Rows that the format of blocks has room for and that later versions write: their operations need no new version of
/// the format. This version reads and writes their bytes, and does nothing with them.
extension BlockRows {
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
