import Ledger

/// Wallets, lots and holds as plain lists, each operation written out in the simplest way: what the ledger should say
/// of game operations. It shares no code with the ledger's decisions, knows no transfers, and copies itself to undo.
struct GameModel {
    struct Lot {
        /// Counted from 1 in the order in which they were opened, whoever has it.
        var id: Int
        var isPaid: Bool
        var price: Int64
        var granted: Int64
        var expiresAt: Timestamp?
        var transaction: TransactionID?
        var remaining: Int64 = 0
        var held: Int64 = 0
        var spent: Int64 = 0
        var expired: Int64 = 0
        var owed: Int64 = 0
        var isRefunded = false

        var numbers: [Int64] { [granted, remaining, held, spent, expired, owed] }
        var isOpen: Bool { remaining > 0 || held > 0 || owed > 0 }
    }

    struct Place: Hashable {
        var account: AccountName
        var currency: CurrencyCode
    }

    struct Part {
        var place: Place
        var lot: Int
        var units: Int64
    }

    struct Hold {
        var place: Place
        var parts: [Part]
        var expiresAt: Timestamp
        var end: Refusal.Reason?
        var amount: Int64 { parts.reduce(0) { $0 + $1.units } }
    }

    /// What a key's operation left to be named later.
    enum Trace {
        case spend([Part])
        case hold(Hold)
        case nothing
    }

    let orders: [CurrencyCode: SpendOrder]
    private(set) var lots: [Place: [Lot]] = [:]
    private var lotCount = 0
    /// To whom each token was linked first, with all that it had, and to whom last.
    private var links: [AccountName: (first: AccountName, last: AccountName)] = [:]
    private var consents: [AccountName: (order: Int, consumption: Bool)] = [:]
    private var consentCount = 0
    private var traces: [RequestKey: (isAtomic: Bool, operations: [Trace])] = [:]
    private var answers: [RequestKey: Refusal?] = [:]
    private(set) var time: Timestamp = 0
    private(set) var reached: Set<String> = []

    init(orders: [CurrencyCode: SpendOrder]) { self.orders = orders }

    func held(_ place: Place) -> Int64 { (lots[place] ?? []).reduce(0) { $0 + $1.held } }
    func available(_ place: Place) -> Int64 { (lots[place] ?? []).reduce(0) { $0 + $1.remaining } }
    func debt(_ place: Place) -> Int64 { (lots[place] ?? []).reduce(0) { $0 + $1.owed } }

    func consent(_ account: AccountName) -> Bool? { consents[whose(account)]?.consumption }

    /// Whose everything is that comes under a name.
    func whose(_ name: AccountName) -> AccountName {
        guard var name = links[name]?.last else { return name }
        while let next = links[name]?.first { name = next }
        return name
    }

    // MARK: Commands

    /// Takes a command at the ledger's time; gives the refusal that is due, `nil` where it is carried out.
    mutating func take(_ command: Command, at now: Timestamp) -> Refusal? {
        time = now
        switch command {
        case .credit(let signed, let account):
            credit(signed.facts, isRefunded: signed.revoked > 0, account!)
            return nil
        case .external(let stated):
            credit(stated.facts, isRefunded: stated.revoked ?? 0 > 0, stated.account)
            reached.insert(stated.revoked == nil ? "another store" : "another store's refund")
            return nil
        case .keyed(let operation): return keyed(operation.key, operation)
        case .atomic(let atomic): return keyed(atomic)
        case .link(let link): return take(link)
        case .adjust(let adjustment, _):
            if let answered = answers[adjustment.key] { return replay(answered) }
            let refusal = adjust(adjustment)
            answers[adjustment.key] = .some(refusal)
            return refusal
        case .consent(let consent):
            if let answered = answers[consent.key] { return replay(answered) }
            answers[consent.key] = .some(nil)
            consentCount += 1
            consents[whose(consent.account)] = (consentCount, consent.consumption)
            return nil
        case .expire, .balance:
            for account in Set(lots.keys.map(\.account)) { settle(account) }
            return nil
        case .notify, .record, .consumption, .forget, .importLots:
            preconditionFailure("the model takes no such command")
        }
    }

