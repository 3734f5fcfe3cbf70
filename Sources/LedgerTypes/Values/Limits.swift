/// Every bound of the service that does not belong to one connection, in one place, each with its reason.
/// (Limits of the wire are in `WireLimits`, of the server's queues in `ServerLimits`, of signatures in `AppStore`.)
public enum Limits {
    /// The largest amount, and the most that a wallet has, sets aside or owes: 2^53 − 1, so that every JSON client
    /// holds it exactly.
    public static let amountMax: Int64 = 9_007_199_254_740_991
    /// The most that one grant gives where the catalog does not say: more than a reward, less than what would fill a
    /// wallet by a slip of the hand.
    public static let grantMaxDefault: Int64 = 1_000_000_000
    /// A purchase is not reinstated again when what its refunds have made of debt, ever, or its lot has paid of debts,
    /// is more: the largest purchase then was refunded and reinstated 64 times. What may still be refunded leaves both
    /// below 2^60, beyond which the tables take no number.
    package static let lotSumMax: Int64 = 1 << 59
    /// Bytes of an account's name. A UUID needs 36, the longest ids of game back ends stay under 128.
    public static let accountBytesMax = 128
    /// Characters of a request key. A UUID needs 36; prefixed ids fit as well.
    public static let keyBytesMax = 64
    /// Bytes of a note: a line that a support agent reads, not a document.
    public static let noteBytesMax = 256
    /// Currencies that one spend may debit, and that one product may grant.
    public static let currenciesPerOperationMax = 16
    /// Currencies of one ledger: an account number keeps eight bits for them.
    public static let currenciesMax = 255
    /// Bytes of a currency's code and of a product id (App Store Connect allows 100 for a product id).
    public static let codeBytesMax = 100
    /// Bytes of another store's name, as the studio calls it.
    public static let sourceBytesMax = 64
    /// Bytes of another store's id of a purchase. Google's order numbers have 24, its purchase tokens some 200.
    public static let sourceIdentifierBytesMax = 512
    /// Units of a product in one purchase of another store. (The App Store sells at most 10 at once.)
    public static let quantityMax: Int64 = 1_000_000
    /// Lots that one receipt names, of a spend, a capture or a reversal; of the rest it says how many they are. A spend
    /// draws one or two lots as a rule, and one from each of ``currenciesPerOperationMax`` currencies has place; a
    /// wallet may have any number of small lots. So the largest receipt has a size, and a batch of the longest has
    /// place in what the server holds for one (`ServerLimits.batchReplyBytesMax`).
    public static let lotsPerReceiptMax = 16
    /// Lots of one `import`: the lots of nearly every player, decided while others wait. Who has more needs several.
    public static let importedLotsMax = 256
    /// A revocation's share is given in thousandths of a percent of the full quantity.
    public static let wholeShare: Int64 = 100_000
    /// Operations of one `atomic`: a trade or a shopping basket, decided while others wait.
    public static let atomicOperationsMax = 64
    /// The longest hold: 30 days.
    public static let holdMillisecondsMax: Int64 = 30 * 24 * 3_600_000
    /// Players whose expired holds and lots one batch posts: a backlog is worked off beside the requests.
    public static let expirationsPerBatchMax = 256
    /// Transfers after which such a batch takes no further player: one who has very many lots keeps nobody waiting for
    /// those of others. The rest is posted with the next sweep.
    package static let expiredLotsPerBatchMax = 32_768
    /// Entries of one page of `journal`.
    public static let journalPageMax = 1_000
    /// Entries of one page of `journal` where none is asked.
    public static let journalPageDefault = 100
    /// Transfers after which a page of `journal` ends with the entry that it is at: keeps a page of large entries to
    /// some megabytes.
    public static let journalTransfersMax = 20_000
    /// Transfers that `history`, `journal` and `find` show of one entry; the rest is read with `skipTransfers`. A spend
    /// may have drawn any number of lots.
    public static let transfersPerEntryMax = 1_000
    /// Bytes of the result of a read, which ends its page early: what has to be free in memory before it is read. A
    /// thousand entries as they usually are have a third of it. (Pages of reports are bounded by ``reportPageMax``, and
    /// a block is never cut.)
    public static let pageBytesMax = 2 << 20
    /// The longest wait of `journal` for a first new entry.
    public static let journalWaitMillisecondsMax: Int64 = 30_000
    /// Bytes of blocks on one page of `blocks`; a block that is larger is a page of its own.
    public static let blocksPageBytesMax = 16 << 20
    /// Bytes of blocks on one page of `blocks` where none are asked: to write them as text takes an event loop about a
    /// millisecond, for which its other connections wait.
    public static let blocksPageBytesDefault = 1 << 20
    /// The longest wait of `blocks` for a first new block.
    public static let blocksWaitMillisecondsMax: Int64 = 30_000
    /// Bytes of a standby's name: the longest name of a host in practice.
    public static let standbyNameBytesMax = 64
    /// Rows of one page of `history`.
    public static let historyPageMax = 1_000
    /// Rows of one page of `history` where none is asked.
    public static let historyPageDefault = 100
    /// Rows of one page of `lots` and `holds`, as of one of `history`.
    public static let openItemsPageMax = 1_000
    /// Rows of one page of `lots` and `holds` where none is asked: more than most players ever have.
    public static let openItemsPageDefault = 100
    /// Events of one page of `purchase`. Whoever has a purchase signed again and again makes more of them, without end.
    public static let purchasePageMax = 1_000
    /// Events of one page of `purchase` where none is asked: all that most purchases ever have.
    public static let purchasePageDefault = 100
    /// Rows of one page of a report: with the longest account names it stays well under a line of the wire.
    public static let reportPageMax = 4_000
    /// Rows of one page of a report where none is asked.
    public static let reportPageDefault = 1_000
    /// Transfers that `history` follows for one page before it gives what it has: keeps one request from reading for
    /// seconds.
    public static let historyTransfersMax = 200_000
    /// Wallets, and transfers that are counted back, that a report goes through for one page before it gives what it
    /// has: a page takes a tenth of a second or so.
    public static let reportStepsMax = 25_000
    /// Bytes of the JSON that is recorded with a call to the App Store Server API: a body that tells consumption has
    /// less than 200, one that sets a token less than 100.
    package static let appStoreCallBytesMax = 1_024
    /// Rows of one page of what there may be to tell Apple: so many calls take minutes.
    package static let appStoreWorkMax = 1_000
    /// How long Apple takes an answer to a CONSUMPTION_REQUEST: 12 hours.
    public static let consumptionAnswerMilliseconds: Int64 = 12 * 3_600_000
}
