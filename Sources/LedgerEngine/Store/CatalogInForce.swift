package import Ledger
import Synchronization

/// The catalog that decisions follow. Another may take its place at any time: batches that are decided from then on
/// follow that.
package final class CatalogInForce: Sendable {
    /// A catalog, and the file that it was read from.
    package struct Edition: Sendable {
        package var catalog: Catalog
        /// SHA-256 of the file, which the blocks name; `nil` where there is no file, and blocks name none.
        package var digest: Digest?

        package init(_ catalog: Catalog, digest: Digest? = nil) {
            self.catalog = catalog
            self.digest = digest
        }
    }

    private let edition: Mutex<Edition>
    private let changes = Atomic(0)

    package init(_ edition: Edition) { self.edition = Mutex(edition) }

    package var current: Edition { edition.withLock { $0 } }

    /// How often it was replaced.
    var changeCount: Int { changes.load(ordering: .acquiring) }

    package func replace(by new: Edition) {
        edition.withLock { $0 = new }
        changes.wrappingAdd(1, ordering: .releasing)
    }
}
