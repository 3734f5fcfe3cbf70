import Ledger

/// The books, computed again from blocks alone, and checked while that is done: chain, numbers, times, sums, lots,
/// holds, keys and their answers, purchases, closed periods.
///
/// It goes on after what does not hold, so that all of it is named. Nothing of it traps, whatever the blocks say.
///
/// It keeps about 150 bytes for each lot, 17 for each transfer, and 50 for each purchase, key and notification; for the
/// key of a spend, a capture or a hold 20 more, and its text.
final class Replay {
    let hash: HashFunction
    let findings: Findings
    /// What the tables must have by now.
    let rows: any RowSink
    var row = TableRow()

    // The chain.
    private(set) var head: LogHead?
    private(set) var time = Timestamp.min
    private(set) var position = LastNumbers()
    private(set) var ledger: BlockRows.LedgerRow?
    private(set) var closedThrough: Timestamp = -1
    /// The time of the first block.
    private var began = Timestamp.min
    /// The end of the last period that was closed by name.
    private var lastClosing: Timestamp = -1
    /// The version of the last catalog that decisions follow.
    private var catalogVersion: Int64 = 0
    /// Why nothing can be computed any more.
    private(set) var isBroken = false

    // What blocks name by numbers.
    private(set) var currencies: [CurrencyCode] = []
    private var actors: Set<String> = []
    private var headers: Set<Digest> = []
    private var names: [Fingerprint: PlayerID] = [:]
    private(set) var erased: Set<PlayerID> = []
    /// As they stand in the log, by account from 1.
    private(set) var accountNames: [String?] = []
    /// Accounts whose names were erased from the block that is given here, and which no block erased that was applied.
    private(set) var nameless: [PlayerID: BlockNumber] = [:]
    /// Accounts whose names the last block that has rows erased: it may have been the last before a crash.
    private var lastErasures: [PlayerID] = []

    // The books.
    var lots: [LotBook] = []
    /// The place of a lot by its transfer from 1; -1 for transfers that open none.
    var lotPlaces: [Int32] = []
    var wallets: [WalletBook] = []
    var walletPlaces: [Int64: Int] = [:]
    /// What can go back of each transfer that spent or set aside, and into which lot, by transfer from 1.
    var returnable: [Int64] = []
    var drawnLots: [LotID] = []
    /// Whether a transfer goes on with what the one before it began, by transfer from 1.
    var continues: [Bool] = []
    /// What the transfer before moved.
    var last: (debit: AccountKind, credit: AccountKind) = (.wallet, .wallet)
    var holds: [TransferID: HoldBook] = [:]
    var keyBook = KeyBook()
    /// By currency, class of lots and kind of account: ``total(_:_:_:)``.
    var totals: [Totals.Turnover] = []
    /// When the first of the lots expired that entries of the kind expiry emptied, since the last transfer after which
    /// the tables remember that.
    var firstExpired: Timestamp?
    var purchases: [TransactionID: PurchaseBook] = [:]
    /// Those without an account, as their rows were.
    var unassigned: [TransactionID: Unassigned] = [:]
    /// The links of each token, the first one first.
    var links: [PlayerID: [LinkBook]] = [:]
    /// Of each account the tokens that were ever linked to it.
    var tokens: [PlayerID: [PlayerID]] = [:]
    /// Of the block's entries that links made: the token of each.
    var linkedBy: [EntryID: PlayerID] = [:]
    private var notifications: Set<Fingerprint> = []
    /// The purchase of each CONSUMPTION_REQUEST, by the notification's number.
    private var requests: [Int64: TransactionID] = [:]
    /// How the last call ended by which Apple was told something.
    private var calls: [CallBook: AppStoreCall.End] = [:]
    private var keys: Set<Fingerprint> = []

    struct Unassigned {
        var row: BlockRows.PurchaseRow
        var first: FirstWord
        var block: BlockNumber
    }

    /// What was said of a purchase with its own row.
    struct FirstWord {
        /// The number of the JWS; 0 where nobody signed it.
        var evidence: EvidenceID
        var signedDate: Timestamp
        var revoked: Int64
        /// Of a JWS that revokes something: when the App Store took it back.
        var revocationDate: Timestamp?
        var time: Timestamp
    }