    private mutating func take(_ link: Link) -> Refusal? {
        let token = link.token.account
        let account = whose(link.account)
        settle(whose(token))
        settle(account)
        if whose(token) == account {
            reached.insert("linked already")
            return nil
        }
        if links[token] != nil {
            reached.insert(link.moves ? "linked to another" : "another's token")
            if !link.moves { return Refusal(.accountMismatch) }
            links[token]?.last = account
            return nil
        }
        links[token] = (account, account)
        for place in lots.keys where place.account == token {
            let moved = lots.removeValue(forKey: place)!
            let other = Place(account: account, currency: place.currency)
            if moved.contains(where: { $0.held > 0 }) { reached.insert("a hold moved") }
            if moved.contains(where: { $0.owed > 0 }) && available(other) > 0 {
                reached.insert("a debt moved to money")
            }
            if moved.contains(where: { $0.remaining > 0 }) && debt(other) > 0 {
                reached.insert("money moved to a debt")
            }
            lots[other, default: []] += moved
            lots[other]!.sort { $0.id < $1.id }
            pay(draw(other, min(available(other), debt(other)), takes: false))
        }
        for (key, trace) in traces {
            traces[key]?.operations = trace.operations.map { operation in
                switch operation {
                case .spend(let parts): return .spend(parts.map { $0.moved(from: token, to: account) })
                case .hold(var hold):
                    hold.place = hold.place.moved(from: token, to: account)
                    hold.parts = hold.parts.map { $0.moved(from: token, to: account) }
                    return .hold(hold)
                case .nothing: return .nothing
                }
            }
        }
        if let consent = consents.removeValue(forKey: token), consent.order > consents[account]?.order ?? 0 {
            consents[account] = consent
        }
        reached.insert("linked")
        return nil
    }

    private mutating func keyed(_ key: RequestKey, _ operation: KeyedOperation) -> Refusal? {
        if let answered = answers[key] { return replay(answered) }
        do throws(Refusal.Reason) {
            let trace = try operate(operation)
            traces[key] = (false, [trace])
            answers[key] = .some(nil)
            return nil
        } catch {
            answers[key] = Refusal(error)
            return Refusal(error)
        }
    }

    private mutating func keyed(_ atomic: Atomic) -> Refusal? {
        if let answered = answers[atomic.key] { return replay(answered) }
        for account in Set(lots.keys.map(\.account)) { settle(account) }
        var copy = self
        var made: [Trace] = []
        for (index, operation) in atomic.operations.enumerated() {
            do throws(Refusal.Reason) {
                made.append(try copy.operate(operation))
            } catch {
                reached.insert("an atomic undone")
                answers[atomic.key] = Refusal(error, operation: index)
                return Refusal(error, operation: index)
            }
        }
        self = copy
        traces[atomic.key] = (true, made)
        answers[atomic.key] = .some(nil)
        reached.insert("an atomic")
        return nil
    }

    private mutating func replay(_ answered: Refusal?) -> Refusal? {
        reached.insert(answered == nil ? "an answer again" : "a refusal again")
        guard var refusal = answered else { return nil }
        refusal.replayed = true
        return refusal
    }

    // MARK: Operations

