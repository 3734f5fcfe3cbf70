import Ledger

/// Reads the journal's rows as they are appended, keeps books of its own from the transfers alone, and names whatever
/// does not hold: the invariants of the design, the rows' order and completeness, and the wallets that deciding left.
struct Auditor {
    private struct LotBook {
        var player: PlayerID
        var currency: CurrencyID
        var isPaid: Bool
        var granted: Int64
        var expiresAt: Timestamp?
        var remaining: Int64 = 0
        var held: Int64 = 0
        var spent: Int64 = 0
        var expired: Int64 = 0
        var refunded: Int64 = 0
        var owed: Int64 = 0
        var writtenOff: Int64 = 0
        var adjusted: Int64 = 0
    }

    private struct WalletBook {
        var player: PlayerID
        var currency: CurrencyID
        var lots: [LotID] = []
        var lastTransfer: TransferID = 0
        var version: Int64 = 0
        var lastEntry: EntryID = 0
    }

    /// What can still be given back of a spend, or taken out of a hold, by its lots.
    private struct ReferredBook {
        var player: PlayerID
        var currency: CurrencyID
        var isHold: Bool
        var parts: [LotID: Int64] = [:]
    }

    private struct PurchaseBook {
        var quantityGrants: [PurchaseRegister.Grant]
        var lots: [LotID] = []
        var newest: (signedDate: Timestamp, revoked: Int64) = (Timestamp.min, 0)
        var isAssigned: Bool
    }

    /// By reference, so that checking changes nothing of the auditor itself.
    private final class Findings {
        var problems: [String] = []
    }

    private let findings = Findings()
    var problems: [String] { findings.problems }
    private var last = LastNumbers()
    private var entry: Entry?
    private var accounts: [LedgerAccount: Int128] = [:]
    private var turnovers: [LedgerAccount: Totals.Turnover] = [:]
    private var lots: [LotID: LotBook] = [:]
    private var wallets: [LedgerAccount: WalletBook] = [:]
    private var purchases: [TransactionID: PurchaseBook] = [:]
    private var holds: [TransferID: BlockRows.HoldRow] = [:]
    private var referred: [TransferID: ReferredBook] = [:]
    /// The first transfers of the spends, captures and holds that keys name, and the one being read.
    private var starts: Set<TransferID> = []
    private var current: TransferID = 0
    private var keys: Set<RequestKey> = []
    /// Links of the batch that no transfer has shown yet, and all tokens that were linked.
    private var pending: [BlockRows.LinkRow] = []
    private var linked: Set<PlayerID> = []
    private var codes: Set<CurrencyCode> = []
    private var names: Set<AccountName> = []
    private var notifications: Set<String> = []

    private func expect(_ holds: Bool, _ problem: @autoclosure () -> String) {
        if !holds { findings.problems.append(problem()) }
    }

