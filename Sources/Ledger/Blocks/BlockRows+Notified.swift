/// What notifications changed.
extension BlockRows {
    /// For each notification of the block, in their order, the entry that the JWS of its purchase led to; `nil` where
    /// that said nothing new, or changed nothing. The evidence must be there as a whole.
    package var notifiedEntries: [EntryID?] {
        if notifications.isEmpty { return [] }
        var posted: [TransactionID: [EvidenceRow]] = [:]
        for row in evidence where row.entry != nil { posted[row.transaction, default: []].append(row) }
        return notifications.map { notification in
            guard let transaction = notification.transaction else { return nil }
            return posted[transaction]?.first { notification.carries($0) }?.entry
        }
    }
}

extension BlockRows.NotificationRow {
    /// Whether a JWS is the one that its payload carries, byte for byte.
    fileprivate func carries(_ evidence: BlockRows.EvidenceRow) -> Bool {
        guard let nested, nested.header == evidence.header, nested.at <= payload.count else { return false }
        var rest = payload.dropFirst(Int(nested.at))
        for part in [evidence.payload, evidence.signature] {
            let text = [UInt8(ascii: ".")] + base64URL(part)
            guard rest.starts(with: text) else { return false }
            rest = rest.dropFirst(text.count)
        }
        return true
    }
}

/// Base64 with the alphabet for URLs, without padding (RFC 4648 §5).
private func base64URL(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count * 4 + 2) / 3)
    var (bits, count) = (UInt32(0), 0)
    for byte in bytes {
        bits = bits << 8 | UInt32(byte)
        count += 8
        while count >= 6 {
            count -= 6
            text.append(alphabet[Int(bits >> UInt32(count)) & 63])
        }
    }
    if count > 0 { text.append(alphabet[Int(bits << UInt32(6 - count)) & 63]) }
    return text
}