    private mutating func operate(_ operation: KeyedOperation) throws(Refusal.Reason) -> Trace {
        switch operation {
        case .spend(let spend):
            let account = whose(spend.account)
            settle(account)
            let wanted = spend.debits.map { (Place(account: account, currency: $0.currency), $0.amount.units) }
            for (place, units) in wanted where units > available(place) {
                throw .insufficientFunds(currency: place.currency, available: available(place))
            }
            var parts: [Part] = []
            for (place, units) in wanted { parts += draw(place, units) }
            for part in parts { change(part) { $0.spent += $1 } }
            return .spend(parts)
        case .grant(let grant):
            let place = Place(account: whose(grant.account), currency: grant.currency)
            settle(place.account)
            var lot = Lot(
                id: openLot(), isPaid: false, price: 0, granted: grant.amount.units, expiresAt: grant.expiresAt)
            lot.remaining = lot.granted
            lots[place, default: []].append(lot)
            comeBack([Part(place: place, lot: lot.id, units: lot.granted)])
            return .nothing
        case .reverse(let reversal): return try reverse(reversal)
        case .hold(let hold):
            let place = Place(account: whose(hold.account), currency: hold.currency)
            settle(place.account)
            guard hold.amount.units <= available(place) else {
                throw .insufficientFunds(currency: hold.currency, available: available(place))
            }
            let parts = draw(place, hold.amount.units)
            for part in parts { change(part) { $0.held += $1 } }
            return .hold(Hold(place: place, parts: parts, expiresAt: time + hold.timeoutMilliseconds))
        case .capture(let capture):
            let (key, index, hold) = try find(capture.holdKey, capture.operation)
            var left = capture.amount?.units ?? hold.amount
            if left > hold.amount { throw .insufficientFunds(currency: hold.place.currency, available: hold.amount) }
            var spent: [Part] = []
            var back: [Part] = []
            for part in hold.parts {
                let units = min(left, part.units)
                left -= units
                if units > 0 { spent.append(Part(place: part.place, lot: part.lot, units: units)) }
                if units < part.units { back.append(Part(place: part.place, lot: part.lot, units: part.units - units)) }
            }
            close(key, index, .holdClosed)
            for part in spent {
                change(part) {
                    $0.held -= $1
                    $0.spent += $1
                }
            }
            if !back.isEmpty { reached.insert("a part captured") }
            unhold(back)
            return .spend(spent)
        case .release(let release):
            let (key, index, hold) = try find(release.holdKey, release.operation)
            close(key, index, .holdClosed)
            unhold(hold.parts)
            reached.insert("released")
            return .nothing
        }
    }

    private mutating func reverse(_ reversal: Reversal) throws(Refusal.Reason) -> Trace {
        let candidates = (traces[reversal.spendKey]?.operations ?? []).enumerated().filter {
            if case .spend = $0.element { return true }
            return false
        }
        guard let index = pick(reversal.spendKey, reversal.operation, candidates.map(\.offset)),
            case .spend(var parts)? = traces[reversal.spendKey]?.operations[index]
        else { throw .unknownSpend }
        settle(parts[0].place.account)
        var wanted: [(CurrencyCode, Int64)] = reversal.debits?.map { ($0.currency, $0.amount.units) } ?? []
        if reversal.debits == nil {
            for part in parts where part.units > 0 && !wanted.contains(where: { $0.0 == part.place.currency }) {
                wanted.append((part.place.currency, left(parts, part.place.currency)))
            }
            if wanted.isEmpty { throw .alreadyReversed(currency: parts[0].place.currency, reversible: 0) }
        }
        for (currency, units) in wanted where units > left(parts, currency) {
            throw .alreadyReversed(currency: currency, reversible: left(parts, currency))
        }
        for (currency, units) in wanted {
            var rest = units
            var back: [Part] = []
            for place in parts.indices.reversed() where parts[place].place.currency == currency && rest > 0 {
                let taken = min(rest, parts[place].units)
                if taken == 0 { continue }
                rest -= taken
                parts[place].units -= taken
                back.append(Part(place: parts[place].place, lot: parts[place].lot, units: taken))
            }
            for part in back {
                change(part) {
                    $0.spent -= $1
                    $0.remaining += $1
                }
            }
            comeBack(back)
        }
        traces[reversal.spendKey]?.operations[index] = .spend(parts)
        reached.insert("reversed")
        return .nothing
    }

    private func left(_ parts: [Part], _ currency: CurrencyCode) -> Int64 {
        parts.reduce(0) { $0 + ($1.place.currency == currency ? $1.units : 0) }
    }

    private func pick(_ key: RequestKey, _ operation: Int?, _ candidates: [Int]) -> Int? {
        guard let operation else { return candidates.count == 1 ? candidates[0] : nil }
        return traces[key]?.isAtomic == true && candidates.contains(operation) ? operation : nil
    }

