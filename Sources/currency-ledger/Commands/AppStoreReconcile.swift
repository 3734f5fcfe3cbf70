import AppStore
import AppStoreServer
import ArgumentParser
import Foundation
import Ledger
import LedgerClient
import LedgerWire
import NIOConcurrencyHelpers
import StrictJSON

extension AppStoreCommand {
    struct Reconcile: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Carries out notifications that never arrived, from Apple's notification history.",
            discussion: """
                Each is handed to the running service, as "notify" does. What was new is printed, one line of JSON \
                each, and at the end how many there were. The service does the same by itself \
                (appStore.historySeconds); by hand it goes back as far as --since says. The token (LEDGER_TOKEN) needs \
                the role purchases.

                With --deep Apple is also asked of each purchase that was credited since then what of its customer's \
                purchases was refunded, and that is taken back, whether or not a notification says so. Then the token \
                needs the role finance as well.

                The exit status is 1 where something could not be carried out yet: it is to be run again then. It is \
                2 where all was read, and something of it is refused for ever: the books and Apple do not agree then.

                currency-ledger app-store reconcile --config ledger.json --since 2026-11-01
                """)

        @Option(help: "From when on: milliseconds since 1970 or ISO 8601, as 2026-11-01 or 2026-11-01T12:00:00Z.")
        var since: String

        @Flag(help: "Ask for the refunds of each purchase since then, too.")
        var deep = false

        @OptionGroup var appStore: AppStoreOptions
        @OptionGroup var server: ServerOptions

        func validate() throws {
            guard let time = TimeText.milliseconds(since) else {
                throw ValidationError("--since must be milliseconds since 1970 or ISO 8601, not '\(since)'.")
            }
            guard time < Clock.now() else { throw ValidationError("--since must be in the past, not '\(since)'.") }
        }

        func run() async throws {
            let outcome = try await appStore.withClient(ledger: server.ledger) { appStore, ledger in
                let start = try earliest(ledger)
                return try await server.withClient { client in
                    let reconciling = Reconciling(
                        appStore: appStore, environment: ledger.environment, ledger: client
                    ) { Console.print($0) }
                    try await Reconcile.showing("reading notifications, hours") { bar in
                        try await reconciling.readNotifications(since: start) { bar.show($0, of: $1) }
                    }
                    if deep {
                        try await Reconcile.showing("reading refunds, entries") { bar in
                            try await reconciling.readRefunds(since: start) { bar.show($0, of: $1) }
                        }
                    }
                    return reconciling.counts
                }
            }
            Console.print(outcome.json)
            if outcome.postponed > 0 { throw ExitCode(1) }
            if outcome.refused > 0 { throw ExitCode(2) }
        }

        private static func showing(_ what: String, _ body: (ProgressBar) async throws -> Void) async throws {
            let bar = ProgressBar(what)
            defer { bar.end() }
            try await body(bar)
        }

        /// - Throws: ``Failure`` where Apple has no history of that time any more.
        private func earliest(_ ledger: LedgerSettings) throws -> Timestamp {
            let start = TimeText.milliseconds(since) ?? 0
            let span = AppStoreServerLimits.historyMilliseconds(ledger.environment)
            guard start >= Clock.now() - span else {
                throw Failure(
                    "--since is too early: Apple keeps notifications of \(ledger.environment.rawValue) for "
                        + "\(span / 86_400_000) days", exitCode: .validationFailure)
            }
            return start
        }
    }
}

/// Hands what Apple has to a running service, and says what was new.
final class Reconciling: Sendable {
    struct Counts: Sendable {
        var new = 0
        var known = 0
        var refused = 0
        var postponed = 0
        /// Refunds of purchases that the ledger has never seen, and that name no account.
        var unknown = 0

        var json: String {
            #"{"new":\#(new),"known":\#(known),"refused":\#(refused),"postponed":\#(postponed),"unknown":\#(unknown)}"#
        }
    }

    private let appStore: AppStoreServerClient
    private let environment: AppStore.Environment
    private let ledger: LedgerClient
    private let report: @Sendable (String) -> Void
    private let counted = NIOLockedValueBox(Counts())
    /// Purchases in a row of which Apple gave no answer.
    private let failures = NIOLockedValueBox(0)

