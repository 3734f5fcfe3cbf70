import Ledger

extension CurrencyCode {
    static let coins = CurrencyCode("coins")!
    static let gems = CurrencyCode("gems")!
    static let tickets = CurrencyCode("tickets")!
}

/// What the ledger must say, by the pages Protocol and Books alone: every lot and every transfer in plain lists, each
/// rule written out in the simplest way, nothing remembered that can be added up. It shares no code with the ledger but
/// the values of requests and answers, and copies itself to undo.
struct World {
    struct Settings {
        var order: SpendOrder
        var isWrittenOff: Bool
    }

    struct Place: Hashable {
        var account: Int
        var currency: CurrencyCode
    }

    struct Lot {
        var id: LotID
        var place: Place
        var transaction: TransactionID?
        var expiresAt: Timestamp?
        var granted: Int64
        var remaining: Int64 = 0
        var held: Int64 = 0
        var spent: Int64 = 0
        var refunded: Int64 = 0
        var owed: Int64 = 0
        var writtenOff: Int64 = 0
        var repaid: Int64 = 0

        /// What was bought has a transaction, at a price that is not zero.
        var isPaid: Bool { transaction != nil }
    }

    /// A transfer.
    struct Line {
        var entry: EntryID
        /// Whose wallet it changes.
        var place: Place
        var lot: Int
        var debit: AccountKind
        var credit: AccountKind
        var units: Int64
        var debtLot: Int?
    }

    struct Entry {
        var id: EntryID
        var time: Timestamp
        var kind: EntryKind
        var key: RequestKey?
        var note: String?
        var transaction: TransactionID?
        var actor: String?
        var firstLine: Int
    }

    struct Part {
        var lot: Int
        var units: Int64
    }

    struct Hold {
        /// The number of its first transfer.
        var first: Int64
        var account: Int
        var currency: CurrencyCode
        var parts: [Part]
        var expiresAt: Timestamp
        var end: Refusal.Reason?
        var amount: Int64 { parts.reduce(0) { $0 + $1.units } }
    }

    /// What an operation left that a later one may name.
    enum Trace {
        /// What of it did not go back, in the order in which it was drawn.
        case spend([Part])
        /// Its place among the holds.
        case hold(Int)
        case nothing
    }

    enum Request: Equatable {
        case one(KeyedOperation)
        case several(Atomic)
        case consent(Consent)
    }

    struct Answered {
        var request: Request
        /// Whom each operation names.
        var accounts: [Int?]
        var outcome: Outcome
        var traces: [Trace]
    }

    /// What somebody said of consumption.
    struct Spoken {
        var account: Int
        var consumption: Bool
        var time: Timestamp
        var actor: String?
    }

    struct Purchase {
        var product: String
        var quantity: Int64
        var grants: [CurrencyAmount]
        var account: Int?
        var signedDate: Timestamp
        var revoked: Int64
        var lots: [Int] = []
        var lastEntry: EntryID?
        /// The first entry that took something of it back.
        var refundedSince: Timestamp?
    }

    static let settings: [CurrencyCode: Settings] = [
        .coins: Settings(order: .oldest, isWrittenOff: true), .gems: Settings(order: .freeFirst, isWrittenOff: false),
        .tickets: Settings(order: .paidFirst, isWrittenOff: false),
    ]
    static let currencies: [CurrencyCode] = [.coins, .gems, .tickets]
    static let products: [String: [(CurrencyCode, Int64)]] = [
        "com.example.game.coins100": [(.coins, 100)], "com.example.game.gems500": [(.gems, 500)],
        "com.example.game.starter": [(.gems, 1_000), (.tickets, 5)],
    ]

    /// By number, from 0.
    var names: [AccountName] = []
    var lots: [Lot] = []
    var lines: [Line] = []
    var entries: [Entry] = []
    var holds: [Hold] = []
    var answers: [RequestKey: Answered] = [:]
    var purchases: [TransactionID: Purchase] = [:]
    var notifications: Set<String> = []
    /// Of each token to whom it was linked, the first one first.
    var links: [Int: [Int]] = [:]
    /// Of each linked token the entry that moved what it had.
    var linkEntries: [Int: EntryID] = [:]
    var consents: [Spoken] = []
    var closedThrough: Timestamp = -1
    var actor: String?
    /// The world before the last block, where one is kept, which keeps none itself.
    var before: [World] = []
    private var isInAtomic = false

