import Ledger

/// A name that the tables use, in memory that is never given back, so that it is bound without a copy.
///
/// The memory is written once, before anyone else sees it.
struct StoredName: @unchecked Sendable {
    let bytes: UnsafeRawBufferPointer

    init(_ name: String) {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(name.utf8.count, 1), alignment: 1)
        memory.copyBytes(from: name.utf8)
        bytes = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<name.utf8.count])
    }
}

/// The names by which the tables know the cases of an enum.
struct StoredNames<Case: Sendable>: Sendable {
    /// By the case's number.
    private let names: [StoredName?]
    private let cases: [String: Case]
    private let number: @Sendable (Case) -> Int64

    /// - Parameter number: small, and different for each case.
    init(_ cases: [Case], _ number: @escaping @Sendable (Case) -> Int64, _ name: (Case) -> String) {
        var names: [StoredName?] = []
        var byName: [String: Case] = [:]
        for item in cases {
            let place = Int(number(item))
            while names.count <= place { names.append(nil) }
            names[place] = StoredName(name(item))
            byName[name(item)] = item
        }
        self.names = names
        self.cases = byName
        self.number = number
    }

    func name(_ item: Case) -> StoredName {
        guard let name = names[Int(number(item))] else { preconditionFailure("every case has a name") }
        return name
    }

    func text(_ item: Case) -> String { String(decoding: name(item).bytes, as: UTF8.self) }

    /// `nil` where the name is none of them: the file was changed by other hands.
    func item(_ name: String) -> Case? { cases[name] }
}

enum Stored {
    static let accountKinds = StoredNames(AccountKind.allCases, { $0.rawValue }, \.name)
    static let entryKinds = StoredNames(EntryKind.allCases, { $0.rawValue }, \.name)
    static let spendOrders = StoredNames(SpendOrder.allCases, { $0.number }, \.rawValue)
    static let lotClasses = StoredNames(LotClass.allCases, { $0.rawValue }, \.name)
    static let sources = StoredNames(PurchaseSource.allCases, { $0.rawValue }, \.name)
    static let holdStates = StoredNames(HoldState.allCases, { $0.rawValue }, \.name)
}

/// What became of a hold.
enum HoldState: Int64, CaseIterable {
    case open
    /// It was captured or released.
    case closed
    /// Its time was over.
    case expired

    var name: String {
        switch self {
        case .open: "open"
        case .closed: "closed"
        case .expired: "expired"
        }
    }
}