    /// Rows just appended, and the books that appended them.
    mutating func read(_ rows: BlockRows, _ books: Books, names: (PlayerID) -> AccountName) {
        for row in rows.currencies {
            last.currency += 1
            expect(Int64(row.id) == last.currency, "currency \(row.code) is number \(row.id)")
            expect(codes.insert(row.code).inserted, "currency \(row.code) is numbered twice")
        }
        for row in rows.actors {
            last.actor += 1
            expect(row.id == last.actor, "actor \(row.name) is number \(row.id)")
        }
        for row in rows.headers {
            last.header += 1
            expect(row.id == last.header, "header \(row.id) follows \(last.header - 1)")
        }
        for row in rows.accounts {
            last.account += 1
            expect(row.id == last.account, "account \(row.id) follows \(last.account - 1)")
            expect(
                row.name.map { self.names.insert($0).inserted } == true,
                "account \(row.id) is made twice, or has no name")
        }
        for answer in rows.requests.compactMap({ KeyedAnswer(encoded: $0.answer, name: names) }) {
            starts.formUnion(answer.spends.map(\.spend.trace.first) + answer.holds.map(\.hold.trace.first))
        }
        for row in rows.holds {
            expect(holds[row.id] == nil, "hold \(row.id) is made twice")
            holds[row.id] = row
            let sum = rows.transfers.filter { $0.entry == row.entry && $0.credit.kind == .held }
            expect(sum.contains { $0.id == row.id }, "hold \(row.id) has no first transfer")
            let entry = rows.entries.first { $0.id == row.entry }
            expect(entry.map { $0.time < row.expiresAt } == true, "hold \(row.id) expires before it is made")
        }
        let opened = Dictionary(uniqueKeysWithValues: rows.lots.map { ($0.id, $0) })
        expect(
            rows.lots.map(\.id) == rows.transfers.filter { $0.lot == $0.id }.map(\.id),
            "what is said of lots is not said of those that were opened")
        readPurchases(rows)
        pending = rows.links.filter { linked.insert($0.token).inserted }
        let touched = readEntries(rows, opened)
        while !pending.isEmpty { link() }
        for row in rows.links {
            let kind = row.entry.map { entry in rows.entries.first { $0.id == entry }?.kind }
            expect(kind == nil || kind == .link, "the link of \(row.token) names an entry of another kind")
            expect(
                wallets.values.allSatisfy { $0.player != row.token || $0.lots.isEmpty },
                "account \(row.token) is linked and has lots")
        }
        readRequests(rows, names)
        let told = rows.evidence.map(\.transaction) + rows.statements.map(\.transaction)
        for transaction in Set(told + rows.entries.compactMap(\.transaction)) {
            check(transaction)
        }
        for wallet in touched { check(wallet, books) }
        checkTotals(books)
        last.time = max(last.time, books.position.time)
        expect(last == books.position, "the journal is at \(last), the books say \(books.position)")
    }

    /// A link moves every lot and every hold of its token.
    private mutating func link() {
        let row = pending.removeFirst()
        for (key, wallet) in wallets where wallet.player == row.token && !wallet.lots.isEmpty {
            let account = LedgerAccount(.wallet, wallet.currency, player: row.account)
            for lot in wallet.lots { lots[lot]?.player = row.account }
            var other = wallets[account] ?? WalletBook(player: row.account, currency: wallet.currency)
            other.lots += wallet.lots
            wallets[account] = other
            wallets[key]?.lots = []
        }
        for (id, hold) in holds where hold.account == row.token { holds[id]?.account = row.account }
        for (id, book) in referred where book.player == row.token { referred[id]?.player = row.account }
    }

    private mutating func readPurchases(_ rows: BlockRows) {
        var imported: Set<TransactionID> = []
        for row in rows.purchases {
            let id = row.facts.transaction
            expect(purchases[id] == nil, "purchase \(id) is recorded twice")
            let isUsedUp = row.facts.source == .imported && row.grants.isEmpty
            expect(
                (row.account == nil) == (row.entry == nil) || isUsedUp && row.account != nil && row.entry == nil,
                "purchase \(id) has an account or an entry, not both")
            purchases[id] = PurchaseBook(quantityGrants: row.grants, isAssigned: row.account != nil)
            if row.evidence == 0 {
                let first = rows.statements.first { $0.transaction == id }
                expect(row.facts.source != .appStore && row.account != nil, "purchase \(id) has no evidence")
                expect(first != nil && first?.entry == row.entry, "purchase \(id) and its statement differ")
                if row.facts.source == .imported {
                    // Older than whatever Apple signed of it, also in this block.
                    purchases[id]?.newest = (row.facts.purchaseDate, first?.revoked ?? 0)
                    imported.insert(id)
                }
                continue
            }
            let first = rows.evidence.first { $0.id == row.evidence }
            expect(first?.isFirst == true && first?.transaction == id, "purchase \(id) names no first evidence")
            expect(first?.entry == row.entry, "purchase \(id) and its evidence name different entries")
        }
        for row in rows.evidence {
            last.evidence += 1
            expect(row.id == last.evidence, "evidence \(row.id) follows \(last.evidence - 1)")
            guard let book = purchases[row.transaction] else {
                findings.problems.append("evidence \(row.id) is of no purchase")
                continue
            }
            expect(
                row.isFirst == (book.newest.signedDate == Timestamp.min), "evidence \(row.id) is wrongly the first")
            expect((row.signedDate, row.revoked) > book.newest, "evidence \(row.id) says nothing new")
            purchases[row.transaction]?.newest = (row.signedDate, row.revoked)
        }
        for row in rows.statements where imported.remove(row.transaction) == nil {
            let former = purchases[row.transaction]?.newest.signedDate ?? .max
            expect(row.time > former, "a statement of \(row.transaction) says nothing new")
            purchases[row.transaction]?.newest = (row.time, row.revoked)
        }
        for row in rows.assignments {
            last.assignment += 1
            expect(row.id == last.assignment, "assignment \(row.id) follows \(last.assignment - 1)")
            expect(purchases[row.transaction]?.isAssigned == false, "purchase \(row.transaction) had an account")
            purchases[row.transaction]?.isAssigned = true
            let entry = rows.entries.first { $0.id == row.entry }
            expect(entry?.transaction == row.transaction, "assignment \(row.id) names another purchase's entry")
        }
    }