    /// Worlds of one history that differ differ in this: a request that was lost and sent again stands at another time,
    /// and what expired of one player is in other lots than what did of another.
    var digest: Int {
        var hasher = Hasher()
        for entry in entries {
            hasher.combine(entry.time)
            hasher.combine(entry.kind)
            hasher.combine(entry.key)
            hasher.combine(entry.transaction)
            hasher.combine(entry.actor)
        }
        hasher.combine(lines.count)
        for line in lines { hasher.combine(line.lot) }
        hasher.combine(names)
        hasher.combine(Set(answers.keys))
        hasher.combine(notifications)
        hasher.combine(links)
        for spoken in consents {
            hasher.combine(spoken.account)
            hasher.combine(spoken.time)
            hasher.combine(spoken.actor)
        }
        hasher.combine(closedThrough)
        for purchase in purchases.sorted(by: { $0.key < $1.key }) {
            hasher.combine(purchase.key)
            hasher.combine(purchase.value.signedDate)
            hasher.combine(purchase.value.revoked)
        }
        return hasher.finalize()
    }

    // MARK: Time

    var lastTime: Timestamp { entries.last?.time ?? 0 }
    func latestTime(_ now: Timestamp) -> Timestamp { max(now, lastTime) }
    func entryTime(_ now: Timestamp) -> Timestamp { max(latestTime(now), closedThrough + 1) }

    mutating func close(through time: Timestamp) {
        if time > closedThrough && time >= lastTime { closedThrough = time }
    }

    // MARK: Accounts and balances

    func account(_ name: AccountName) -> Int? { names.firstIndex(of: name) }

    mutating func open(_ name: AccountName) -> Int {
        if let known = account(name) { return known }
        names.append(name)
        return names.count - 1
    }

    func lots(in place: Place) -> [Int] { lots.indices.filter { lots[$0].place == place } }
    func available(_ place: Place) -> Int64 { lots(in: place).reduce(0) { $0 + lots[$1].remaining } }
    func paid(_ place: Place) -> Int64 { lots(in: place).reduce(0) { $0 + (lots[$1].isPaid ? lots[$1].remaining : 0) } }
    func debt(_ place: Place) -> Int64 { lots(in: place).reduce(0) { $0 + lots[$1].owed } }

    func balance(_ place: Place) -> Balance {
        var balance = Balance()
        for lot in lots(in: place) {
            balance.available += lots[lot].remaining
            if lots[lot].isPaid { balance.paid += lots[lot].remaining }
            balance.held += lots[lot].held
            balance.debt += lots[lot].owed
        }
        var last: EntryID = 0
        for line in lines where line.place == place && line.entry != last && World.changes(line) {
            last = line.entry
            balance.version += 1
        }
        return balance
    }

    /// Whether a transfer changes what a wallet shows: what is written off does not.
    static func changes(_ line: Line) -> Bool {
        for kind in [line.debit, line.credit] where [.wallet, .held, .receivable].contains(kind) { return true }
        return false
    }

    func balances(_ account: Int, _ currencies: [CurrencyCode]) -> [CurrencyBalance] {
        currencies.map { CurrencyBalance(currency: $0, balance: balance(Place(account: account, currency: $0))) }
    }

    /// The currencies in which an account ever had something.
    func wallets(_ account: Int) -> [CurrencyCode] {
        World.currencies.filter { currency in
            lines.contains { $0.place == Place(account: account, currency: currency) && World.changes($0) }
        }
    }

    // MARK: Posting

    mutating func begin(
        _ kind: EntryKind, at now: Timestamp, transaction: TransactionID? = nil, key: RequestKey? = nil,
        note: String? = nil
    ) {
        if isInAtomic { return }
        entries.append(
            Entry(
                id: Int64(entries.count + 1), time: entryTime(now), kind: kind, key: key, note: note,
                transaction: transaction, actor: kind == .expiry || kind == .holdExpiry ? nil : actor,
                firstLine: lines.count))
    }