    /// What Apple is told once.
    private struct CallBook: Hashable {
        var transaction: TransactionID
        var kind: AppStoreCall.Kind
        var notification: Int64?
    }

    init(hash: @escaping HashFunction, findings: Findings, rows: any RowSink) {
        self.hash = hash
        self.findings = findings
        self.rows = rows
    }

    /// Begins behind a block that is not there: of those behind it the chain is followed, and nothing is computed.
    func begin(behind base: LogHead) {
        head = base
        isBroken = true
    }

    func fault(_ block: BlockNumber, _ words: String) { findings.add(block: block, words) }

    func expect(_ holds: Bool, _ block: BlockNumber, _ words: @autoclosure () -> String) {
        if !holds { fault(block, words()) }
    }

    /// Goes on behind blocks that are lost: the chain, and nothing else.
    func pass(through lost: BlockNumber) {
        if !isBroken {
            isBroken = true
            fault(
                lost,
                "what follows from it cannot be computed again: of later blocks the files, the chain and the "
                    + "signatures are checked")
        }
        head = LogHead(number: lost, term: head?.term ?? 1, hash: .zero)
    }

    /// Goes on by a block.
    func apply(_ checked: CheckedBlock) {
        let sealed = checked.sealed
        follow(sealed)
        guard let block = checked.block else { return pass(through: sealed.number) }
        expect(block.time >= time, block.number, "its time is earlier than that of the block before")
        time = max(time, block.time)
        if block.number == 1 { began = block.time }
        if isBroken { return }
        number(block)
        name(block.rows, block, areNamesRead: checked.areNamesRead)
        link(block)
        record(block)
        if !isBroken { post(block, checked.answers) }
        if isBroken { return }
        checkPurchases(block)
        checkLinks(block)
        checkConsents(block, checked.answers)
        checkAdjustments(block)
        checkImports(block, checked.answers)
        note(block, checked.answers)
        checkCalls(block)
        close(block)
        note(catalogsOf: block)
        position = block.position
        add(sealed, block)
    }

    private func follow(_ sealed: SealedBlock) {
        let number = sealed.number
        expect(number == (head?.number ?? 0) + 1, number, "it follows block \(head?.number ?? 0)")
        let isAfterLoss = head.map { $0.hash == .zero } ?? false
        expect(
            isAfterLoss || sealed.previous == head?.hash ?? .zero, number,
            "it does not continue the block before it, by its hash")
        expect(sealed.term >= max(head?.term ?? 1, 1), number, "its term is less than that of the block before")
        head = sealed.head
    }

    /// Each number of the position is that of the block before, and the count of the rows that the block adds.
    private func number(_ block: Block) {
        let rows = block.rows
        var expected = position
        expected.currency &+= Int64(rows.currencies.count)
        expected.actor &+= Int64(rows.actors.count)
        expected.account &+= Int64(rows.accounts.count)
        expected.header &+= Int64(rows.headers.count)
        expected.entry &+= Int64(rows.entries.count)
        expected.transfer &+= Int64(rows.transfers.count)
        expected.evidence &+= Int64(rows.evidence.count)
        expected.assignment &+= Int64(rows.assignments.count)
        expected.notification &+= Int64(rows.notifications.count)
        expected.request &+= Int64(rows.requests.count)
        if let last = rows.entries.last { expected.time = last.time }
        expect(expected == block.position, block.number, "its numbers do not follow those of the block before")
        if expected != block.position { isBroken = true }
    }

    /// Says why nothing can be computed from here on.
    func breakOff(_ block: BlockNumber, _ words: String) {
        fault(block, words)
        isBroken = true
    }

    // MARK: Names

