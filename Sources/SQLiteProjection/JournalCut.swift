import GRDB
import Ledger

/// What of the journal a report counts up to a time: the transfers that were posted by then, or those that happened by
/// then, whenever they were posted.
struct JournalCut {
    /// Nothing is posted more than a day before it happens: the App Store signs what has happened, and its clock and
    /// ours do not differ by that much.
    private static let aheadMilliseconds: Int64 = 86_400_000

    let time: Timestamp
    let dates: ReportDates
    /// The last transfer that was posted at the time or before.
    let last: TransferID
    /// All up to this one count.
    let whole: TransferID
    /// None after this one counts.
    let end: TransferID

    /// - Parameter end: the last transfer of all that the report counts (``ReportCursor``); the last of all, where that
    ///   is not given.
    init(_ time: Timestamp, _ dates: ReportDates, _ clock: JournalClock, end: TransferID?) throws {
        self.time = time
        self.dates = dates
        last = try clock.lastTransfer(time)
        switch dates {
        case .posted: (whole, self.end) = (last, last)
        case .effective:
            whole = try clock.lastTransfer(time - JournalCut.aheadMilliseconds)
            self.end = end ?? clock.lastTransferID
        }
    }

    /// - Parameter date: when the transfer happened (``EffectiveDates``); `nil` where that is when it was posted.
    func counts(_ transfer: TransferID, _ date: Timestamp?) -> Bool {
        if transfer <= whole { return true }
        if transfer > end { return false }
        return date.map { $0 <= time } ?? (transfer <= last)
    }

    /// The first time at which what happens at a time or later may have been posted.
    static func earliestPosting(_ time: Timestamp, _ dates: ReportDates) -> Timestamp {
        dates == .effective ? time - aheadMilliseconds : time
    }
}

/// The period that a report is of.
struct ReportPeriod {
    /// What there was before it; `nil` where it begins with the ledger.
    let opening: JournalCut?
    let closing: JournalCut

    init(_ query: ReportQuery, _ after: ReportCursor, _ clock: JournalClock) throws {
        opening = try query.from.map { try JournalCut($0 - 1, query.dates, clock, end: after.end) }
        closing = try JournalCut(query.asOf, query.dates, clock, end: after.end)
    }

    var cuts: [JournalCut] { opening.map { [closing, $0] } ?? [closing] }

    /// All transfers up to this one are those of the time before.
    var before: TransferID { opening?.whole ?? 0 }

    /// Whether a transfer is of the period.
    func contains(_ transfer: TransferID, _ date: Timestamp?) -> Bool {
        closing.counts(transfer, date) && opening?.counts(transfer, date) != true
    }
}

/// Finds when what transfers post happened.
struct EffectiveDates {
    private let selectDate: PreparedStatement

    init(_ db: Database) throws {
        // By the newest JWS that there was when the entry was posted: where it is the first of an account that claimed
        // the purchase later, more than one may have come before.
        selectDate = try PreparedStatement(
            db,
            """
            SELECT revocation_date FROM (
                SELECT revocation_date FROM purchase_event
                WHERE transaction_id = ?1 AND revoked IS NOT NULL AND coalesce(entry, 0) <= ?2 AND number <= (
                    SELECT max(number) FROM purchase_event WHERE transaction_id = ?1 AND entry = ?2
                )
                ORDER BY number DESC LIMIT 1
            )
            UNION ALL
            SELECT revocation_date FROM purchase WHERE transaction_id = ?1
            """)
    }

    /// A sale happened when the customer bought; a refund, or what ends one, when the App Store took the purchase back,
    /// where that was said.
    /// - Parameters:
    ///   - transaction: the purchase that the transfer's lot came from.
    ///   - purchaseDate: of that.
    /// - Returns: `nil` where it happened when it was posted.
    func date(
        debit: AccountKind, credit: AccountKind, entry: EntryID, transaction: TransactionID?, purchaseDate: Timestamp?
    ) throws -> Timestamp? {
        if debit == .purchased { return purchaseDate }
        guard debit == .refunded || credit == .refunded, let transaction else { return nil }
        selectDate.bind(1, transaction.number)
        selectDate.bind(2, entry)
        return try selectDate.first { $0.optionalInteger(0) }.flatMap { $0 }
    }
}