    mutating func move(_ debit: AccountKind, _ credit: AccountKind, _ units: Int64, _ lot: Int, debtLot: Int? = nil) {
        guard units > 0 else { return }
        lines.append(
            Line(
                entry: entries[entries.count - 1].id, place: lots[lot].place, lot: lot, debit: debit, credit: credit,
                units: units,
                debtLot: debtLot))
        func change(_ kind: AccountKind, _ units: Int64, isDebit: Bool) {
            switch kind {
            case .wallet: lots[lot].remaining += isDebit ? -units : units
            case .held: lots[lot].held += isDebit ? -units : units
            case .spent: lots[lot].spent += isDebit ? -units : units
            case .refunded: lots[lot].refunded += isDebit ? -units : units
            case .writtenOff: lots[lot].writtenOff += isDebit ? units : -units
            case .receivable:
                if isDebit {
                    lots[lot].owed += units
                } else {
                    lots[debtLot!].owed -= units
                    if debit == .wallet { lots[lot].repaid += units }
                }
            case .purchased, .granted, .expired, .moved, .adjusted, .imported: break
            }
        }
        change(debit, units, isDebit: true)
        change(credit, units, isDebit: false)
    }

    mutating func openLot(
        _ place: Place, _ units: Int64, from debit: AccountKind, transaction: TransactionID? = nil,
        expiresAt: Timestamp? = nil
    ) -> Int {
        lots.append(
            Lot(
                id: Int64(lines.count + 1), place: place, transaction: transaction, expiresAt: expiresAt,
                granted: units))
        move(debit, .wallet, units, lots.count - 1)
        return lots.count - 1
    }

    /// Which lots give how much.
    func draw(_ place: Place, _ units: Int64, _ funds: Funds = .any) -> [Part] {
        let order = World.settings[place.currency]!.order
        func rank(_ lot: Int) -> Int {
            switch order {
            case .freeFirst: lots[lot].isPaid ? 1 : 0
            case .paidFirst, .dearestFirst: lots[lot].isPaid ? 0 : 1
            case .oldest: 0
            }
        }
        var left = units
        var parts: [Part] = []
        for lot in lots(in: place).sorted(by: { (rank($0), $0) < (rank($1), $1) }) {
            let taken = min(left, lots[lot].remaining)
            if taken == 0 || funds == .paid && !lots[lot].isPaid { continue }
            left -= taken
            parts.append(Part(lot: lot, units: taken))
        }
        return parts
    }

    /// A receipt names sixteen lots.
    func drawn(_ parts: [Part]) -> [DrawnLot] {
        parts.prefix(16).map {
            DrawnLot(
                currency: lots[$0.lot].place.currency, amount: Amount($0.units)!, lot: lots[$0.lot].id,
                transaction: lots[$0.lot].transaction)
        }
    }

    /// How many more they are.
    func more(_ parts: [Part]) -> Int { max(0, parts.count - 16) }

    /// Debts are paid from parts of lots: each first its own lot's, then the oldest.
    mutating func pay(from sources: [Part]) {
        for source in sources {
            var left = source.units
            for debtor in [source.lot] + lots(in: lots[source.lot].place) {
                let paid = min(left, lots[debtor].owed)
                move(.wallet, .receivable, paid, source.lot, debtLot: debtor)
                left -= paid
            }
        }
    }

    /// Units that are in their lots again: those of an expired lot go on at once, the others pay debts.
    mutating func comeBack(_ parts: [Part]) {
        let time = entries[entries.count - 1].time
        var sources: [Part] = []
        for part in parts {
            if let expiresAt = lots[part.lot].expiresAt, expiresAt <= time {
                move(.wallet, .expired, part.units, part.lot)
            } else {
                sources.append(part)
            }
        }
        pay(from: sources)
    }

    mutating func unhold(_ parts: [Part]) {
        for part in parts { move(.held, .wallet, part.units, part.lot) }
        comeBack(parts)
    }

    // MARK: What runs out

