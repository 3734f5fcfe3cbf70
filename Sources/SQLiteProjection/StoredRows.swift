import Ledger

/// What is read of the tables is checked, never trusted: a row that does not fit is named, whether other hands or a
/// disk made it so.
extension StoreError {
    static func corrupt(_ description: String) -> StoreError { StoreError(.corrupt, description) }
}

/// Amounts and times as they are read of the tables, kept so far from the ends of `Int64` that what is added to one
/// such number cannot leave its range.
enum Plausible {
    /// Beyond every amount and every time that can be.
    static let max: Int64 = 1 << 60
    /// The last number that an account can have: the other bits are for currencies and kinds of accounts.
    static let accountMax: PlayerID = 1 << 51 - 1

    static func isAmount(_ value: Int64) -> Bool { value >= 0 && value <= max }
    static func isTime(_ value: Int64) -> Bool { value >= -max && value <= max }
    /// Of a purchase that is revoked.
    static func isShare(_ value: Int64) -> Bool { value >= 0 && value <= Limits.wholeShare }
}

/// A row of `wallet`.
struct StoredWallet {
    var account: PlayerID
    var currency: CurrencyID
    var available: Int64 = 0
    var paid: Int64 = 0
    var held: Int64 = 0
    /// What of `held` was bought.
    var heldPaid: Int64 = 0
    var debt: Int64 = 0
    var version: Int64 = 0
    var lastEntry: EntryID = 0
    var lastTransfer: TransferID = 0
    /// How many there were.
    var transfers: Int64 = 0

    /// All of them, in the order in which ``init(_:)`` reads them.
    static let columns =
        "account, currency, available, paid, held, held_paid, debt, version, last_entry, last_transfer, transfers"

    init(account: PlayerID, currency: CurrencyID) {
        self.account = account
        self.currency = currency
    }

    /// - Throws: ``StoreError`` where the row does not fit.
    init(_ row: PreparedStatement) throws {
        let number = row.integer(1)
        guard let currency = CurrencyID(exactly: number), currency > 0 else {
            throw StoreError.corrupt("wallet of account \(row.integer(0)): there is no currency \(number)")
        }
        self.init(account: row.integer(0), currency: currency)
        available = row.integer(2)
        paid = row.integer(3)
        held = row.integer(4)
        heldPaid = row.integer(5)
        debt = row.integer(6)
        version = row.integer(7)
        lastEntry = row.integer(8)
        lastTransfer = row.integer(9)
        transfers = row.integer(10)
        guard isWhole else { throw StoreError.corrupt("\(self) has values that do not fit each other") }
    }

    /// Binds all columns in their order.
    func bind(to row: inout some RowSink) {
        row.bind(1, account)
        row.bind(2, Int64(currency))
        row.bind(3, available)
        row.bind(4, paid)
        row.bind(5, held)
        row.bind(6, heldPaid)
        row.bind(7, debt)
        row.bind(8, version)
        row.bind(9, lastEntry)
        row.bind(10, lastTransfer)
        row.bind(11, transfers)
    }

    var hash: RowHash { RowHash { bind(to: &$0) } }

    /// Whether it can be what a decision left.
    var isWhole: Bool {
        isPlausible && (debt == 0 || available == 0) && version >= 0 && version <= lastEntry
            && Plausible.isAmount(lastEntry) && Plausible.isAmount(lastTransfer) && transfers >= version
            && transfers <= lastTransfer
    }

    /// Whether it can be what a transfer left.
    var isPlausible: Bool {
        Plausible.isAmount(available) && Plausible.isAmount(held) && Plausible.isAmount(debt) && paid >= 0
            && paid <= available && heldPaid >= 0 && heldPaid <= held
    }

    var balance: Balance { Balance(available: available, held: held, debt: debt, paid: paid, version: version) }

    /// The wallet as the books have it, without its lots.
    var wallet: Wallet {
        var wallet = Wallet(currency: currency)
        wallet.available = available
        wallet.paid = paid
        wallet.held = held
        wallet.debt = debt
        wallet.version = version
        wallet.lastEntry = lastEntry
        wallet.lastTransfer = lastTransfer
        return wallet
    }
}

extension StoredWallet: CustomStringConvertible {
    var description: String { "the wallet of account \(account), currency \(currency)" }
}

/// A row of `wallet_past`.
struct StoredPastWallet {
    /// A row is written after an entry that brings a wallet's transfers to a multiple of so many, or past one: few rows
    /// beside those of the transfers, and few transfers to count back from the next of them.
    static let interval: Int64 = 64

    var account: PlayerID
    var currency: CurrencyID
    /// The wallet's last one then.
    var transfer: TransferID
    var balance: Balance

    /// All of them, in the order in which ``init(_:)`` reads them.
    static let columns = "account, currency, transfer, available, paid, held, debt, version"

    /// What a wallet has now.
    init(_ wallet: StoredWallet) {
        account = wallet.account
        currency = wallet.currency
        transfer = wallet.lastTransfer
        balance = wallet.balance
    }

    /// - Throws: ``StoreError`` where the row does not fit.
    init(_ row: PreparedStatement) throws {
        let number = row.integer(1)
        guard let currency = CurrencyID(exactly: number), currency > 0 else {
            throw StoreError.corrupt("a past wallet of account \(row.integer(0)): there is no currency \(number)")
        }
        account = row.integer(0)
        self.currency = currency
        transfer = row.integer(2)
        balance = Balance(
            available: row.integer(3), held: row.integer(5), debt: row.integer(6), paid: row.integer(4),
            version: row.integer(7))
        guard Plausible.isAmount(transfer), Plausible.isAmount(balance.available), Plausible.isAmount(balance.held),
            Plausible.isAmount(balance.debt), balance.paid >= 0, balance.paid <= balance.available,
            Plausible.isAmount(balance.version)
        else {
            throw StoreError.corrupt(
                "the past wallet of account \(account), currency \(currency), has values that do not fit each other")
        }
    }

