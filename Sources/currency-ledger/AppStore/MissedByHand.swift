import AppStore
import AppStoreServer
import Ledger
import LedgerClient
import LedgerWire
import LineServer
import NIOConcurrencyHelpers
import StrictJSON

/// Hands what Apple has, and the service may have missed, to the running service, and says what was new.
final class MissedByHand: Sendable {
    struct Counts: Sendable {
        var new = 0
        var known = 0
        var refused = 0
        var postponed = 0
        /// Refunds of purchases that the ledger has never seen, and that name no account.
        var unknown = 0

        var json: String {
            var writer = JSONWriter()
            writer.beginObject()
            writer.member("new", Int64(new))
            writer.member("known", Int64(known))
            writer.member("refused", Int64(refused))
            writer.member("postponed", Int64(postponed))
            writer.member("unknown", Int64(unknown))
            writer.endObject()
            return String(decoding: writer.bytes, as: UTF8.self)
        }
    }

    private struct State {
        var counts = Counts()
        /// Up to here all notifications were carried out, or refused for good.
        var notifications: Timestamp
        /// Up to here all purchases were asked for that are to be; `nil` where none is.
        var refunds: Timestamp?
        /// Refunds among those postponed that wait for an account to claim the purchase. They are found again in each
        /// run, whenever it begins.
        var unclaimed = 0
        /// Purchases in a row of which Apple gave no answer.
        var failures = 0
    }

    private let appStore: AppStoreServerClient
    private let environment: AppStore.Environment
    private let ledger: LedgerClient
    private let name: LedgerName?
    private let start: Timestamp
    private let report: @Sendable (String) -> Void
    private let state: NIOLockedValueBox<State>

    /// Purchases that are asked for at the same time. Apple allows 50 such requests a second.
    private static let concurrencyMax = 8
    /// Purchases in a row of which Apple gives no answer before no more are asked for.
    private static let failuresMax = 10
    /// Pages of one customer's refunds, of 20 each, which bound how long one purchase is read.
    private static let refundPagesMax = 1_000

    /// - Parameters:
    ///   - environment: the one that `appStore` asks.
    ///   - name: the one of the service's ledgers that everything is for, where that was said: otherwise what Apple
    ///     signed says it.
    ///   - start: from when on it is read.
    ///   - deep: whether the refunds of purchases are read, too.
    ///   - report: gets what was new, a line of JSON each.
    init(
        appStore: AppStoreServerClient, environment: AppStore.Environment, ledger: LedgerClient, name: LedgerName?,
        since start: Timestamp, deep: Bool, report: @escaping @Sendable (_ line: String) -> Void
    ) {
        self.appStore = appStore
        self.environment = environment
        self.ledger = ledger
        self.name = name
        self.start = start
        self.report = report
        state = NIOLockedValueBox(State(notifications: start, refunds: deep ? start : nil))
    }

    var counts: Counts { state.withLockedValue { $0.counts } }

    /// From when on it is to be gone on with, where not all of it was done.
    var place: Timestamp { state.withLockedValue { min($0.notifications, $0.refunds ?? .max) } }

    private func count(_ member: any WritableKeyPath<Counts, Int> & Sendable, _ more: Int = 1) {
        state.withLockedValue { $0.counts[keyPath: member] += more }
    }

    private func say(_ value: some WireValue) {
        var writer = JSONWriter()
        value.write(to: &writer)
        report(ForeignText.shown(json: String(decoding: writer.bytes, as: UTF8.self)))
    }

    private func complain(_ words: String, _ error: WireError) {
        Console.error("\(words): \(ForeignText.shown(error.detailedDescription))")
    }

    // MARK: Notifications

    /// - Parameter progress: is called with the hours of the history that were read, and of all.
    func readNotifications(
        progress: @escaping @Sendable (_ done: Int64, _ all: Int64) -> Void = { _, _ in }
    ) async throws {
        let start = start
        let history = HistoryCatchUp(
            client: appStore, environment: environment, position: start
        ) { signedPayloads in
            // At the same time, so that the ledger commits them together: their order changes nothing.
            try await withThrowingTaskGroup { tasks in
                for (place, payload) in signedPayloads.enumerated() {
                    tasks.addTask { (place, try await self.deliver(payload)) }
                }
                return try await tasks.reduce(into: [(Int, HistoryCatchUp.Delivery)]()) { $0.append($1) }
                    .sorted { $0.0 < $1.0 }.map(\.1)
            }
        }
        let now = Clock.now()
        _ = try await history.catchUp(to: now) { [state] run, position in
            state.withLockedValue { $0.notifications = max(start, position) }
            progress((run.readThrough - start) / 3_600_000, max(1, (now - start) / 3_600_000))
        }
    }