    /// When something of an account runs out first.
    func deadline(_ account: Int) -> Timestamp? {
        let ofLots = lots.filter { $0.place.account == account && $0.remaining > 0 }.compactMap(\.expiresAt)
        let ofHolds = holds.filter { $0.account == account && $0.end == nil }.map(\.expiresAt)
        return (ofLots + ofHolds).min()
    }

    /// Posts what has run out of an account: the lots as one entry, each hold as one.
    @discardableResult
    mutating func settle(_ account: Int?, at now: Timestamp) -> Bool {
        guard let account else { return false }
        let time = entryTime(now)
        guard let deadline = deadline(account), deadline <= time else { return false }
        let due = lots.indices.filter {
            lots[$0].place.account == account && lots[$0].remaining > 0
                && lots[$0].expiresAt.map { $0 <= time } ?? false
        }
        if !due.isEmpty {
            begin(.expiry, at: now)
            for lot in due { move(.wallet, .expired, lots[lot].remaining, lot) }
        }
        let over = holds.indices.filter {
            holds[$0].account == account && holds[$0].end == nil && holds[$0].expiresAt <= time
        }
        for hold in over.sorted(by: { (holds[$0].expiresAt, $0) < (holds[$1].expiresAt, $1) }) {
            begin(.holdExpiry, at: now)
            holds[hold].end = .holdExpired(expiresAt: holds[hold].expiresAt)
            unhold(holds[hold].parts)
        }
        return true
    }

    /// A sweep, of everybody of whom something has run out, but for those who cannot be read.
    mutating func sweep(at now: Timestamp, but left: Set<Int> = []) -> Int {
        let time = entryTime(now)
        let due = names.indices.compactMap { account in
            deadline(account).flatMap { $0 <= time && !left.contains(account) ? (time: $0, account: account) : nil }
        }
        for item in due.sorted(by: { ($0.time, $0.account) < ($1.time, $1.account) }) { settle(item.account, at: now) }
        return due.count
    }

    /// Of whom a sweep would post something.
    func due(at now: Timestamp) -> [Int] { due(in: .min...entryTime(now)) }

    /// Of whom something runs out first in a range of times.
    func due(in times: ClosedRange<Timestamp>) -> [Int] {
        names.indices.filter { account in deadline(account).map(times.contains) ?? false }
    }
}

// MARK: - Keyed requests

extension World {
    mutating func take(_ operation: KeyedOperation, at now: Timestamp) -> Outcome {
        guard let accounts = number([operation], operation.key) else { return .refused(Refusal(.keyReused)) }
        if let again = repeated(operation.key, .one(operation), accounts) { return again }
        var outcome: Outcome
        var traces: [Trace] = []
        do throws(Refusal.Reason) {
            let (made, trace) = try post(operation, at: now)
            (outcome, traces) = (made, [trace])
        } catch {
            outcome = .refused(Refusal(error))
        }
        answers[operation.key] = Answered(
            request: .one(operation), accounts: accounts, outcome: outcome, traces: traces)
        return outcome
    }

