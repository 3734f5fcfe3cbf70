import DequeModule

/// Who takes turns in ``Turns``.
protocol TurnTaker: AnyObject {
    /// Whether it has something to be taken.
    var hasSome: Bool { get }
    /// What its turn is worth; at least 1.
    var quantum: Int { get }
    /// What is left of its turn; below zero where it has had more.
    var credit: Int { get set }
    var takesTurns: Bool { get set }
}

/// Members in turn, each as much as its quantum; who has had nothing for a round goes first. So one that asks for
/// little is served at once, however much the others ask for, and one that asks for much gets its part.
///
/// Who has had more than its turn pays for that with turns to come, also while it has nothing: it keeps its place among
/// the others until it has paid, and is no new one before.
///
/// (Deficit round robin with two lists, as in FQ-CoDel: T. Hoeiland-Joergensen et al., RFC 8290, section 4.2. Taking
/// one costs the same however many members there are.)
struct Turns<Member: TurnTaker> {
    private var new = Deque<Member>()
    private var old = Deque<Member>()

    /// It has something now.
    mutating func add(_ member: Member) {
        if member.takesTurns { return }
        member.takesTurns = true
        // It may have been charged for something since it had its last turn. What it did not use is not saved up.
        member.credit = min(member.credit, 0) + member.quantum
        new.append(member)
    }

    /// The member whose turn it is; `nil` where none has anything.
    mutating func first() -> Member? {
        while let member = new.first ?? old.first {
            if member.hasSome && member.credit > 0 { return member }
            let isNew = !new.isEmpty
            if isNew { new.removeFirst() } else { old.removeFirst() }
            if member.hasSome {
                member.credit += member.quantum
                old.append(member)
            } else if isNew {
                // It is no new one again before the others have had their turns.
                old.append(member)
            } else if member.credit < 0 {
                member.credit += member.quantum
                old.append(member)
            } else {
                member.takesTurns = false
            }
        }
        return nil
    }

    mutating func remove(_ member: Member) {
        if !member.takesTurns { return }
        member.takesTurns = false
        new.removeAll { $0 === member }
        old.removeAll { $0 === member }
    }
}