    private mutating func find(
        _ key: RequestKey, _ operation: Int?
    ) throws(Refusal.Reason) -> (RequestKey, Int, Hold) {
        let candidates = (traces[key]?.operations ?? []).enumerated().filter {
            if case .hold = $0.element { return true }
            return false
        }
        guard let index = pick(key, operation, candidates.map(\.offset)),
            case .hold(let before)? = traces[key]?.operations[index]
        else { throw .unknownHold }
        settle(before.place.account)
        guard case .hold(let hold)? = traces[key]?.operations[index] else { throw .unknownHold }
        if let end = hold.end {
            reached.insert(end == .holdClosed ? "hold closed" : "hold expired")
            throw end
        }
        return (key, index, hold)
    }

    private mutating func close(_ key: RequestKey, _ index: Int, _ end: Refusal.Reason) {
        guard case .hold(var hold)? = traces[key]?.operations[index] else { return }
        hold.end = end
        traces[key]?.operations[index] = .hold(hold)
    }

    // MARK: Lots

    private mutating func credit(_ facts: PurchaseFacts, isRefunded: Bool, _ account: AccountName) {
        let transaction = facts.transaction
        let found = lots.keys.first { lots[$0]!.contains { $0.transaction == transaction } }
        let place = found ?? Place(account: whose(account), currency: "gems")
        if found.map({ $0.account != whose(account) }) ?? false { reached.insert("a purchase that stays behind") }
        settle(place.account)
        if found == nil {
            var lot = Lot(
                id: openLot(), isPaid: true, price: facts.price ?? 0, granted: 100, transaction: transaction)
            lot.remaining = 100
            lots[place, default: []].append(lot)
            comeBack([Part(place: place, lot: lot.id, units: 100)])
            return
        }
        let index = lots[place]!.firstIndex { $0.transaction == transaction }!
        guard isRefunded, !lots[place]![index].isRefunded else { return }
        lots[place]![index].isRefunded = true
        // Each purchase is refunded once, as a whole.
        let own = lots[place]![index].remaining
        lots[place]![index].remaining = 0
        lots[place]![index].owed += 100 - own
        let sources = draw(place, min(available(place), 100 - own), takes: false)
        pay(sources)
        if debt(place) > 0 { reached.insert("debt") }
        if held(place) > 0 && debt(place) > 0 { reached.insert("debt beside a hold") }
    }

    /// Adds a lot without a price, or takes of the oldest lots of the class.
    private mutating func adjust(_ adjustment: Adjustment) -> Refusal? {
        let place = Place(account: whose(adjustment.account), currency: adjustment.currency)
        settle(place.account)
        let isPaid = adjustment.lotClass == .paid
        if adjustment.units > 0 {
            var lot = Lot(id: openLot(), isPaid: isPaid, price: 0, granted: adjustment.units, transaction: nil)
            lot.remaining = adjustment.units
            lots[place, default: []].append(lot)
            comeBack([Part(place: place, lot: lot.id, units: adjustment.units)])
            reached.insert("corrected up")
            return nil
        }
        let own = (lots[place] ?? []).indices.filter { lots[place]![$0].isPaid == isPaid }
        let available = own.reduce(0) { $0 + lots[place]![$1].remaining }
        if available < -adjustment.units {
            return Refusal(.insufficientFunds(currency: adjustment.currency, available: available))
        }
        var rest = -adjustment.units
        for index in own {
            let taken = min(rest, lots[place]![index].remaining)
            lots[place]![index].remaining -= taken
            rest -= taken
        }
        reached.insert("corrected down")
        return nil
    }

    private mutating func openLot() -> Int {
        lotCount += 1
        return lotCount
    }

