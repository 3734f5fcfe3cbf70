/// The canonical form of a keyed request: its method and its members in a fixed order, each text with its length,
/// so that the order of members in the message, or an optional member given its default, makes no difference.
/// The fingerprint stored with a key is its SHA-256. Shipped forms never change.
struct CanonicalForm {
    private var bytes: [UInt8]

    init(_ method: StaticString) {
        bytes = []
        bytes.reserveCapacity(160)
        method.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(0)
    }

    mutating func add(_ text: String?) {
        guard let text else { return add(-1) }
        add(Int64(text.utf8.count))
        bytes.append(contentsOf: text.utf8)
    }

    mutating func add(_ number: Int64?) {
        guard let number else { return bytes.append(0) }
        bytes.append(1)
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }

    func digest(_ hash: HashFunction) -> Digest { bytes.withUnsafeBytes { hash($0) } }
}

extension Spend {
    /// Debits in another order are the same request.
    package func fingerprint(_ hash: HashFunction) -> Digest {
        var form = CanonicalForm("spend")
        form.add(account.text)
        form.add(Int64(debits.count))
        for debit in debits.count > 1 ? debits.sorted(by: { $0.currency < $1.currency }) : debits {
            form.add(debit.currency.text)
            form.add(debit.amount.units)
        }
        form.add(note)
        form.add(funds.rawValue)
        form.add(expectedVersion)
        form.add(minimumRemaining)
        return form.digest(hash)
    }
}

extension Grant {
    package func fingerprint(_ hash: HashFunction) -> Digest {
        var form = CanonicalForm("grant")
        form.add(account.text)
        form.add(currency.text)
        form.add(amount.units)
        form.add(note)
        return form.digest(hash)
    }
}
