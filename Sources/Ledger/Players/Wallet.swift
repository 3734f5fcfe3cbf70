/// One player's wallet of one currency, with its held and receivable accounts.
package struct Wallet: Sendable {
    package let currency: CurrencyID
    package var available: Int64 = 0
    package var paid: Int64 = 0
    package var held: Int64 = 0
    package var debt: Int64 = 0
    package var version: Int64 = 0
    /// The last entry that changed a balance of it.
    package var lastEntry: EntryID = 0
    /// The head of the chain of its transfers.
    package var lastTransfer: TransferID = 0
    /// By age: the open lots (all of them where ``hasAllLots``), and such closed ones as are in memory. A lot that
    /// closes or opens again stays where it is, so that nothing is moved for it.
    package internal(set) var lots: [Lot] = []
    /// No paid lot before this place, and no free one before that, has anything left: draws begin there, so that they
    /// do not pass used lots again and again.
    private var firstPaid = 0
    private var firstFree = 0
    private var closedCount = 0
    /// Whether every open lot is in memory. Where not, the missing ones are those of a wallet that was
    /// ``isCreditedWithoutLots``: purchased, and older than those that are here.
    package private(set) var hasAllLots = true

    package init(currency: CurrencyID) { self.currency = currency }

    /// Whether a credit, and whoever asks for its balance, can do without its lots: nothing of it expires, is set
    /// aside or is owed.
    package var isCreditedWithoutLots: Bool { available == paid && held == 0 && debt == 0 }

    package var balance: Balance {
        Balance(available: available, held: held, debt: debt, paid: paid, version: version)
    }

    /// Lots that a spend, a hold or a debt concerns, oldest first.
    package var open: [Lot] { closedCount == 0 ? lots : lots.filter(\.isOpen) }

    /// Lots that are used up and are nevertheless in memory.
    package var closed: [Lot] { closedCount == 0 ? [] : lots.filter { !$0.isOpen } }

    func available(for funds: Funds) -> Int64 {
        switch funds {
        case .any: available
        case .paid: paid
        }
    }

    // MARK: Lots

    package func lot(_ id: LotID) -> Lot? { index(id).map { lots[$0] } }

    /// Changes one lot in place.
    mutating func update(_ index: Int, _ change: (inout Lot) -> Void) {
        let wasOpen = lots[index].isOpen
        change(&lots[index])
        if wasOpen != lots[index].isOpen { closedCount += wasOpen ? 1 : -1 }
        if lots[index].remaining > 0 { beginDraws(at: index) }
    }

    /// Adds the newest lot, which nothing is in yet.
    mutating func append(opening lot: Lot) {
        precondition(lots.last.map { $0.id < lot.id } ?? true, "lot \(lot.id) is not the newest of its wallet")
        lots.append(lot)
        if !lot.isOpen { closedCount += 1 }
    }

    /// Puts a loaded lot in its place by age.
    package mutating func insert(_ lot: Lot) {
        let place = lots.last.map { $0.id < lot.id } ?? true ? lots.count : lowerBound(lot.id)
        lots.insert(lot, at: place)
        if !lot.isOpen { closedCount += 1 }
        beginDraws(at: place)
    }

    /// Leaves its lots where they are, of which none was loaded.
    package mutating func leaveLots() {
        precondition(isCreditedWithoutLots && lots.isEmpty, "a wallet is left without lots that it needs")
        hasAllLots = false
    }

    /// Takes over every open lot that the store has; one that is in memory already is newer there.
    package mutating func complete(with stored: [Lot]) {
        insert(stored.filter { index($0.id) == nil })
        hasAllLots = true
    }

    /// Whether each of its parts is the sum of its lots', all of which are in memory.
    package var isSumOfLots: Bool {
        var sum = Balance()
        for lot in lots {
            sum.available += lot.remaining
            if lot.lotClass == .paid { sum.paid += lot.remaining }
            sum.held += lot.held
            sum.debt += lot.owed
        }
        return available == sum.available && paid == sum.paid && held == sum.held && debt == sum.debt
    }

    /// Puts loaded lots, which are not in it, in their places by age.
    package mutating func insert(_ loaded: [Lot]) {
        if loaded.isEmpty { return }
        lots = (lots + loaded).sorted { $0.id < $1.id }
        closedCount += loaded.count { !$0.isOpen }
        (firstPaid, firstFree) = (0, 0)
    }

    /// Hands over all lots that are in memory; it has none then.
    mutating func takeLots() -> [Lot] {
        defer {
            lots = []
            closedCount = 0
            (firstPaid, firstFree) = (0, 0)
        }
        return lots
    }

    /// Forgets the lots that are used up and that no transfer after `transfer` has changed.
    /// - Returns: how many.
    mutating func dropClosed(through transfer: TransferID) -> Int {
        if closedCount == 0 { return 0 }
        let before = lots.count
        lots.removeAll { !$0.isOpen && $0.lastTransfer <= transfer }
        closedCount = lots.count { !$0.isOpen }
        (firstPaid, firstFree) = (0, 0)
        return before - lots.count
    }

    func index(_ id: LotID) -> Int? {
        if let last = lots.last, last.id == id { return lots.count - 1 }
        let place = lowerBound(id)
        return place < lots.count && lots[place].id == id ? place : nil
    }

    private func lowerBound(_ id: LotID) -> Int {
        var low = 0
        var high = lots.count
        while low < high {
            let middle = (low + high) / 2
            if lots[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private mutating func beginDraws(at index: Int) {
        switch lots[index].lotClass {
        case .paid: firstPaid = min(firstPaid, index)
        case .free: firstFree = min(firstFree, index)
        }
    }

    // MARK: Drawing

    /// Which lots give how much of `amount`, which the wallet has.
    mutating func draw(_ amount: Int64, _ funds: Funds, _ order: SpendOrder) -> [LotPart] {
        precondition(hasAllLots, "a wallet is drawn from whose lots were not loaded")
        skipUsedLots()
        var left = amount
        var drawn: [LotPart] = []
        switch (funds, order) {
        case (.any, .oldest):
            take(from: min(firstPaid, firstFree), nil, &left, &drawn)
        case (.any, .freeFirst):
            take(from: firstFree, .free, &left, &drawn)
            take(from: firstPaid, .paid, &left, &drawn)
        case (.any, .paidFirst):
            take(from: firstPaid, .paid, &left, &drawn)
            take(from: firstFree, .free, &left, &drawn)
        case (.any, .dearestFirst):
            takeDearest(&left, &drawn)
            take(from: firstFree, .free, &left, &drawn)
        case (.paid, .dearestFirst):
            takeDearest(&left, &drawn)
        case (.paid, .oldest), (.paid, .freeFirst), (.paid, .paidFirst):
            take(from: firstPaid, .paid, &left, &drawn)
        }
        precondition(left == 0, "a wallet's lots hold less than is available")
        return drawn
    }

    /// Which lots of one class give how much of `amount`, which they have: the oldest first.
    mutating func draw(_ amount: Int64, of lotClass: LotClass) -> [LotPart] {
        precondition(hasAllLots, "a wallet is drawn from whose lots were not loaded")
        skipUsedLots()
        var left = amount
        var drawn: [LotPart] = []
        take(from: min(firstPaid, firstFree), lotClass, &left, &drawn)
        precondition(left == 0, "a wallet's lots hold less than is available")
        return drawn
    }

    private mutating func skipUsedLots() {
        while firstPaid < lots.count, lots[firstPaid].lotClass != .paid || lots[firstPaid].remaining == 0 {
            firstPaid += 1
        }
        while firstFree < lots.count, lots[firstFree].lotClass != .free || lots[firstFree].remaining == 0 {
            firstFree += 1
        }
    }

    private func take(from first: Int, _ lotClass: LotClass?, _ left: inout Int64, _ drawn: inout [LotPart]) {
        var index = first
        while left > 0, index < lots.count {
            if lotClass == nil || lots[index].lotClass == lotClass { take(index, &left, &drawn) }
            index += 1
        }
    }

    private func takeDearest(_ left: inout Int64, _ drawn: inout [LotPart]) {
        if left == 0 { return }
        let paid = lots.indices[min(firstPaid, lots.count)...].filter {
            lots[$0].lotClass == .paid && lots[$0].remaining > 0
        }
        // Mostly one lot gives all: it is found without sorting.
        guard let dearest = paid.min(by: { Lot.isDearer(lots[$0], lots[$1]) }) else { return }
        if lots[dearest].remaining >= left { return take(dearest, &left, &drawn) }
        for index in paid.sorted(by: { Lot.isDearer(lots[$0], lots[$1]) }) where left > 0 {
            take(index, &left, &drawn)
        }
    }

    private func take(_ index: Int, _ left: inout Int64, _ drawn: inout [LotPart]) {
        let units = min(left, lots[index].remaining)
        if units == 0 { return }
        drawn.append(LotPart(lot: lots[index].id, units: units, transaction: lots[index].transaction))
        left -= units
    }
}