    mutating func take(_ atomic: Atomic, at now: Timestamp) -> Outcome {
        guard let accounts = number(atomic.operations, atomic.key) else { return .refused(Refusal(.keyReused)) }
        if let again = repeated(atomic.key, .several(atomic), accounts) { return again }
        for operation in atomic.operations { settle(owner(operation), at: now) }
        var copy = self
        let firstLine = lines.count
        let note = atomic.operations.compactMap { World.note($0) }.first
        copy.begin(.atomic, at: now, key: atomic.key, note: note)
        copy.isInAtomic = true
        var results: [AtomicReceipt.Result] = []
        var traces: [Trace] = []
        var refusal: Refusal?
        for (index, operation) in atomic.operations.enumerated() {
            do throws(Refusal.Reason) {
                let (outcome, trace) = try copy.post(operation, at: now)
                switch outcome {
                case .spend(let receipt): results.append(.spend(drawn: receipt.drawn, more: receipt.drawnMore))
                case .reversal(let receipt):
                    results.append(.reverse(returned: receipt.returned, more: receipt.returnedMore))
                case .hold(let receipt): results.append(.hold(expiresAt: receipt.expiresAt))
                case .capture(let receipt): results.append(.capture(drawn: receipt.drawn, more: receipt.drawnMore))
                case .release: results.append(.release)
                default: results.append(.grant)
                }
                traces.append(trace)
            } catch {
                refusal = Refusal(error, operation: index)
                break
            }
        }
        let outcome: Outcome
        if let refusal {
            outcome = .refused(refusal)
            traces = []
        } else {
            copy.isInAtomic = false
            self = copy
            let touched = Set(lines[firstLine...].map(\.place))
            let balances = Set(touched.map(\.account)).map { account in
                AccountBalances(
                    account: names[account],
                    balances: self.balances(
                        account, touched.filter { $0.account == account }.map(\.currency).sorted()))
            }
            outcome = .atomic(
                AtomicReceipt(
                    entry: entries[entries.count - 1].id, replayed: false, results: results,
                    balances: balances.sorted { $0.account.text < $1.account.text }))
        }
        answers[atomic.key] = Answered(
            request: .several(atomic), accounts: accounts, outcome: outcome, traces: traces)
        return outcome
    }

    private static func note(_ operation: KeyedOperation) -> String? {
        switch operation {
        case .spend(let spend): spend.note
        case .grant(let grant): grant.note
        case .reverse, .hold, .capture, .release: nil
        }
    }

    /// The numbers of the accounts that a request names, new ones for new names; `nil` where the key was used and a
    /// name is not known.
    private mutating func number(_ operations: [KeyedOperation], _ key: RequestKey) -> [Int?]? {
        var accounts: [Int?] = []
        for operation in operations {
            guard let name = operation.account else {
                accounts.append(nil)
                continue
            }
            if answers[key] != nil && account(name) == nil { return nil }
            accounts.append(open(name))
        }
        return accounts
    }

    /// One key, one answer.
    func repeated(_ key: RequestKey, _ request: Request, _ accounts: [Int?]) -> Outcome? {
        guard let answered = answers[key] else { return nil }
        if answered.request != request || answered.accounts != accounts { return .refused(Refusal(.keyReused)) }
        switch answered.outcome {
        case .spend(var receipt):
            receipt.replayed = true
            return .spend(receipt)
        case .grant(var receipt):
            receipt.replayed = true
            return .grant(receipt)
        case .reversal(var receipt):
            receipt.replayed = true
            return .reversal(receipt)
        case .hold(var receipt):
            receipt.replayed = true
            return .hold(receipt)
        case .capture(var receipt):
            receipt.replayed = true
            return .capture(receipt)
        case .release(var receipt):
            receipt.replayed = true
            return .release(receipt)
        case .atomic(var receipt):
            receipt.replayed = true
            return .atomic(receipt)
        case .consent(var receipt):
            receipt.replayed = true
            return .consent(receipt)
        case .refused(var refusal):
            refusal.replayed = true
            return .refused(refusal)
        default: return nil
        }
    }

    private func owner(_ operation: KeyedOperation) -> Int? {
        switch operation {
        case .spend, .grant, .hold: return operation.account.flatMap { whose($0) }
        case .reverse(let reversal):
            return spend(reversal.spendKey, reversal.operation).map { lots[$0.parts[0].lot].place.account }
        case .capture(let capture): return hold(capture.holdKey, capture.operation).map { holds[$0].account }
        case .release(let release): return hold(release.holdKey, release.operation).map { holds[$0].account }
        }
    }

    /// Which operation of a request is meant: the one that is named, or the only one there is.
    private func index(_ key: RequestKey, _ operation: Int?, _ isMeant: (Trace) -> Bool) -> Int? {
        guard let answered = answers[key] else { return nil }
        let fit = answered.traces.indices.filter { isMeant(answered.traces[$0]) }
        guard let operation else { return fit.count == 1 ? fit[0] : nil }
        guard case .several = answered.request, fit.contains(operation) else { return nil }
        return operation
    }