    /// Binds all columns in their order.
    func bind(to row: inout some RowSink) {
        row.bind(1, account)
        row.bind(2, Int64(currency))
        row.bind(3, transfer)
        row.bind(4, balance.available)
        row.bind(5, balance.paid)
        row.bind(6, balance.held)
        row.bind(7, balance.debt)
        row.bind(8, balance.version)
    }
}

/// A row of `lot`.
struct StoredLot {
    var account: PlayerID
    var currency: CurrencyID
    var lot: Lot
    /// The last transfer of its own: another one may have paid its debt since.
    var lastOwn: TransferID = 0
    var value = LotValue()

    /// All of them, in the order in which ``init(_:)`` reads them.
    private static let names = [
        "id", "account", "currency", "class", "transaction_id", "time", "price", "granted", "remaining", "held",
        "spent", "expired", "refunded", "indebted", "recovered", "written_off", "repaid", "adjusted", "expires_at",
        "last_transfer", "last_own", "money_deferred", "money_refunded", "is_open",
    ]

    static let columns = names.joined(separator: ", ")

    /// The same where the table goes by another name.
    static func columns(of table: String) -> String { names.map { "\(table).\($0)" }.joined(separator: ", ") }

    /// The place behind them.
    static let columnsEnd = Int32(names.count)

    init(account: PlayerID, currency: CurrencyID, lot: Lot) {
        self.account = account
        self.currency = currency
        self.lot = lot
    }

    /// - Throws: ``StoreError`` where the row does not fit.
    init(_ row: PreparedStatement) throws {
        let id = row.integer(0)
        guard let lotClass = Stored.lotClasses.item(row.text(3)), let currency = CurrencyID(exactly: row.integer(2)),
            row.optionalInteger(18).map(Plausible.isTime) ?? true, Plausible.isTime(row.integer(5)), id > 0,
            row.optionalInteger(4) ?? 0 >= 0, Plausible.isAmount(row.integer(19))
        else { throw StoreError.corrupt("lot \(id) has a number, a class, a currency or a time that cannot be") }
        account = row.integer(1)
        self.currency = currency
        lot = Lot(
            id: id, lotClass: lotClass, transaction: row.optionalInteger(4).map { TransactionID(number: $0) },
            time: row.integer(5), price: row.integer(6), granted: row.integer(7), remaining: row.integer(8),
            expiresAt: row.optionalInteger(18))
        lot.held = row.integer(9)
        lot.spent = row.integer(10)
        lot.expired = row.integer(11)
        lot.refunded = row.integer(12)
        lot.indebted = row.integer(13)
        lot.recovered = row.integer(14)
        lot.writtenOff = row.integer(15)
        lot.repaid = row.integer(16)
        lot.adjusted = row.integer(17)
        lot.lastTransfer = row.integer(19)
        lastOwn = row.integer(20)
        value = LotValue(deferred: row.integer(21), refunded: row.integer(22))
        let parts = value.deferred | value.refunded
        guard lot.isWhole, row.integer(23) == (lot.isOpen ? 1 : 0), lastOwn >= id, lastOwn <= lot.lastTransfer,
            parts >= 0, parts < Plausible.max, value.deferred + value.refunded <= lot.price
        else {
            throw StoreError.corrupt("lot \(id) has parts that are not its whole")
        }
        value.recognised = lot.price - value.deferred - value.refunded
    }

    /// Its units as far as there is money for them. Other hands can make a row whose parts are its whole, and of which
    /// more is refunded than there was.
    var units: LotValue.Units {
        LotValue.Units(
            granted: lot.granted, left: lot.remaining + lot.held, refunded: min(lot.refunded, lot.granted))
    }

    /// Binds all columns in their order.
    func bind(to row: inout some RowSink) {
        row.bind(1, lot.id)
        row.bind(2, account)
        row.bind(3, Int64(currency))
        row.bind(4, Stored.lotClasses.name(lot.lotClass))
        row.bind(5, lot.transaction?.number)
        row.bind(6, lot.time)
        row.bind(7, lot.price)
        row.bind(8, lot.granted)
        row.bind(9, lot.remaining)
        row.bind(10, lot.held)
        row.bind(11, lot.spent)
        row.bind(12, lot.expired)
        row.bind(13, lot.refunded)
        row.bind(14, lot.indebted)
        row.bind(15, lot.recovered)
        row.bind(16, lot.writtenOff)
        row.bind(17, lot.repaid)
        row.bind(18, lot.adjusted)
        row.bind(19, lot.expiresAt)
        row.bind(20, lot.lastTransfer)
        row.bind(21, lastOwn)
        row.bind(22, value.deferred)
        row.bind(23, value.refunded)
        row.bind(24, Int64(lot.isOpen ? 1 : 0))
    }

    var hash: RowHash { RowHash { bind(to: &$0) } }
}

extension Lot {
    /// Whether its parts are its whole, as they are after every transfer.
    var isWhole: Bool {
        // The sign and the highest bits of all of them at once.
        let all =
            remaining | held | spent | expired | refunded | indebted | recovered | writtenOff | repaid | adjusted
            | price
        guard granted > 0, granted <= Limits.amountMax, all >= 0, all < Plausible.max else { return false }
        // Eight numbers below 2^60 cannot leave the range together.
        let left = granted - spent - held - expired - repaid - adjusted - (refunded - indebted - writtenOff)
        return remaining == left && max(remaining, held, owed) <= Limits.amountMax && recovered <= indebted
            && (expiresAt == nil || lotClass == .free) && lastTransfer >= id
    }
}