    private func name(_ rows: BlockRows, _ block: Block, areNamesRead: Bool) {
        let number = block.number
        if let row = rows.ledger { ledger = row }
        for row in rows.currencies {
            expect(!currencies.contains(row.code), number, "currency \(row.code) is numbered twice")
            currencies.append(row.code)
            totals += Array(repeating: Totals.Turnover(), count: 2 * AccountKind.allCases.count)
        }
        for row in rows.actors {
            expect(actors.insert(row.name).inserted, number, "actor \(row.id) has another's name")
        }
        if !rows.isEmpty {
            for account in lastErasures where accountNames[Int(account) - 1] != nil {
                fault(number, "account \(account) was erased before it, and its name is still there")
            }
            lastErasures = []
        }
        for row in rows.erasures {
            guard row.account >= 1, row.account <= block.position.account else {
                fault(number, "it erases the name of account \(row.account), which there is not")
                continue
            }
            expect(erased.insert(row.account).inserted, number, "account \(row.account) is erased twice")
            lastErasures.append(row.account)
            nameless[row.account] = nil
        }
        for row in rows.accounts {
            accountNames.append(row.name?.text)
            if row.name == nil, areNamesRead, !erased.contains(row.id) { nameless[row.id] = number }
            guard let name = row.name, !erased.contains(row.id) else { continue }
            if let other = names.updateValue(row.id, forKey: Fingerprint(name.text)), !erased.contains(other) {
                fault(number, "account \(row.id) has the name of account \(other)")
            }
        }
        for row in rows.headers {
            let digest = Digest(of: Array(row.text), hash)
            expect(headers.insert(digest).inserted, number, "header \(row.id) is another's again")
        }
        if !block.skippedSections.isEmpty {
            fault(number, "it has rows of a later version, which this one cannot compute")
            isBroken = true
        }
    }

    /// Whether an account's name is gone from the log though no block that was applied says so: a later one does.
    func isNameUnknown(_ account: PlayerID) -> Bool {
        accountNames[Int(account) - 1] == nil && !erased.contains(account)
    }

    /// Forgets the names that a block does not have any more, which it had when it was applied.
    func forgetNames(goneFrom block: CheckedBlock) {
        for row in block.block?.rows.accounts ?? [] where row.name == nil && row.id <= accountNames.count {
            accountNames[Int(row.id) - 1] = nil
        }
    }

    /// Accounts of which nobody can say what name the tables must have.
    var unknownNames: Set<PlayerID> {
        Set(stride(from: PlayerID(1), through: PlayerID(accountNames.count), by: 1).filter(isNameUnknown))
    }

    // MARK: Notifications, keys, periods

    private func note(_ block: Block, _ answers: [KeyedAnswer?]) {
        for row in block.rows.notifications {
            expect(
                notifications.insert(Fingerprint(row.uuid)).inserted, block.number,
                "notification \(row.uuid) is kept twice")
            if let transaction = row.transaction {
                expect(
                    purchases[transaction] != nil, block.number,
                    "notification \(row.uuid) carries purchase \(transaction), which is not recorded")
                if row.type == "CONSUMPTION_REQUEST" { requests[row.id] = transaction }
            }
        }
        for (row, answer) in zip(block.rows.requests, answers) {
            expect(keys.insert(Fingerprint(row.key.text)).inserted, block.number, "key \(row.key) has two answers")
            guard let answer else {
                fault(block.number, "the answer of key \(row.key) cannot be read")
                continue
            }
            expect(answer.entry == row.entry, block.number, "key \(row.key) and its answer name different entries")
            expect(
                answer.encoded == Array(row.answer), block.number,
                "the answer of key \(row.key) is not in its canonical form")
        }
    }

    /// Apple is told of what is recorded, and nothing once more that it took or that came too late.
    private func checkCalls(_ block: Block) {
        for row in block.rows.calls {
            expect(
                purchases[row.transaction] != nil, block.number,
                "Apple was told of purchase \(row.transaction), which is not recorded")
            if let notification = row.notification {
                expect(
                    requests[notification] == row.transaction, block.number,
                    "Apple was told how much of purchase \(row.transaction) was consumed, and did not ask by "
                        + "notification \(notification)")
            }
            expect(
                (row.notification != nil) == (row.kind == .consumption), block.number,
                "what Apple was told of purchase \(row.transaction) answers what it cannot answer")
            let key = CallBook(transaction: row.transaction, kind: row.kind, notification: row.notification)
            if let former = calls.updateValue(row.end, forKey: key) {
                expect(
                    !former.isFinal && former != row.end, block.number,
                    "what Apple was told of purchase \(row.transaction) is recorded once more")
            }
        }
    }

