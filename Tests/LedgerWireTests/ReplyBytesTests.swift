import LedgerTypes
import LedgerWire
import StrictJSON
import Testing

/// The largest reply of each kind is as large as is said before the request is carried out, or a little smaller.
@Suite struct ReplyBytesTests {
    private static let longest = (0..<Limits.currenciesMax).map { number in
        let text = String(number)
        return CurrencyCode(text + String(repeating: "c", count: Limits.codeBytesMax - text.utf8.count))!
    }
    /// Each of its bytes is escaped.
    private static let account = AccountName(String(repeating: "\"", count: Limits.accountBytesMax))!
    private static let key = RequestKey(String(repeating: "\\", count: Limits.keyBytesMax))!
    private static let note = String(repeating: "\u{1}", count: Limits.noteBytesMax)
    private static let most = Limits.amountMax
    private static let transaction = TransactionID(number: Int64.max)

    private static func balances(_ count: Int) -> [CurrencyBalance] {
        longest.prefix(count).map {
            CurrencyBalance(
                currency: $0, balance: Balance(available: most, held: most, debt: most, paid: 0, version: most))
        }
    }

    private static let lots = (0..<Limits.lotsPerReceiptMax).map { _ in
        DrawnLot(currency: longest[0], amount: Amount(most)!, lot: Int64.max, transaction: transaction)
    }

    private static func debits(_ count: Int) -> [CurrencyAmount] {
        longest.prefix(count).map { CurrencyAmount(currency: $0, amount: Amount(most)!) }
    }

    private static let purchase = PurchaseReceipt(
        outcome: .alreadyCredited, transaction: transaction, account: account,
        posted: longest.prefix(16).map { PostedAmount(currency: $0, units: -most) }, balances: balances(16),
        entry: Int64.max, finish: false)

    /// Requests with the largest answer to each.
    private static let largest: [(String, LedgerRequest, Outcome)] = {
        let spend = KeyedOperation.spend(Spend(key: key, account: account, debits: debits(16)))
        let reverse = KeyedOperation.reverse(Reversal(key: key, spendKey: key, operation: nil, debits: nil))
        return [
            ("credit", .credit(Credit(signedTransaction: [], account: nil)), .purchase(purchase)),
            (
                "notify", .notify(Notify(signedPayload: [], account: nil)),
                .notification(
                    NotificationReceipt(
                        type: String(repeating: "\u{1}", count: 255), subtype: String(repeating: "\u{1}", count: 255),
                        uuid: String(repeating: "\u{1}", count: 255), duplicate: false, purchase: purchase))
            ),
            (
                "spend of 16", .keyed(spend),
                .spend(
                    SpendReceipt(
                        entry: Int64.max, replayed: false, drawn: lots, drawnMore: Int.max, balances: balances(16)))
            ),
            (
                "spend", .keyed(.spend(Spend(key: key, account: account, debits: debits(1)))),
                .spend(
                    SpendReceipt(
                        entry: Int64.max, replayed: false, drawn: lots, drawnMore: Int.max, balances: balances(1)))
            ),
            (
                "reverse", .keyed(reverse),
                .reversal(
                    ReversalReceipt(
                        entry: Int64.max, replayed: false, returned: lots, returnedMore: Int.max,
                        balances: balances(16)))
            ),
            (
                "capture", .keyed(.capture(Capture(key: key, holdKey: key, operation: nil, amount: nil))),
                .capture(
                    CaptureReceipt(
                        entry: Int64.max, replayed: false, drawn: lots, drawnMore: Int.max, balances: balances(1)))
            ),
            (
                "atomic", .atomic(Atomic(key: key, operations: Array(repeating: reverse, count: 64))),
                .atomic(
                    AtomicReceipt(
                        entry: Int64.max, replayed: false,
                        results: Array(repeating: .reverse(returned: lots, more: Int.max), count: 64),
                        balances: Array(
                            repeating: AccountBalances(account: account, balances: balances(16)), count: 64)))
            ),
            (
                "balance", .balance(BalanceQuery(account: account)),
                .balance(AccountBalances(account: account, balances: balances(Limits.currenciesMax)))
            ),
            (
                "balance of one", .balance(BalanceQuery(account: account, currency: longest[0])),
                .balance(AccountBalances(account: account, balances: balances(1)))
            ),
        ]
    }()

    private func bytes(_ reply: Reply) -> Int {
        var writer = ReplyWriter()
        writer.write(reply, id: .integer(1))
        return writer.bytes.count
    }

    @Test(arguments: largest.indices)
    func theLargestReplyFitsWhatWasReservedForIt(index: Int) {
        let (name, request, outcome) = Self.largest[index]
        let reserved = Request.ledger(request).replyBytesMax
        let written = bytes(.outcome(outcome))
        #expect(written <= reserved, "\(name): \(written) of \(reserved) bytes")
        if reserved == ReplyBytes.error { return }
        #expect(written * 10 >= reserved * 8, "\(name): \(written) of \(reserved) bytes are too many reserved")
    }