    private mutating func readEntries(_ rows: BlockRows, _ opened: [LotID: BlockRows.LotRow]) -> Set<LedgerAccount> {
        var touched: Set<LedgerAccount> = []
        var transfers = rows.transfers[...]
        for entry in rows.entries {
            last.entry += 1
            expect(entry.id == last.entry, "entry \(entry.id) follows \(last.entry - 1)")
            expect(entry.time >= last.time, "entry \(entry.id) is earlier than the one before")
            expect(entry.firstTransfer == last.transfer + 1, "entry \(entry.id) names another's transfer")
            last.time = entry.time
            let own = transfers.prefix { $0.entry == entry.id }
            expect(!own.isEmpty, "entry \(entry.id) has no transfer")
            for transfer in own { touched.insert(read(transfer, of: entry, opened)) }
            transfers = transfers.dropFirst(own.count)
        }
        expect(transfers.isEmpty, "transfer \(transfers.first?.id ?? 0) belongs to no entry of its batch")
        return touched
    }

    private mutating func read(
        _ transfer: Transfer, of entry: Entry, _ opened: [LotID: BlockRows.LotRow]
    ) -> LedgerAccount {
        last.transfer += 1
        let id = transfer.id
        let amount = transfer.amount
        expect(id == last.transfer, "transfer \(id) follows \(last.transfer - 1)")
        expect(amount >= 1 && amount <= Limits.amountMax, "transfer \(id) moves \(amount)")
        expect(transfer.debit.currency == transfer.credit.currency, "transfer \(id) changes the currency")
        if transfer.lot == id { open(transfer, entry, opened[id]) }
        while let lot = lots[transfer.lot], lot.player != transfer.player, !pending.isEmpty { link() }
        guard let lot = lots[transfer.lot] else {
            findings.problems.append("transfer \(id) names a lot that nothing opened")
            return transfer.credit
        }
        for account in [transfer.debit, transfer.credit] {
            expect(account.player == (account.kind.isPersonal ? lot.player : 0), "transfer \(id) is of two players")
        }
        expect(lot.currency == transfer.debit.currency, "transfer \(id) is not of its lot's currency")
        accounts[transfer.debit, default: 0] += Int128(amount)
        accounts[transfer.credit, default: 0] -= Int128(amount)
        turnovers[LedgerAccount(transfer.debit.kind, lot.currency, player: 0), default: .init()].debits += Int128(
            amount)
        turnovers[LedgerAccount(transfer.credit.kind, lot.currency, player: 0), default: .init()].credits += Int128(
            amount)
        move(transfer)
        refer(transfer, entry)

        let wallet = LedgerAccount(.wallet, lot.currency, player: lot.player)
        var book = wallets[wallet] ?? WalletBook(player: lot.player, currency: lot.currency)
        expect(transfer.player == lot.player, "transfer \(id) names another player than its lot's")
        if transfer.lot == id { book.lots.append(id) }
        expect(transfer.previous == book.lastTransfer, "transfer \(id) does not follow its wallet's last")
        book.lastTransfer = id
        if (transfer.debit.kind.isPersonal || transfer.credit.kind.isPersonal) && book.lastEntry != entry.id {
            book.version += 1
            book.lastEntry = entry.id
        }
        wallets[wallet] = book
        return wallet
    }