    private func close(_ block: Block) {
        if let closed = block.rows.closedThrough {
            expect(closed > closedThrough, block.number, "it closes a period that was closed before")
            expect(
                position.entry == 0 || closed >= position.time, block.number,
                "it closes a period that ends before the last entry")
            closedThrough = max(closedThrough, closed)
        }
        for row in block.rows.closings {
            expect(
                row.through > lastClosing && row.through >= began, block.number,
                "it closes by name the period through \(row.through), which is closed, or before the ledger began")
            expect(
                row.through <= row.time, block.number,
                "the period through \(row.through) was closed before it was over")
            expect(
                closedThrough >= row.through || block.position.time > row.through, block.number,
                "the period through \(row.through) is closed by name, and open")
            lastClosing = max(lastClosing, row.through)
            emit(.closing) { line in
                line.add(row.through)
                line.endKey()
                line.add(block.number)
                line.add(row.time)
                line.add(row.actor)
            }
        }
    }

    /// Each catalog is another than the one before, by a version of its own.
    private func note(catalogsOf block: Block) {
        for row in block.rows.catalogs {
            expect(
                row.version == catalogVersion + 1, block.number,
                "it follows version \(row.version) of the catalog after version \(catalogVersion)")
            catalogVersion = row.version
            emit(.catalog) { line in
                line.add(row.version)
                line.endKey()
                line.add(row.digest)
                line.add(row.time)
                line.add(block.number)
            }
        }
    }

    // MARK: The end

    /// What only the whole of the books can show.
    /// - Parameter erasedLater: accounts whose names are erased by blocks behind those that were applied.
    func finish(erasedLater: Set<PlayerID> = []) {
        guard let head, !isBroken else { return }
        for (account, block) in nameless.sorted(by: { $0.key < $1.key }) where !erasedLater.contains(account) {
            fault(
                block,
                "the name of account \(account) is erased from it, and no block up to \(head.number) erases that name")
        }
        var sums = wallets.map { WalletBook(account: $0.account, currency: $0.currency) }
        for lot in lots {
            guard let place = walletPlaces[Replay.key(owner(of: lot.account), lot.currency)] else { continue }
            sums[place].available &+= lot.remaining
            sums[place].held &+= lot.held
            sums[place].debt &+= lot.owed
            if lot.lotClass == .paid {
                sums[place].paid &+= lot.remaining
                sums[place].heldPaid &+= lot.held
            }
        }
        var held: [Int64: Int64] = [:]
        for hold in holds.values where hold.state == .open {
            held[Replay.key(owner(of: hold.row.account), hold.row.currency), default: 0] &+= hold.row.amount
        }
        for (wallet, sum) in zip(wallets, sums) {
            let isSum =
                wallet.available == sum.available && wallet.paid == sum.paid && wallet.held == sum.held
                && wallet.heldPaid == sum.heldPaid && wallet.debt == sum.debt
            let words = "the wallet of account \(wallet.account), currency \(code(wallet.currency))"
            expect(isSum, head.number, words + " is not the sum of its lots")
            expect(
                held[Replay.key(wallet.account, wallet.currency)] ?? 0 == wallet.held, head.number,
                words + " has not held what its open holds set aside")
        }
        for (index, code) in currencies.enumerated() {
            var balance: Int128 = 0
            for kind in AccountKind.allCases {
                let turnover = turnover(CurrencyID(index + 1), kind)
                balance += turnover.balance
            }
            expect(balance == 0, head.number, "the accounts of \(code) do not add up to zero, but to \(balance)")
        }
    }

    func code(_ currency: CurrencyID) -> String {
        currency >= 1 && Int(currency) <= currencies.count ? currencies[Int(currency) - 1].text : "\(currency)"
    }

    static func key(_ account: PlayerID, _ currency: CurrencyID) -> Int64 { account << 8 | Int64(currency) }

    /// The place of a turnover of ``totals``.
    static func total(_ currency: CurrencyID, _ lotClass: LotClass, _ kind: AccountKind) -> Int {
        ((Int(currency) - 1) * 2 + Int(lotClass.rawValue) - 1) * AccountKind.allCases.count + Int(kind.rawValue) - 1
    }

    /// Of paid and free lots together.
    func turnover(_ currency: CurrencyID, _ kind: AccountKind) -> Totals.Turnover {
        let (paid, free) = (totals[Replay.total(currency, .paid, kind)], totals[Replay.total(currency, .free, kind)])
        return Totals.Turnover(debits: paid.debits &+ free.debits, credits: paid.credits &+ free.credits)
    }
}