    /// Takes from the lots in the currency's order (or only says from which).
    private mutating func draw(_ place: Place, _ units: Int64, takes: Bool = true) -> [Part] {
        let all = lots[place] ?? []
        let order = orders[place.currency]!
        let sorted = all.indices.sorted { left, right in
            func rank(_ index: Int) -> Int64 {
                switch order {
                case .freeFirst: all[index].isPaid ? 1 : 0
                case .paidFirst: all[index].isPaid ? 0 : 1
                case .oldest: 0
                // Every purchase grants the same.
                case .dearestFirst: all[index].isPaid ? -1 - all[index].price : 1
                }
            }
            return (rank(left), left) < (rank(right), right)
        }
        var rest = units
        var parts: [Part] = []
        for index in sorted where rest > 0 && all[index].remaining > 0 {
            let taken = min(rest, all[index].remaining)
            rest -= taken
            if takes { lots[place]![index].remaining -= taken }
            parts.append(Part(place: place, lot: all[index].id, units: taken))
        }
        return parts
    }

    private mutating func change(_ part: Part, _ body: (inout Lot, Int64) -> Void) {
        body(&lots[part.place]![index(of: part.lot, part.place)], part.units)
    }

    private func index(of lot: Int, _ place: Place) -> Int { lots[place]!.firstIndex { $0.id == lot }! }

    private mutating func unhold(_ parts: [Part]) {
        for part in parts {
            change(part) {
                $0.held -= $1
                $0.remaining += $1
            }
        }
        comeBack(parts)
    }

    /// Units that are in their lots again: those of an expired lot expire, the others pay debts.
    private mutating func comeBack(_ parts: [Part]) {
        var sources: [Part] = []
        for part in parts {
            if let expiresAt = lots[part.place]![index(of: part.lot, part.place)].expiresAt, expiresAt <= time {
                reached.insert("expired on the way back")
                change(part) {
                    $0.remaining -= $1
                    $0.expired += $1
                }
            } else {
                sources.append(part)
            }
        }
        pay(sources)
    }

    private mutating func pay(_ sources: [Part]) {
        for source in sources {
            var left = source.units
            let own = index(of: source.lot, source.place)
            for debtor in [own] + Array(lots[source.place]!.indices) {
                let paid = min(left, lots[source.place]![debtor].owed)
                if paid > 0 { reached.insert("debt paid") }
                left -= paid
                lots[source.place]![debtor].owed -= paid
                lots[source.place]![own].remaining -= paid
            }
        }
    }

    private mutating func settle(_ account: AccountName) {
        for place in lots.keys where place.account == account {
            for index in lots[place]!.indices where lots[place]![index].expiresAt.map({ $0 <= time }) ?? false {
                if lots[place]![index].remaining > 0 { reached.insert("a lot expired") }
                lots[place]![index].expired += lots[place]![index].remaining
                lots[place]![index].remaining = 0
            }
        }
        var due: [(RequestKey, Int, Hold)] = []
        for (key, trace) in traces {
            for (index, operation) in trace.operations.enumerated() {
                guard case .hold(let hold) = operation, hold.end == nil, hold.place.account == account,
                    hold.expiresAt <= time
                else { continue }
                due.append((key, index, hold))
            }
        }
        // Which of two goes first makes a difference only to whose units pay a debt; the earlier does, then the older.
        let order = due.sorted {
            ($0.2.expiresAt, sequence[$0.0] ?? 0, $0.1) < ($1.2.expiresAt, sequence[$1.0] ?? 0, $1.1)
        }
        for (key, index, hold) in order {
            close(key, index, .holdExpired(expiresAt: hold.expiresAt))
            unhold(hold.parts)
            reached.insert("a hold expired")
        }
    }

    /// In which order keys were used first.
    private var sequence: [RequestKey: Int] = [:]

    mutating func note(_ key: RequestKey) {
        if sequence[key] == nil { sequence[key] = sequence.count }
    }
}

extension GameModel.Place {
    fileprivate func moved(from token: AccountName, to account: AccountName) -> GameModel.Place {
        GameModel.Place(account: self.account == token ? account : self.account, currency: currency)
    }
}

extension GameModel.Part {
    fileprivate func moved(from token: AccountName, to account: AccountName) -> GameModel.Part {
        GameModel.Part(place: place.moved(from: token, to: account), lot: lot, units: units)
    }
}