    private func spend(_ key: RequestKey, _ operation: Int?) -> (index: Int, parts: [Part])? {
        let found = index(key, operation) {
            if case .spend = $0 { return true }
            return false
        }
        guard let found, case .spend(let parts)? = answers[key]?.traces[found] else { return nil }
        return (found, parts)
    }

    private func hold(_ key: RequestKey, _ operation: Int?) -> Int? {
        let found = index(key, operation) {
            if case .hold = $0 { return true }
            return false
        }
        guard let found, case .hold(let hold)? = answers[key]?.traces[found] else { return nil }
        return hold
    }

    private mutating func post(
        _ operation: KeyedOperation, at now: Timestamp
    ) throws(Refusal.Reason) -> (Outcome, Trace) {
        switch operation {
        case .spend(let spend): return try post(spend, at: now)
        case .grant(let grant):
            let account = current(open(grant.account))
            settle(account, at: now)
            guard World.settings[grant.currency] != nil else { throw .unknownCurrency(currency: grant.currency) }
            begin(.grant, at: now, key: grant.key, note: grant.note)
            let place = Place(account: account, currency: grant.currency)
            let lot = openLot(place, grant.amount.units, from: .granted, expiresAt: grant.expiresAt)
            comeBack([Part(lot: lot, units: grant.amount.units)])
            return (
                .grant(
                    GrantReceipt(
                        entry: entries[entries.count - 1].id, replayed: false,
                        balances: balances(account, [grant.currency]))), .nothing
            )
        case .reverse(let reversal): return try post(reversal, at: now)
        case .hold(let hold): return try post(hold, at: now)
        case .capture(let capture):
            let (number, hold) = try openHold(capture.holdKey, capture.operation, at: now)
            var left = capture.amount?.units ?? hold.amount
            if left > hold.amount { throw .insufficientFunds(currency: hold.currency, available: hold.amount) }
            begin(.capture, at: now, key: capture.key)
            var spent: [Part] = []
            var back: [Part] = []
            for part in hold.parts {
                let units = min(left, part.units)
                left -= units
                move(.held, .spent, units, part.lot)
                if units > 0 { spent.append(Part(lot: part.lot, units: units)) }
                if units < part.units { back.append(Part(lot: part.lot, units: part.units - units)) }
            }
            holds[number].end = .holdClosed
            unhold(back)
            return (
                .capture(
                    CaptureReceipt(
                        entry: entries[entries.count - 1].id, replayed: false, drawn: drawn(spent),
                        drawnMore: more(spent),
                        balances: balances(hold.account, [hold.currency]))), .spend(spent)
            )
        case .release(let release):
            let (number, hold) = try openHold(release.holdKey, release.operation, at: now)
            begin(.release, at: now, key: release.key)
            holds[number].end = .holdClosed
            unhold(hold.parts)
            return (
                .release(
                    ReleaseReceipt(
                        entry: entries[entries.count - 1].id, replayed: false,
                        balances: balances(hold.account, [hold.currency]))), .nothing
            )
        }
    }

    private mutating func post(_ spend: Spend, at now: Timestamp) throws(Refusal.Reason) -> (Outcome, Trace) {
        let account = current(open(spend.account))
        settle(account, at: now)
        for debit in spend.debits where World.settings[debit.currency] != nil {
            let place = Place(account: account, currency: debit.currency)
            let available = spend.funds == .paid ? paid(place) : available(place)
            if debit.amount.units > available {
                throw .insufficientFunds(currency: debit.currency, available: available)
            }
        }
        if let first = spend.debits.first, World.settings[first.currency] != nil {
            let balance = balance(Place(account: account, currency: first.currency))
            if let expected = spend.expectedVersion, expected != balance.version {
                throw .versionMismatch(version: balance.version)
            }
            if let minimum = spend.minimumRemaining, balance.available - first.amount.units < minimum {
                throw .minimumRemaining(available: balance.available)
            }
        }
        for debit in spend.debits where World.settings[debit.currency] == nil {
            throw .unknownCurrency(currency: debit.currency)
        }
        begin(.spend, at: now, key: spend.key, note: spend.note)
        var parts: [Part] = []
        for debit in spend.debits {
            let own = draw(Place(account: account, currency: debit.currency), debit.amount.units, spend.funds)
            for part in own { move(.wallet, .spent, part.units, part.lot) }
            parts += own
        }
        return (
            .spend(
                SpendReceipt(
                    entry: entries[entries.count - 1].id, replayed: false, drawn: drawn(parts), drawnMore: more(parts),
                    balances: balances(account, spend.debits.map(\.currency)))), .spend(parts)
        )
    }

