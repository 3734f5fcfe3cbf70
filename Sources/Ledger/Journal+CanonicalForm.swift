extension Journal {
    /// The bytes whose SHA-256 closes a block, so that anyone can check the chain with nothing but the tables.
    ///
    /// They are the hash of the block before (32 bytes; before the first block ``genesis(bundleID:environment:hash:)``), the block's
    /// number, then the rows that the block added: currencies, accounts, entries, transfers, purchases (in the order of
    /// their first evidence), evidence, assignments, notifications, requests, holds, lot expiries, each in the order of their
    /// ids (a hold's and an expiring lot's is a transfer's). A row is a tag byte and its fields as listed here. An integer is 8 bytes, big-endian, two's complement; a text or blob is its length in 4
    /// bytes, big-endian, and its bytes. A JWS's signing input (RFC 7515 §5.1) is the header segment, a dot and the payload in base64url, so
    /// its digest stands for both. A field that may be absent is preceded by a byte, 1 where it is there and 0 where
    /// it is absent (and then nothing follows).
    ///
    /// | tag | row | fields |
    /// |---|---|---|
    /// | 1 | currency | id, code |
    /// | 2 | account | id, name |
    /// | 3 | entry | id, time, kind, first_transfer, transaction_id?, key?, note? |
    /// | 4 | transfer | id, entry, debit, credit, amount, lot, debt_lot?, previous, spend_order?, reference? |
    /// | 5 | purchase | transaction_id, account?, product, quantity, purchase_date, price?, price_currency?, grants, evidence, entry? |
    /// | 6 | evidence | id, transaction_id, is_first, signed_date, revoked, time, entry?, SHA-256 of the JWS's signing input, signature |
    /// | 7 | assignment | id, transaction_id, account, time, entry |
    /// | 8 | notification | id, uuid, type, subtype?, signed_date, reason?, time, transaction_id?, SHA-256 of the JWS's signing input, signature |
    /// | 9 | request | id, key, fingerprint, entry?, answer |
    /// | 10 | hold | id, entry, account, currency, amount, expires_at |
    /// | 11 | lot_expiry | lot, expires_at |
    package func digest(
        after previous: Digest, block: Int64, currencies codes: [CurrencyCode], _ hash: HashFunction
    ) -> Digest {
        var form = BlockForm(reserving: 64 + transfers.count * 96 + evidence.count * 320 + requests.count * 160)
        form.add(raw: previous)
        form.add(block)
        for row in currencies {
            form.add(tag: 1, Int64(row.id))
            form.add(row.code.text)
        }
        for row in accounts {
            form.add(tag: 2, row.id)
            form.add(row.name.text)
        }
        for row in entries { form.add(row) }
        for row in transfers { form.add(row) }
        for row in purchases { form.add(row, codes) }
        for row in evidence { form.add(row) }
        for row in assignments {
            form.add(tag: 7, row.id)
            form.add(row.transaction.number)
            form.add(row.account)
            form.add(row.time)
            form.add(row.entry)
        }
        for row in notifications { form.add(row) }
        for row in requests {
            form.add(tag: 9, row.id)
            form.add(row.key.text)
            form.add(row.fingerprint)
            form.add(optional: row.entry)
            form.add(row.answer)
        }
        for row in holds {
            form.add(tag: 10, row.id)
            form.add(row.entry)
            form.add(row.account)
            form.add(Int64(row.currency))
            form.add(row.amount)
            form.add(row.expiresAt)
        }
        for row in lotExpiries {
            form.add(tag: 11, row.lot)
            form.add(row.expiresAt)
        }
        return form.digest(hash)
    }

    /// What stands before the first block: SHA-256 of `currency-ledger 1`, the bundle id and the environment, each
    /// followed by a zero byte.
    package static func genesis(bundleID: String, environment: String, hash: HashFunction) -> Digest {
        var bytes: [UInt8] = []
        for text in ["currency-ledger 1", bundleID, environment] {
            bytes.append(contentsOf: text.utf8)
            bytes.append(0)
        }
        return Digest(of: bytes, hash)
    }
}

extension Journal.PurchaseRow {
    /// What the catalog granted, as it is stored: `gems:500 tickets:5`.
    package func grantsText(_ codes: [CurrencyCode]) -> String {
        var text = ""
        for grant in grants {
            if !text.isEmpty { text += " " }
            text += codes[Int(grant.currency) - 1].text
            text += ":"
            text += String(grant.units)
        }
        return text
    }
}

private struct BlockForm: ~Copyable {
    private var form: ByteForm

    init(reserving capacity: Int) { form = ByteForm(capacity: capacity) }

    func digest(_ hash: HashFunction) -> Digest { form.digest(hash) }

    mutating func add(raw digest: Digest) { digest.withUnsafeBytes { form.add(raw: $0) } }

    /// A blob like others.
    mutating func add(_ digest: Digest) {
        form.add(length: Digest.byteCount)
        add(raw: digest)
    }

    mutating func add(_ number: Int64) { form.add(number) }

    mutating func add(tag: UInt8, _ number: Int64) {
        form.add(byte: tag)
        form.add(number)
    }

    mutating func add(optional number: Int64?) {
        guard let number else { return form.add(byte: 0) }
        form.add(byte: 1)
        form.add(number)
    }

    mutating func add(_ text: String) {
        form.add(length: text.utf8.count)
        form.add(raw: text)
    }

    mutating func add(optional text: String?) {
        guard let text else { return form.add(byte: 0) }
        form.add(byte: 1)
        add(text)
    }

    mutating func add(_ blob: [UInt8]) {
        form.add(length: blob.count)
        form.add(raw: blob)
    }

    mutating func add(_ row: Entry) {
        add(tag: 3, row.id)
        add(row.time)
        add(row.kind.rawValue)
        add(row.firstTransfer)
        add(optional: row.transaction?.number)
        add(optional: row.key?.text)
        add(optional: row.note)
    }

    mutating func add(_ row: Transfer) {
        add(tag: 4, row.id)
        add(row.entry)
        add(row.debit.number)
        add(row.credit.number)
        add(row.amount)
        add(row.lot)
        add(optional: row.debtLot)
        add(row.previous)
        add(optional: row.spendOrder?.number)
        add(optional: row.reference)
    }

    mutating func add(_ row: Journal.PurchaseRow, _ codes: [CurrencyCode]) {
        add(tag: 5, row.facts.transaction.number)
        add(optional: row.account)
        add(row.facts.product)
        add(row.facts.quantity)
        add(row.facts.purchaseDate)
        add(optional: row.facts.price)
        add(optional: row.facts.priceCurrency)
        add(row.grantsText(codes))
        add(row.evidence)
        add(optional: row.entry)
    }

    mutating func add(_ row: Journal.EvidenceRow) {
        add(tag: 6, row.id)
        add(row.transaction.number)
        add(row.isFirst ? 1 : 0)
        add(row.signedDate)
        add(row.revoked)
        add(row.time)
        add(optional: row.entry)
        add(row.evidence.signedDigest)
        add(row.evidence.signature)
    }

    mutating func add(_ row: Journal.NotificationRow) {
        let signed = row.signed
        add(tag: 8, row.id)
        add(signed.uuid)
        add(signed.type)
        add(optional: signed.subtype)
        add(signed.signedDate)
        add(optional: signed.reason)
        add(row.time)
        add(optional: signed.purchase?.facts.transaction.number)
        add(signed.evidence.signedDigest)
        add(signed.evidence.signature)
    }
}