    /// Purchases that are asked for at the same time. Apple allows 50 such requests a second.
    private static let concurrencyMax = 8
    /// Purchases in a row of which Apple gives no answer before no more are asked for.
    private static let failuresMax = 10
    /// Pages of one customer's refunds, of 20 each, which bound how long one purchase is read.
    private static let refundPagesMax = 1_000

    /// - Parameters:
    ///   - environment: the one that `appStore` asks.
    ///   - report: gets what was new, a line of JSON each.
    init(
        appStore: AppStoreServerClient, environment: AppStore.Environment, ledger: LedgerClient,
        report: @escaping @Sendable (_ line: String) -> Void
    ) {
        self.appStore = appStore
        self.environment = environment
        self.ledger = ledger
        self.report = report
    }

    var counts: Counts { counted.withLockedValue { $0 } }

    // MARK: Notifications

    /// - Parameter progress: is called with the hours of the history that were read, and of all.
    func readNotifications(
        since start: Timestamp, progress: @escaping @Sendable (_ done: Int64, _ all: Int64) -> Void = { _, _ in }
    ) async throws {
        let reconciliation = Reconciliation(
            client: appStore, environment: environment, position: start
        ) { signedPayloads in
            // At the same time, so that the ledger commits them together: their order changes nothing.
            try await withThrowingTaskGroup { tasks in
                for (place, payload) in signedPayloads.enumerated() {
                    tasks.addTask { (place, try await self.deliver(payload)) }
                }
                return try await tasks.reduce(into: [(Int, Reconciliation.Delivery)]()) { $0.append($1) }
                    .sorted { $0.0 < $1.0 }.map(\.1)
            }
        }
        let now = Clock.now()
        let run = try await reconciliation.catchUp(to: now) { run, _ in
            progress((run.readThrough - start) / 3_600_000, max(1, (now - start) / 3_600_000))
        }
        counted.withLockedValue {
            $0.new += run.new
            $0.known += run.known
            $0.refused += run.refused
            $0.postponed += run.postponed
        }
    }

    private func deliver(_ signedPayload: String) async throws -> Reconciliation.Delivery {
        do {
            let receipt = try await ledger.notify(signedPayload: signedPayload)
            if receipt.duplicate { return .known }
            say(receipt)
            return .new
        } catch let error as WireError {
            let about = SignedIdentity.notification(signedPayload)
            Console.error("\(about ?? "a notification") was not carried out: \(error)")
            // That it is too long is said to a stranger: it may be carried out for who is known.
            if error.reason == WireReason.lineTooLong.rawValue { return .postponed("\(error)") }
            return Reconciliation.Delivery(error)
        }
    }

    private func say(_ value: some WireValue) {
        var writer = JSONWriter()
        value.write(to: &writer)
        report(String(decoding: writer.bytes, as: UTF8.self))
    }

    // MARK: Refunds

    /// Asks for the refunds of each purchase that was credited since a time. Of one customer's purchases each tells the
    /// same, but only Apple knows who a customer is.
    /// - Parameter progress: is called with the entries that were read, and with all there are.
    func readRefunds(
        since start: Timestamp, progress: (_ done: Int64, _ all: Int64) -> Void = { _, _ in }
    ) async throws {
        let last = try await ledger.head().entry
        var after = try await lastEntry(before: start)
        let first = after
        while after < last {
            let page = try await ledger.journal(after: after, limit: Limits.journalPageMax)
            guard let end = page.entries.last else { break }
            // Of other stores' purchases Apple knows nothing.
            let purchases = page.entries.filter { $0.kind == .credit || $0.kind == .imported }
                .compactMap(\.transaction).filter { $0.number < TransactionID.ownNumbers }
            try await readRefunds(of: purchases)
            after = end.entry
            progress(after - first, last - first)
        }
    }