    private mutating func open(_ transfer: Transfer, _ entry: Entry, _ row: BlockRows.LotRow?) {
        let isPaid = transfer.debit.kind == .purchased || transfer.debit.kind == .imported && entry.transaction != nil
        let isAdjusted = transfer.debit.kind == .adjusted
        let expiresAt = row?.expiresAt
        expect(isPaid || isAdjusted || row?.lotClass == .free, "lot \(transfer.id) was given, and is of class paid")
        expect(row?.lotClass == .paid || row?.price == 0, "lot \(transfer.id) is free, and has a price")
        expect(
            isPaid || isAdjusted || transfer.debit.kind == .granted || transfer.debit.kind == .imported,
            "lot \(transfer.id) is opened by no credit")
        expect(isPaid == (entry.transaction != nil), "lot \(transfer.id) is paid without a purchase, or free with one")
        lots[transfer.id] = LotBook(
            player: transfer.credit.player, currency: transfer.credit.currency, isPaid: row?.lotClass == .paid,
            granted: transfer.amount,
            expiresAt: expiresAt)
        expect(!isPaid || expiresAt == nil, "lot \(transfer.id) is paid and expires")
        if let transaction = entry.transaction { purchases[transaction]?.lots.append(transfer.id) }
    }

    private mutating func move(_ transfer: Transfer) {
        let amount = transfer.amount
        let id = transfer.lot
        let paysDebt = transfer.debit.kind == .wallet && transfer.credit.kind == .receivable
        let movesDebt =
            transfer.debit.kind == .moved && transfer.credit.kind == .receivable
            || transfer.debit.kind == .receivable && transfer.credit.kind == .moved
        expect(
            (paysDebt || movesDebt) == (transfer.debtLot != nil),
            "transfer \(transfer.id) names a debt that it does not pay")
        switch (transfer.debit.kind, transfer.credit.kind) {
        case (.purchased, .wallet), (.granted, .wallet), (.imported, .wallet):
            expect(id == transfer.id, "transfer \(transfer.id) credits without a new lot")
            lots[id]?.remaining += amount
        case (.refunded, .wallet):
            lots[id]?.remaining += amount
            lots[id]?.refunded -= amount
        case (.wallet, .refunded):
            lots[id]?.remaining -= amount
            lots[id]?.refunded += amount
        case (.wallet, .spent):
            lots[id]?.remaining -= amount
            lots[id]?.spent += amount
        case (.spent, .wallet):
            lots[id]?.remaining += amount
            lots[id]?.spent -= amount
        case (.wallet, .held):
            lots[id]?.remaining -= amount
            lots[id]?.held += amount
        case (.held, .wallet):
            lots[id]?.remaining += amount
            lots[id]?.held -= amount
        case (.held, .spent):
            lots[id]?.held -= amount
            lots[id]?.spent += amount
        case (.wallet, .expired):
            lots[id]?.remaining -= amount
            lots[id]?.expired += amount
        case (.receivable, .refunded):
            lots[id]?.owed += amount
            lots[id]?.refunded += amount
        case (.wallet, .receivable):
            lots[id]?.remaining -= amount
            if let debt = transfer.debtLot { lots[debt]?.owed -= amount }
        case (.writtenOff, .refunded):
            lots[id]?.writtenOff += amount
            lots[id]?.refunded += amount
        case (.refunded, .writtenOff):
            lots[id]?.writtenOff -= amount
            lots[id]?.refunded -= amount
        case (.adjusted, .wallet): lots[id]?.remaining += amount
        case (.wallet, .adjusted):
            lots[id]?.remaining -= amount
            lots[id]?.adjusted += amount
        case (.wallet, .moved): lots[id]?.remaining -= amount
        case (.moved, .wallet): lots[id]?.remaining += amount
        case (.held, .moved): lots[id]?.held -= amount
        case (.moved, .held): lots[id]?.held += amount
        case (.moved, .receivable): lots[id]?.owed -= amount
        case (.receivable, .moved): lots[id]?.owed += amount
        case (let debit, let credit):
            findings.problems.append("transfer \(transfer.id) debits \(debit.name) and credits \(credit.name)")
        }
    }