    private func deliver(_ signedPayload: String) async throws -> HistoryCatchUp.Delivery {
        let delivery = try await notify(signedPayload)
        switch delivery {
        case .new: count(\.new)
        case .known: count(\.known)
        case .refused: count(\.refused)
        case .postponed: count(\.postponed)
        }
        return delivery
    }

    private func notify(_ signedPayload: String) async throws -> HistoryCatchUp.Delivery {
        do {
            let receipt = try await ledger.notify(signedPayload: signedPayload, ledger: name)
            if receipt.duplicate { return .known }
            say(receipt)
            return .new
        } catch let error as WireError {
            let subject = SignedObject.notification(Array(signedPayload.utf8)).subject
            complain("\(subject?.notificationName ?? "a notification") was not carried out", error)
            // That it is too long is said to a stranger: it may be carried out for who is known.
            if error.reason == WireReason.lineTooLong.rawValue { return .postponed("\(error)") }
            return HistoryCatchUp.Delivery(error, of: signedPayload)
        }
    }

    // MARK: Refunds

    /// Asks for the refunds of each purchase that was recorded since the start. Of one customer's purchases each tells
    /// the same, but only Apple knows who a customer is.
    /// - Parameter progress: is called with the entries that were read, and with all there are.
    func readRefunds(progress: (_ done: Int64, _ all: Int64) -> Void = { _, _ in }) async throws {
        let waiting = state.withLockedValue { $0.counts.postponed - $0.unclaimed }
        // What is claimed meanwhile has an entry, and comes after that.
        try await readRefundsOfUnassigned()
        let last = try await ledger.head().entry
        var after = try await lastEntry(before: start)
        let first = after
        var asked: Set<TransactionID> = []
        while after < last {
            let page = try await ledger.journal(after: after, limit: Limits.journalPageMax)
            guard let begin = page.entries.first, let end = page.entries.last else { break }
            // Nothing is passed over that waits.
            state.withLockedValue { state in
                if state.counts.postponed - state.unclaimed == waiting { state.refunds = max(start, begin.time) }
            }
            // The entry of a purchase that was refunded in part when it was credited is a refund. Of other stores'
            // purchases Apple knows nothing.
            let purchases = page.entries.filter { [.credit, .imported, .refund].contains($0.kind) }
                .compactMap(\.transaction).filter { $0.number < TransactionID.ownNumbers && asked.insert($0).inserted }
            try await readRefunds(of: purchases)
            after = end.entry
            progress(after - first, last - first)
        }
    }

    /// Those that no account has claimed stand in no entry. All of them are asked for, however old they are: whoever
    /// goes on from a later time has passed over none.
    private func readRefundsOfUnassigned() async throws {
        var after: String?
        var asOf: Timestamp?
        repeat {
            let page = try await ledger.report(.unassigned, asOf: asOf, limit: Limits.reportPageMax, after: after)
            let purchases = page.rows.compactMap { row -> TransactionID? in
                guard case .line(let line) = row, line["source"] == .text("app_store"),
                    case .text(let id)? = line["transactionId"]
                else { return nil }
                return TransactionID(id)
            }
            try await readRefunds(of: purchases)
            (after, asOf) = (page.next, page.asOf)
        } while after != nil
    }

