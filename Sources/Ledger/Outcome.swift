/// What the books answer to a command.
package enum Outcome: Sendable {
    case purchase(PurchaseReceipt)
    case notification(NotificationReceipt)
    case spend(SpendReceipt)
    case grant(GrantReceipt)
    case reversal(ReversalReceipt)
    case hold(HoldReceipt)
    case capture(CaptureReceipt)
    case release(ReleaseReceipt)
    case atomic(AtomicReceipt)
    /// How many players had something expired; as many as were looked for where there may be more.
    case expired(players: Int)
    case balance(AccountBalances)
    case purchaseView(PurchaseView)
    case consumption(ConsumptionBody)
    case refused(Refusal)
}
