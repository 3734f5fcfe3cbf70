/// The canonical form of a keyed request: its method and its members in a fixed order, each text with its length,
/// so that the order of members in the message, or an optional member given its default, makes no difference. An
/// account stands in it by its number, so that nobody can try a name that was erased against it.
/// The fingerprint stored with a key is its SHA-256 (docs: BlockFormat). Shipped forms never change.
struct CanonicalForm: ~Copyable {
    private var form: ByteForm

    private init(_ method: StaticString, in form: consuming ByteForm) {
        self.form = form
        method.withUTF8Buffer { self.form.add(raw: UnsafeRawBufferPointer($0)) }
        self.form.add(byte: 0)
    }

    /// The digest of a method with the members that `body` adds.
    static func digest(
        _ method: StaticString, _ hash: HashFunction, _ body: (inout CanonicalForm) -> Void
    ) -> Digest {
        ByteForm.make { bytes in
            var form = CanonicalForm(method, in: bytes)
            body(&form)
            return form.form.digest(hash)
        }
    }

    mutating func add(_ text: String?) {
        guard let text else { return add(-1) }
        add(Int64(text.utf8.count))
        form.add(raw: text)
    }

    mutating func add(_ number: Int64?) {
        guard let number else { return form.add(byte: 0) }
        form.add(byte: 1)
        form.add(number)
    }
}

extension CanonicalForm {
    /// In the order of the codes: debits in another order are the same request.
    mutating func add(_ debits: [CurrencyAmount]) {
        add(Int64(debits.count))
        for debit in debits.count > 1 ? debits.sorted(by: { $0.currency < $1.currency }) : debits {
            add(debit.currency.text)
            add(debit.amount.units)
        }
    }

    private mutating func add(_ spend: Spend, of account: PlayerID) {
        add(account)
        add(spend.debits)
        add(spend.note)
        add(spend.funds.rawValue)
        add(spend.expectedVersion)
        add(spend.minimumRemaining)
    }

    private mutating func add(_ grant: Grant, of account: PlayerID) {
        add(account)
        add(grant.currency.text)
        add(grant.amount.units)
        add(grant.note)
        add(grant.expiresAt)
    }

    private mutating func add(_ reversal: Reversal) {
        add(reversal.spendKey.text)
        add(reversal.operation.map { Int64($0) })
        if let debits = reversal.debits { add(debits) } else { add(-1) }
    }

    private mutating func add(_ hold: Hold, of account: PlayerID) {
        add(account)
        add(hold.currency.text)
        add(hold.amount.units)
        add(hold.timeoutMilliseconds)
    }

    private mutating func add(_ capture: Capture) {
        add(capture.holdKey.text)
        add(capture.operation.map { Int64($0) })
        add(capture.amount?.units)
    }

    private mutating func add(_ release: Release) {
        add(release.holdKey.text)
        add(release.operation.map { Int64($0) })
    }

    /// As it stands in an atomic.
    mutating func add(_ operation: KeyedOperation, of account: PlayerID?) {
        add(operation.method.description)
        add(members: operation, of: account)
    }

    /// - Parameter account: of an operation that names one.
    mutating func add(members operation: KeyedOperation, of account: PlayerID?) {
        switch operation {
        case .spend(let spend): add(spend, of: number(account))
        case .reverse(let reversal): add(reversal)
        case .grant(let grant): add(grant, of: number(account))
        case .hold(let hold): add(hold, of: number(account))
        case .capture(let capture): add(capture)
        case .release(let release): add(release)
        }
    }

    private func number(_ account: PlayerID?) -> PlayerID {
        guard let account else { preconditionFailure("an operation that names an account has its number") }
        return account
    }
}

extension KeyedOperation {
    /// - Parameter account: the number of the account that it names, if it names one.
    package func fingerprint(of account: PlayerID?, _ hash: HashFunction) -> Digest {
        CanonicalForm.digest(method, hash) { $0.add(members: self, of: account) }
    }
}

extension Consent {
    /// - Parameter account: the number of the account that it names.
    package func fingerprint(of account: PlayerID, _ hash: HashFunction) -> Digest {
        CanonicalForm.digest("consent", hash) { form in
            form.add(account)
            form.add(consumption ? 1 : 0)
        }
    }
}

extension Adjustment {
    /// Who approves it is no part of it: a repetition may have another approval.
    /// - Parameter account: the number of the account that it names.
    package func fingerprint(of account: PlayerID, _ hash: HashFunction) -> Digest {
        CanonicalForm.digest("adjust", hash) { form in
            form.add(account)
            form.add(currency.text)
            form.add(lotClass.name)
            form.add(units)
            form.add(reason)
        }
    }
}

extension LotImport {
    /// The same lots in another order are the same request.
    /// - Parameter account: the number of the account that it names.
    package func fingerprint(of account: PlayerID, _ hash: HashFunction) -> Digest {
        CanonicalForm.digest("import", hash) { form in
            form.add(account)
            form.add(Int64(lots.count))
            for lot in ordered {
                form.add(lot.currency.text)
                form.add(lot.amount.units)
                form.add(lot.purchase?.transaction.number)
                guard let purchase = lot.purchase else { continue }
                form.add(purchase.product)
                form.add(purchase.price)
                form.add(purchase.priceCurrency)
                form.add(purchase.purchaseDate)
            }
            for purchase in orderedUsedUp {
                form.add(purchase.transaction.number)
                form.add(purchase.product)
                form.add(purchase.purchaseDate)
            }
        }
    }
}

extension Atomic {
    /// Operations in another order are another request.
    /// - Parameter accounts: for each operation the number of the account that it names.
    package func fingerprint(of accounts: [PlayerID?], _ hash: HashFunction) -> Digest {
        CanonicalForm.digest("atomic", hash) { form in
            form.add(Int64(operations.count))
            for (operation, account) in zip(operations, accounts) { form.add(operation, of: account) }
        }
    }
}