    /// What refers to a spend or a hold takes no more out of it than is there; an expired lot gives nothing to spend.
    private mutating func refer(_ transfer: Transfer, _ entry: Entry) {
        let id = transfer.id
        let (debit, credit) = (transfer.debit.kind, transfer.credit.kind)
        let isChosen = debit == .wallet && (credit == .spent || credit == .held)
        expect(
            (transfer.spendOrder != nil) == isChosen, "transfer \(id) names an order without a choice, or none with one"
        )
        let refers = debit == .spent || debit == .held && credit != .moved
        expect((transfer.reference != nil) == refers, "transfer \(id) refers to nothing, or needs not")
        if let reference = transfer.reference {
            guard var book = referred[reference] else {
                findings.problems.append("transfer \(id) refers to \(reference), which is no spend or hold")
                return
            }
            expect(book.isHold == (debit == .held), "transfer \(id) refers to a spend as a hold, or a hold as a spend")
            book.parts[transfer.lot, default: 0] -= transfer.amount
            expect(book.parts[transfer.lot]! >= 0, "transfer \(id) gives back more than \(reference) drew")
            referred[reference] = book
        }
        let expiresAt = lots[transfer.lot]?.expiresAt ?? Timestamp.max
        if isChosen { expect(expiresAt > entry.time, "transfer \(id) draws a lot that has expired") }
        if credit == .expired { expect(expiresAt <= entry.time, "transfer \(id) expires before its time") }
        guard credit == .spent || credit == .held && debit != .moved, let lot = lots[transfer.lot] else { return }
        if starts.contains(id) {
            current = id
            referred[id] = ReferredBook(player: lot.player, currency: lot.currency, isHold: credit == .held)
        }
        expect(referred[current]?.player == lot.player, "transfer \(id) is part of no spend, hold or capture")
        expect(referred[current]?.isHold == (credit == .held), "transfer \(id) is of another kind than its first")
        referred[current]?.parts[transfer.lot, default: 0] += transfer.amount
    }

    private mutating func readRequests(_ rows: BlockRows, _ names: (PlayerID) -> AccountName) {
        for row in rows.requests {
            last.request += 1
            expect(row.id == last.request, "request \(row.id) follows \(last.request - 1)")
            expect(keys.insert(row.key).inserted, "key \(row.key) has two answers")
            let answer = KeyedAnswer(encoded: row.answer, name: names)
            expect(answer != nil, "the answer of key \(row.key) cannot be read")
            expect(answer?.entry == row.entry, "key \(row.key) and its answer name different entries")
            let entry = rows.entries.first { $0.id == row.entry }
            expect(entry?.key == (row.entry == nil ? nil : row.key), "the entry of key \(row.key) is another's")
        }
        for row in rows.notifications {
            last.notification += 1
            expect(row.id == last.notification, "notification \(row.id) follows \(last.notification - 1)")
            expect(notifications.insert(row.uuid).inserted, "notification \(row.uuid) is kept twice")
        }
    }

    /// What a purchase has posted is what its newest JWS says.
    private func check(_ transaction: TransactionID) {
        guard let book = purchases[transaction] else {
            findings.problems.append("purchase \(transaction) posts but is not recorded")
            return
        }
        expect(
            book.lots.count == (book.isAssigned ? book.quantityGrants.count : 0),
            "purchase \(transaction) has \(book.lots.count) lots")
        for (grant, id) in zip(book.quantityGrants, book.lots) {
            guard let lot = lots[id] else { continue }
            let left = Int128(grant.units) * Int128(100_000 - book.newest.revoked)
            let standing = Int64((left + 99_999) / 100_000)
            expect(lot.granted == grant.units && lot.currency == grant.currency, "lot \(id) is not what was granted")
            expect(
                lot.granted - lot.refunded == standing,
                "purchase \(transaction) posted \(lot.granted - lot.refunded) where \(standing) stands")
        }
    }

