import AppStore
import Ledger
import LedgerWire

/// Which of the service's ledgers a request is for: the one that it names; else the only one that there is, or that its
/// token opens; else that of its JWS's app; else the one that its connection has named.
struct LedgerChoice {
    /// Why a request is for no ledger.
    enum Refusal: Error {
        case required
        case unknown(LedgerName)
        /// The token is of another one.
        case other(LedgerName)
    }

    private let directory: LedgerDirectory
    /// The ledger that `authenticate` has named.
    private var named: LedgerName?

    init(among directory: LedgerDirectory) { self.directory = directory }

    /// The ledger's place among all.
    /// - Parameter holder: who asks.
    func place(
        of request: LedgerRequest, naming ledger: LedgerName?, by holder: TokenHolder?
    ) -> Result<Int, Refusal> {
        if let ledger { return place(of: ledger, for: holder) }
        if directory.count == 1 { return .success(0) }
        if let own = holder?.ledger { return place(of: own, for: holder) }
        if let signed = request.signed { return .success(directory.place(claimedBy: signed)) }
        guard let named else { return .failure(.required) }
        return place(of: named, for: holder)
    }

    /// The place of the ledger of a request that is for one where it has one, as `info`; `nil` where it has none.
    func place(naming ledger: LedgerName?, by holder: TokenHolder?) -> Result<Int?, Refusal> {
        guard let ledger = ledger ?? holder?.ledger ?? named else { return .success(nil) }
        return place(of: ledger, for: holder).map { $0 }
    }

    /// A token of one ledger is told nothing of others, not even which there are.
    private func place(of ledger: LedgerName, for holder: TokenHolder?) -> Result<Int, Refusal> {
        if let own = holder?.ledger, own != ledger { return .failure(.other(ledger)) }
        return directory.place(of: ledger).map { .success($0) } ?? .failure(.unknown(ledger))
    }

    /// Why a connection of `holder` may not have its requests go to a ledger; `nil` where it may.
    func refusal(of ledger: LedgerName?, for holder: TokenHolder?) -> Refusal? {
        guard let ledger, case .failure(let refusal) = place(of: ledger, for: holder) else { return nil }
        return refusal
    }

    /// From now on requests that name no ledger are for this one, where it may be asked. `nil` keeps the one that was
    /// named before; where `holder` opens one ledger alone, it clears it, so that a ledger that somebody else has named
    /// does not become its own should it come to open all.
    mutating func name(_ ledger: LedgerName?, for holder: TokenHolder?) {
        named = ledger ?? (holder?.ledger == nil ? named : nil)
    }
}

extension LedgerRequest {
    /// The JWS that it carries.
    fileprivate var signed: SignedObject? {
        switch self {
        case .credit(let credit): .transaction(credit.signedTransaction)
        case .notify(let notify): .notification(notify.signedPayload)
        case .keyed, .atomic, .external, .link, .consent, .adjust, .importLots,
            .consumption, .forget, .balance, .history, .lots, .holds, .report,
            .journal, .purchase, .find, .blocks, .promote, .stepDown, .head, .close:
            nil
        }
    }
}
