/// What the ledger answers to a request.
package enum Outcome: Sendable {
    case purchase(PurchaseReceipt)
    // Where values are large and rare they stand apart, so that the usual ones are cheap to move.
    indirect case notification(NotificationReceipt)
    case spend(SpendReceipt)
    case grant(GrantReceipt)
    case reversal(ReversalReceipt)
    case hold(HoldReceipt)
    case capture(CaptureReceipt)
    case release(ReleaseReceipt)
    case atomic(AtomicReceipt)
    indirect case link(LinkReceipt)
    case consent(ConsentReceipt)
    case adjustment(AdjustmentReceipt)
    case imported(ImportReceipt)
    /// A call to the App Store Server API; a duplicate changed nothing.
    case recorded(duplicate: Bool)
    /// How many players had something expired; `Limits.expirationsPerBatchMax` where there may be more.
    case expired(players: Int)
    case balance(AccountBalances)
    indirect case purchaseView(PurchaseView)
    indirect case consumption(ConsumptionBody)
    /// Whether there was an account of that name, which is erased now.
    case forgotten(Bool)
    indirect case history(HistoryPage)
    indirect case lots(OpenItemsPage<OpenLot>)
    indirect case holds(OpenItemsPage<OpenHoldView>)
    indirect case report(ReportPage)
    indirect case journal(JournalPage)
    indirect case finding(Finding)
    indirect case appStoreWork(AppStoreWork)
    indirect case blocks(BlocksPage)
    case promoted(Promotion)
    case steppedDown(Handover)
    indirect case head(ChainHead)
    indirect case closed(ClosingReceipt)
    case refused(Refusal)
    /// A page as its reply says it, written beforehand by a thread on which nobody else waits.
    case written([UInt8])
}