    @Test func smallRepliesAndRefusalsFit() {
        let balance = [CurrencyBalance(currency: Self.longest[0], balance: Balance(version: Self.most))]
        let operations: [(KeyedOperation, Outcome)] = [
            (
                .hold(
                    Hold(
                        key: Self.key, account: Self.account, currency: Self.longest[0], amount: Amount(1)!,
                        timeoutMilliseconds: 1)),
                .hold(HoldReceipt(entry: Int64.max, replayed: false, expiresAt: Int64.max, balances: balance))
            ),
            (
                .grant(Grant(key: Self.key, account: Self.account, currency: Self.longest[0], amount: Amount(1)!)),
                .grant(GrantReceipt(entry: Int64.max, replayed: false, balances: balance))
            ),
        ]
        let refusals: [Refusal.Reason] = [
            .insufficientFunds(currency: Self.longest[0], available: Self.most),
            .alreadyReversed(currency: Self.longest[0], reversible: Self.most),
            .unknownCurrency(currency: Self.longest[0]), .balanceLimit(currency: Self.longest[0]),
            .unknownProduct(product: String(repeating: "\u{1}", count: 100)),
        ]
        for (operation, outcome) in operations {
            let reserved = Request.ledger(.keyed(operation)).replyBytesMax
            #expect(bytes(.outcome(outcome)) <= reserved)
            for reason in refusals {
                let refusal = Refusal(reason, operation: 63, replayed: true)
                #expect(bytes(.outcome(.refused(refusal))) <= reserved, "\(reason)")
            }
        }
        let errors: [WireError] = [
            .overloaded, .lineTooLong,
            .invalidParams(path: String(repeating: "\u{1}", count: 1_000), "is no parameter"),
        ]
        for error in errors { #expect(bytes(.error(error)) <= error.replyBytesMax) }
        let info = ServerInfo(
            version: "1",
            ledger: LedgerInfo(environment: "Sandbox", bundleID: "b", engine: "e", currencies: Self.longest))
        #expect(bytes(.info(info)) <= Request.info.replyBytesMax)
        let lines = [String](repeating: String(repeating: "\u{1}", count: 500), count: 200)
        for report in [ReloadReport(applied: true, changes: lines), ReloadReport(applied: false, faults: lines)] {
            #expect(report.changes.count + report.faults.count == ReloadReport.linesMax)
            #expect((report.changes + report.faults).allSatisfy { $0.utf8.count <= ReloadReport.lineBytesMax })
            #expect(bytes(.reloaded(report)) <= Request.reload.replyBytesMax)
        }
    }

    @Test func theEntriesOfPagesTakeWhatIsCounted() {
        let line = JournalEntry.Line(
            transfer: Int64.max, account: Self.account, debit: .writtenOff, credit: .writtenOff,
            currency: Self.longest[0], amount: Amount(Self.most)!, lot: Int64.max, debtLot: Int64.max)
        let entry = JournalEntry(
            entry: Int64.max, time: Int64.max, kind: .reinstatement, key: Self.key, note: Self.note,
            transaction: Self.transaction, actor: "purchases", transfers: [line, line], transfersMore: Int.max)
        let counted = entry.resultBytes + 2 * line.resultBytes
        let written = json(entry).count
        #expect(written < counted && written * 10 > counted * 8, "\(written) of \(counted)")

        let movement = HistoryEntry.Movement(
            debit: .writtenOff, credit: .writtenOff, currency: Self.longest[0], amount: Amount(Self.most)!,
            change: -Self.most, lot: Int64.max, debtLot: Int64.max)
        let shown = HistoryEntry(
            entry: Int64.max, time: Int64.max, kind: .reinstatement, key: Self.key, note: Self.note,
            transaction: Self.transaction, product: String(repeating: "\u{1}", count: 100), quantity: Int64.max,
            price: Int64.max, priceCurrency: "USD", actor: "purchases", transfers: [movement, movement],
            transfersMore: Int.max, balances: Self.balances(16))
        let all = json(shown).count
        #expect(all < shown.resultBytes && all * 10 > shown.resultBytes * 8, "\(all) of \(shown.resultBytes)")
    }

    @Test func whatIsOpenTakesWhatIsCounted() {
        let lot = OpenLot(
            lot: Int64.max, currency: Self.longest[0], lotClass: .paid, time: Int64.max,
            transaction: Self.transaction, product: String(repeating: "\u{1}", count: 100), granted: Int64.max,
            remaining: Int64.max, held: Int64.max, debt: Int64.max, expiresAt: Int64.max)
        let hold = OpenHoldView(
            key: Self.key, operation: 63, entry: Int64.max, time: Int64.max, currency: Self.longest[0],
            amount: Int64.max, expiresAt: Int64.max, actor: String(repeating: "\u{1}", count: 50))
        for (written, counted) in [(json(lot).count, lot.resultBytes), (json(hold).count, hold.resultBytes)] {
            #expect(written < counted && written * 10 > counted * 8, "\(written) of \(counted)")
        }
    }

    private func json(_ value: some WireValue) -> [UInt8] {
        var writer = JSONWriter()
        writer.write(value)
        return writer.bytes
    }
}
