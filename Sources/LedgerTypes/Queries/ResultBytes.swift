// How many bytes the entries of pages have in a result, at most: what their members' names, numbers and signs take, and
// their texts, with the escapes that JSON needs for them. Pages end by these sums before they are written.

extension JournalEntry {
    /// Without its transfers.
    package var resultBytes: Int {
        205 + textBytes(key?.text, escapes: 2) + textBytes(note, escapes: 6) + textBytes(actor, escapes: 6)
    }
}

extension JournalEntry.Line {
    package var resultBytes: Int { 220 + textBytes(account.text, escapes: 2) + textBytes(currency.text, escapes: 1) }
}

extension HistoryEntry {
    /// With its transfers and balances.
    package var resultBytes: Int {
        var bytes = 360 + textBytes(key?.text, escapes: 2) + textBytes(note, escapes: 6)
        bytes += textBytes(product, escapes: 6) + textBytes(priceCurrency, escapes: 6) + textBytes(actor, escapes: 6)
        for transfer in transfers { bytes += 220 + textBytes(transfer.currency.text, escapes: 1) }
        for balance in balances { bytes += CurrencyBalance.resultBytesMax(codeBytes: balance.currency.text.utf8.count) }
        return bytes
    }
}

extension OpenLot {
    package var resultBytes: Int {
        300 + textBytes(currency.text, escapes: 1) + textBytes(product, escapes: 6)
    }
}

extension OpenHoldView {
    package var resultBytes: Int {
        180 + textBytes(key.text, escapes: 2) + textBytes(currency.text, escapes: 1) + textBytes(actor, escapes: 6)
    }
}

extension ReportRow.Notification {
    package var resultBytes: Int {
        var bytes = 300 + textBytes(uuid, escapes: 6) + textBytes(type, escapes: 6) + textBytes(subtype, escapes: 6)
        bytes += textBytes(account?.text, escapes: 2)
        for amount in posted { bytes += 50 + textBytes(amount.currency.text, escapes: 1) }
        return bytes
    }
}

extension ReportRow.ConsumptionRequest {
    package var resultBytes: Int {
        330 + textBytes(uuid, escapes: 6) + textBytes(product, escapes: 6) + textBytes(reason, escapes: 6)
            + textBytes(account?.text, escapes: 2)
    }
}

extension ReportLine {
    package var resultBytes: Int {
        zip(kind.columns, values).reduce(2) { bytes, item in
            let (column, value) = item
            if case .text(let text)? = value { return bytes + column.name.utf8.count + 6 + textBytes(text, escapes: 6) }
            return bytes + column.name.utf8.count + 50
        }
    }
}

extension CurrencyBalance {
    /// The largest of a currency whose code has so many bytes.
    package static func resultBytesMax(codeBytes: Int = Limits.codeBytesMax) -> Int { 180 + codeBytes }
}

/// - Parameter escapes: into how many bytes one of it may be escaped: 2 where there are no control characters.
private func textBytes(_ text: String?, escapes: Int) -> Int { (text?.utf8.count ?? 0) * escapes }