    private func readRefunds(of purchases: [TransactionID]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for (place, purchase) in purchases.enumerated() {
                if place >= Reconciling.concurrencyMax { _ = try await tasks.next() }
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
                guard pages < Reconciling.refundPagesMax else {
                    Console.error("purchase \(purchase): the App Store's refund history has no end")
                    return counted.withLockedValue { $0.postponed += 1 }
                }
            }
            failures.withLockedValue { $0 = 0 }
        } catch AppStoreServerError.refused(let refusal) where refusal.isOfOnePurchase {
            // The others are asked for all the same.
            Console.error("purchase \(purchase): \(refusal)")
            counted.withLockedValue { $0.refused += 1 }
        } catch let error as AppStoreServerError where Reconciling.mayBeOfOnePurchase(error) {
            Console.error("purchase \(purchase): \(error)")
            counted.withLockedValue { $0.postponed += 1 }
            let count = failures.withLockedValue { count in
                count += 1
                return count
            }
            if count >= Reconciling.failuresMax { throw error }
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
        var about = "a refund"
        do {
            let identity = SignedIdentity(transaction)
            if let identity { about = "the refund of purchase \(identity.purchase) (\(identity.product))" }
            do {
                note(try await ledger.credit(signedTransaction: transaction))
            } catch let error as WireError where error.reason == WireReason.accountRequired.rawValue {
                guard let identity else { throw error }
                guard let view = try await known(identity.purchase) else {
                    Console.error("\(about) is of a purchase that the ledger has never seen")
                    return counted.withLockedValue { $0.unknown += 1 }
                }
                guard let account = view.account else {
                    // It was told already, and whoever claims the purchase gets nothing of it.
                    if view.revoked > 0 { return counted.withLockedValue { $0.known += 1 } }
                    Console.error("\(about) waits: no account has claimed the purchase")
                    return counted.withLockedValue { $0.postponed += 1 }
                }
                // Where a name was erased nobody can say it, and anybody's is taken.
                let name = account.isErased ? AccountName("erased") : account
                note(try await ledger.credit(signedTransaction: transaction, account: name))
            }
        } catch let error as WireError where Reconciling.isOfOthers(error) {
            // Refunds of all that the customer bought come: subscriptions too, and what is older than the ledger.
        } catch let error as WireError {
            Console.error("\(about) was not carried out: \(error)")
            counted.withLockedValue {
                if case .postponed = Reconciliation.Delivery(error) { $0.postponed += 1 } else { $0.refused += 1 }
            }
        }
    }

    private func note(_ receipt: PurchaseReceipt) {
        let isNew =
            switch receipt.outcome {
            case .credited, .reversed, .reinstated, .unassigned: true
            case .alreadyCredited, .alreadyReversed: false
            }
        if isNew { say(receipt) }
        counted.withLockedValue { if isNew { $0.new += 1 } else { $0.known += 1 } }
    }

    /// What the ledger has of a purchase; `nil` where it has nothing.
    private func known(_ purchase: TransactionID) async throws -> PurchaseView? {
        do {
            return try await ledger.purchase(purchase, limit: 1)
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

/// What a JWS that is not verified yet says of what it is about, to look it up by and to name it: the ledger verifies
/// it, and who made it up may have written anything.
private struct SignedIdentity {
    let purchase: TransactionID
    /// For people.
    let product: String

    init?(_ jws: String) {
        struct Payload: Decodable {
            var transactionId: String
            var originalTransactionId: String?
            var productId: String
            var type: String
        }
        guard let payload = SignedIdentity.payload(jws, Payload.self),
            let purchase = TransactionID(
                payload.type == "Non-Consumable"
                    ? payload.originalTransactionId ?? payload.transactionId : payload.transactionId)
        else { return nil }
        self.purchase = purchase
        product = SignedIdentity.forPeople(payload.productId)
    }

    /// A notification's name, for people; `nil` where it is none.
    static func notification(_ jws: String) -> String? {
        struct Payload: Decodable {
            var notificationType: String
            var subtype: String?
            var notificationUUID: String
        }
        return payload(jws, Payload.self).map { payload in
            let type = [payload.notificationType, payload.subtype].compactMap { $0 }.joined(separator: " ")
            return "notification \(forPeople(payload.notificationUUID)) (\(forPeople(type)))"
        }
    }

    private static func payload<Payload: Decodable>(_ jws: String, _ type: Payload.Type) -> Payload? {
        let parts = jws.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        var text = parts[1].replacing("-", with: "+").replacing("_", with: "/")
        while text.utf8.count % 4 > 0 { text += "=" }
        return Data(base64Encoded: String(text)).flatMap { try? JSONDecoder().decode(type, from: $0) }
    }

    /// Not longer than a name, and without characters that a terminal obeys.
    private static func forPeople(_ text: String) -> String {
        String(text.prefix(128).unicodeScalars.map { $0.properties.generalCategory == .control ? "?" : Character($0) })
    }
}