    private func readRefunds(of purchases: [TransactionID]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for (place, purchase) in purchases.enumerated() {
                if place >= MissedByHand.concurrencyMax { _ = try await tasks.next() }
                tasks.addTask { try await self.readRefunds(of: purchase) }
            }
            try await tasks.waitForAll()
        }
    }

    private func readRefunds(of purchase: TransactionID) async throws {
        do {
            var pages = 0
            for try await page in appStore.refundHistory(transactionID: "\(purchase)") {
                for transaction in page.signedTransactions { try await credit(transaction) }
                pages += 1
                guard pages < MissedByHand.refundPagesMax else {
                    Console.error("purchase \(purchase): the App Store's refund history has no end")
                    return count(\.postponed)
                }
            }
            state.withLockedValue { $0.failures = 0 }
        } catch AppStoreServerError.refused(let refusal) where refusal.isOfOnePurchase {
            // The others are asked for all the same.
            Console.error("purchase \(purchase): \(refusal)")
            count(\.refused)
        } catch let error as AppStoreServerError where MissedByHand.mayBeOfOnePurchase(error) {
            Console.error("purchase \(purchase): \(error)")
            count(\.postponed)
            let failures = state.withLockedValue { state in
                state.failures += 1
                return state.failures
            }
            if failures >= MissedByHand.failuresMax { throw error }
        }
    }

    /// Whether another purchase may have an answer all the same.
    private static func mayBeOfOnePurchase(_ error: AppStoreServerError) -> Bool {
        switch error {
        case .refused(let refusal): refusal.status != 401 && refusal.status != 429
        case .connectionLost, .timedOut, .replyTooLong, .unreadableReply: true
        case .cannotConnect, .invalidArgument, .cannotSign, .shutDown: false
        }
    }

    /// Brings a purchase up to what Apple signed of it. Where that names no account, the ledger is asked whose it is:
    /// whoever refunds claims nothing.
    private func credit(_ transaction: String) async throws {
        let subject = SignedObject.transaction(Array(transaction.utf8)).subject
        let about = subject?.purchaseName.map { "the refund of \($0)" } ?? "a refund"
        do {
            do {
                note(try await ledger.credit(signedTransaction: transaction, ledger: name))
            } catch let error as WireError where error.reason == WireReason.accountRequired.rawValue {
                guard let id = subject?.purchaseID.flatMap({ TransactionID($0) }) else { throw error }
                guard let view = try await known(id) else {
                    Console.error("\(about) is of a purchase that the ledger has never seen")
                    return count(\.unknown)
                }
                guard let account = view.account else {
                    // So much was told already, and whoever claims the purchase gets nothing of that.
                    if let revoked = subject?.revoked, view.revoked >= revoked { return count(\.known) }
                    Console.error("\(about) waits: no account has claimed the purchase")
                    state.withLockedValue { $0.unclaimed += 1 }
                    return count(\.postponed)
                }
                // Where a name was erased nobody can say it, and anybody's is taken.
                let owner = account.isErased ? AccountName("erased") : account
                note(try await ledger.credit(signedTransaction: transaction, account: owner, ledger: name))
            }
        } catch let error as WireError where MissedByHand.isOfOthers(error) {
            // Refunds of all that the customer bought come: subscriptions too, and what is older than the ledger.
        } catch let error as WireError {
            complain("\(about) was not carried out", error)
            count(NotificationVerdict.isFinal(error) ? \.refused : \.postponed)
        }
    }

    private func note(_ receipt: PurchaseReceipt) {
        let isNew =
            switch receipt.outcome {
            case .credited, .reversed, .reinstated, .unassigned: true
            case .alreadyCredited, .alreadyReversed: false
            }
        if isNew { say(receipt) }
        count(isNew ? \.new : \.known)
    }

    /// What the ledger has of a purchase; `nil` where it has nothing.
    private func known(_ purchase: TransactionID) async throws -> PurchaseView? {
        do {
            return try await ledger.purchase(purchase, limit: 1, ledger: name)
        } catch let error as WireError where error.reason == WireReason.unknownPurchase.rawValue {
            return nil
        }
    }

    /// Whether it is none of the ledger's: not of what it credits.
    private static func isOfOthers(_ error: WireError) -> Bool {
        [WireReason.notConsumable, .familyShared].map(\.rawValue).contains(error.reason)
    }

    /// The last entry before a time; 0 where there is none. Times of entries only grow.
    private func lastEntry(before time: Timestamp) async throws -> EntryID {
        var (low, high) = (EntryID(0), try await ledger.head().entry)
        while low < high {
            let middle = low + (high - low + 1) / 2
            let entry = try await ledger.journal(after: middle - 1, limit: 1).entries.first
            if let entry, entry.time < time { low = middle } else { high = middle - 1 }
        }
        return low
    }
}
