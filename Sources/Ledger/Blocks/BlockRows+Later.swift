/// Rows that the format of blocks has room for and that later versions write: their operations need no new version of
/// the format. This version reads and writes their bytes, and does nothing with them.
extension BlockRows {
    /// From now on a token's purchases are a player's. What the token's own wallet had moved over in `entry`.
    package struct LinkRow: Hashable, Sendable {
        /// The account that has the token as its name.
        package var token: PlayerID
        package var account: PlayerID
        /// `nil` where the token's wallets were empty.
        package var entry: EntryID?
        package var time: Timestamp
        package var actor: ActorID?

        package init(token: PlayerID, account: PlayerID, entry: EntryID?, time: Timestamp, actor: ActorID?) {
            self.token = token
            self.account = account
            self.entry = entry
            self.time = time
            self.actor = actor
        }
    }

    /// Whether Apple may be told how much of a player's purchases was consumed.
    package struct ConsentRow: Hashable, Sendable {
        package var account: PlayerID
        package var consumption: Bool
        package var time: Timestamp
        package var actor: ActorID?

        package init(account: PlayerID, consumption: Bool, time: Timestamp, actor: ActorID?) {
            self.account = account
            self.consumption = consumption
            self.time = time
            self.actor = actor
        }
    }

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

    /// A purchase that another source than the App Store sold: its number in the register, and what the source calls
    /// it.
    package struct ExternalRow: Hashable, Sendable {
        package var transaction: TransactionID
        package var source: String
        package var identifier: String

        package init(transaction: TransactionID, source: String, identifier: String) {
            self.transaction = transaction
            self.source = source
            self.identifier = identifier
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