    private func check(_ account: LedgerAccount, _ books: Books) {
        guard let book = wallets[account],
            let wallet = books.players[book.player]?.wallets.first(where: { $0.currency == book.currency })
        else {
            findings.problems.append("the wallet \(account.number) is not in the books")
            return
        }
        let own = book.lots.compactMap { id in lots[id].map { (id: id, book: $0) } }
        let available = own.reduce(0) { $0 + $1.book.remaining }
        let debt = own.reduce(0) { $0 + $1.book.owed }
        let paid = own.reduce(0) { $0 + ($1.book.isPaid ? $1.book.remaining : 0) }
        let held = own.reduce(0) { $0 + $1.book.held }
        let open = holds.values.filter { $0.account == book.player && $0.currency == book.currency }.compactMap { row in
            referred[row.id].map { (row, $0.parts.values.reduce(0, +)) }
        }.filter { $0.1 > 0 }
        expect(open.reduce(0) { $0 + $1.1 } == held, "held of wallet \(account.number) is not the sum of its holds")
        for (row, left) in open { expect(left == row.amount, "hold \(row.id) is open, but not whole") }
        let kept = books.players[book.player]?.holds.filter { $0.currency == book.currency } ?? []
        expect(Set(kept.map(\.id)) == Set(open.map(\.0.id)), "the holds of wallet \(account.number) are others")
        let receivable = accounts[LedgerAccount(.receivable, book.currency, player: book.player)] ?? 0
        expect((accounts[account] ?? 0) == -Int128(available), "wallet \(account.number) is not the sum of its lots")
        expect(receivable == Int128(debt), "receivable of wallet \(account.number) is not the sum of what its lots owe")
        expect(
            available >= 0 && (available == 0 || debt == 0),
            "wallet \(account.number) has \(available) and owes \(debt)")
        expect(
            available + held <= Limits.amountMax && debt <= Limits.amountMax, "wallet \(account.number) left its bounds"
        )
        let expected = Balance(available: available, held: held, debt: debt, paid: paid, version: book.version)
        expect(wallet.balance == expected, "wallet \(account.number) says \(wallet.balance), its journal \(expected)")
        expect(wallet.lastTransfer == book.lastTransfer, "wallet \(account.number) lost the head of its chain")
        expect(wallet.open.map(\.id) == wallet.open.map(\.id).sorted(), "wallet \(account.number) is out of order")
        for (id, lot) in own {
            let isOpen = lot.remaining > 0 || lot.owed > 0 || lot.held > 0
            let isKept = wallet.open.contains { $0.id == id }
            expect(isOpen == isKept || isOpen && !wallet.hasAllLots, "lot \(id) is wrongly open or closed")
            expect(
                lot.remaining >= 0 && lot.held >= 0 && lot.spent >= 0 && lot.expired >= 0 && lot.owed >= 0
                    && lot.writtenOff >= 0 && lot.refunded >= 0
                    && lot.refunded <= lot.granted, "lot \(id) left its bounds")
            guard let kept = wallet.lot(id) else { continue }
            expect(
                [
                    kept.remaining, kept.held, kept.spent, kept.expired, kept.refunded, kept.owed, kept.writtenOff,
                    kept.adjusted,
                ]
                    == [
                        lot.remaining, lot.held, lot.spent, lot.expired, lot.refunded, lot.owed, lot.writtenOff,
                        lot.adjusted,
                    ],
                "lot \(id) is not what its transfers say")
        }
    }

    private func checkTotals(_ books: Books) {
        for number in books.currencies.indices {
            let currency = CurrencyID(number + 1)
            var sum: Int128 = 0
            for kind in AccountKind.allCases {
                let turnover = turnovers[LedgerAccount(kind, currency, player: 0)] ?? Totals.Turnover()
                expect(books.totals[currency, kind] == turnover, "the total of \(kind.name) is not its transfers'")
                sum += turnover.balance
            }
            expect(sum == 0, "currency \(currency) does not balance")
            let moved = turnovers[LedgerAccount(.moved, currency, player: 0)] ?? Totals.Turnover()
            expect(moved.balance == 0, "something of currency \(currency) is on its way for ever")
        }
    }
}