    private mutating func post(_ reversal: Reversal, at now: Timestamp) throws(Refusal.Reason) -> (Outcome, Trace) {
        guard case (let index, var parts)? = spend(reversal.spendKey, reversal.operation) else { throw .unknownSpend }
        let account = lots[parts[0].lot].place.account
        settle(account, at: now)
        func left(_ currency: CurrencyCode) -> Int64 {
            parts.reduce(0) { $0 + (lots[$1.lot].place.currency == currency ? $1.units : 0) }
        }
        var wanted = reversal.debits?.map { (currency: $0.currency, units: $0.amount.units) } ?? []
        if reversal.debits == nil {
            for part in parts {
                let currency = lots[part.lot].place.currency
                if left(currency) > 0 && !wanted.contains(where: { $0.currency == currency }) {
                    wanted.append((currency, left(currency)))
                }
            }
            if wanted.isEmpty {
                throw .alreadyReversed(currency: lots[parts[0].lot].place.currency, reversible: 0)
            }
        }
        for (currency, units) in wanted where World.settings[currency] != nil && units > left(currency) {
            throw .alreadyReversed(currency: currency, reversible: left(currency))
        }
        for (currency, _) in wanted where World.settings[currency] == nil { throw .unknownCurrency(currency: currency) }
        begin(.reversal, at: now, key: reversal.key)
        var returned: [Part] = []
        for (currency, units) in wanted {
            var rest = units
            var back: [Part] = []
            for place in parts.indices.reversed() where lots[parts[place].lot].place.currency == currency {
                let taken = min(rest, parts[place].units)
                if taken == 0 { continue }
                rest -= taken
                parts[place].units -= taken
                back.append(Part(lot: parts[place].lot, units: taken))
            }
            for part in back { move(.spent, .wallet, part.units, part.lot) }
            returned += back
            comeBack(back)
        }
        answers[reversal.spendKey]?.traces[index] = .spend(parts)
        return (
            .reversal(
                ReversalReceipt(
                    entry: entries[entries.count - 1].id, replayed: false, returned: drawn(returned),
                    returnedMore: more(returned),
                    balances: balances(account, wanted.map(\.currency)))), .nothing
        )
    }

    private mutating func post(_ hold: Ledger.Hold, at now: Timestamp) throws(Refusal.Reason) -> (Outcome, Trace) {
        let account = current(open(hold.account))
        settle(account, at: now)
        guard World.settings[hold.currency] != nil else { throw .unknownCurrency(currency: hold.currency) }
        let place = Place(account: account, currency: hold.currency)
        if hold.amount.units > available(place) {
            throw .insufficientFunds(currency: hold.currency, available: available(place))
        }
        begin(.hold, at: now, key: hold.key)
        let first = Int64(lines.count + 1)
        let parts = draw(place, hold.amount.units)
        for part in parts { move(.wallet, .held, part.units, part.lot) }
        let expiresAt = entries[entries.count - 1].time + hold.timeoutMilliseconds
        holds.append(
            Hold(first: first, account: account, currency: hold.currency, parts: parts, expiresAt: expiresAt))
        return (
            .hold(
                HoldReceipt(
                    entry: entries[entries.count - 1].id, replayed: false, expiresAt: expiresAt,
                    balances: balances(account, [hold.currency]))), .hold(holds.count - 1)
        )
    }

    private mutating func openHold(
        _ key: RequestKey, _ operation: Int?, at now: Timestamp
    ) throws(Refusal.Reason) -> (Int, Hold) {
        guard let number = hold(key, operation) else { throw .unknownHold }
        settle(holds[number].account, at: now)
        if let end = holds[number].end { throw end }
        return (number, holds[number])
    }
}
