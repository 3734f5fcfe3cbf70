/// Rows of what was signed and asked, and of catalogs.
extension Block {
    /// An entry of this block as its distance from the one that the section named last; no section names one twice.
    private func step(_ entry: EntryID, _ last: inout EntryID) -> Int64 {
        precondition(entry > last && entry <= position.entry, "a row names no entry of its block, or one out of order")
        let step = entry - last
        last = entry
        return step
    }

    /// The last entry before the block.
    private var entryBefore: EntryID { position.entry - Int64(rows.entries.count) }

    /// A header as its distance from the newest.
    private func distance(_ header: HeaderID) -> Int64 {
        precondition(header >= 1, "a header has no number")
        return position.header - header
    }

    func writePurchases(to writer: inout BlockWriter) {
        if rows.purchases.isEmpty {
            precondition(!rows.evidence.contains { $0.isFirst }, "first evidence has no purchase")
            return
        }
        var entry = entryBefore
        // The next first evidence: a purchase that has evidence has this one.
        var evidence = rows.evidence.startIndex
        let section = writer.begin(.purchases, rows: rows.purchases.count)
        for row in rows.purchases {
            let facts = row.facts
            if row.evidence != 0 {
                while evidence < rows.evidence.endIndex, !rows.evidence[evidence].isFirst { evidence += 1 }
                precondition(
                    evidence < rows.evidence.endIndex && rows.evidence[evidence].id == row.evidence
                        && rows.evidence[evidence].transaction == facts.transaction,
                    "a purchase has no first evidence, or another's")
                evidence += 1
            }
            writer.add(byte: row.flags)
            writer.add(byte: row.detailFlags)
            writer.add(number: facts.transaction.number)
            writer.add(text: facts.product)
            writer.add(number: facts.quantity)
            writer.add(time: facts.purchaseDate, from: time)
            if let price = facts.price { writer.add(number: price) }
            if let priceCurrency = facts.priceCurrency { writer.add(text: priceCurrency) }
            if let storefront = facts.storefront { writer.add(text: storefront) }
            if let offer = facts.offer {
                writer.add(integer: offer.type)
                if let identifier = offer.identifier { writer.add(text: identifier) }
                if let discountType = offer.discountType { writer.add(text: discountType) }
            }
            if let original = facts.original, original != facts.transaction { writer.add(number: original.number) }
            if let ownership = facts.ownership, ownership != BlockForm.purchased { writer.add(text: ownership) }
            if let account = row.account { writer.add(number: account) }
            if let id = row.entry { writer.add(number: step(id, &entry)) }
            writer.add(count: row.grants.count)
            for grant in row.grants {
                writer.add(byte: grant.currency)
                writer.add(number: grant.units)
                writer.add(number: grant.weight)
            }
        }
        writer.end(section)
        precondition(!rows.evidence[evidence...].contains { $0.isFirst }, "first evidence has no purchase")
    }

    func writeEvidence(to writer: inout BlockWriter) {
        if rows.evidence.isEmpty { return }
        var id = position.evidence - Int64(rows.evidence.count)
        var entry = entryBefore
        let section = writer.begin(.evidence, rows: rows.evidence.count)
        for index in rows.evidence.indices {
            let row = rows.evidence[index]
            id += 1
            precondition(row.id == id, "evidence is not dense")
            var flags: UInt8 = 0
            if row.isFirst { flags |= BlockForm.EvidenceFlag.first }
            if row.revoked != 0 { flags |= BlockForm.EvidenceFlag.revoked }
            if row.time != time { flags |= BlockForm.EvidenceFlag.time }
            writer.add(byte: flags)
            if !row.isFirst { writer.add(number: row.transaction.number) }
            writer.add(time: row.signedDate, from: time)
            if row.revoked != 0 { writer.add(number: row.revoked) }
            if row.time != time { writer.add(time: row.time, from: time) }
            writer.add(number: row.entry.map { step($0, &entry) } ?? 0)
            writer.add(number: distance(row.header))
            writer.add(bytes: row.payload)
            writer.add(bytes: row.signature)
        }
        writer.end(section)
    }

    func writeAssignments(to writer: inout BlockWriter) {
        if rows.assignments.isEmpty { return }
        var id = position.assignment - Int64(rows.assignments.count)
        var entry = entryBefore
        let section = writer.begin(.assignments, rows: rows.assignments.count)
        for row in rows.assignments {
            id += 1
            precondition(row.id == id, "assignments are not dense")
            writer.add(number: row.transaction.number)
            writer.add(number: row.account)
            writer.add(time: row.time, from: time)
            writer.add(number: step(row.entry, &entry))
        }
        writer.end(section)
    }

    func writeNotifications(to writer: inout BlockWriter) {
        if rows.notifications.isEmpty { return }
        var id = position.notification - Int64(rows.notifications.count)
        let section = writer.begin(.notifications, rows: rows.notifications.count)
        for row in rows.notifications {
            id += 1
            precondition(row.id == id, "notifications are not dense")
            var flags: UInt8 = 0
            if row.subtype != nil { flags |= BlockForm.NotificationFlag.subtype }
            if row.reason != nil { flags |= BlockForm.NotificationFlag.reason }
            if row.transaction != nil { flags |= BlockForm.NotificationFlag.transaction }
            if row.nested != nil { flags |= BlockForm.NotificationFlag.nested }
            if row.subject != nil { flags |= BlockForm.NotificationFlag.subject }
            writer.add(byte: flags)
            writer.add(text: row.uuid)
            writer.add(text: row.type)
            if let subtype = row.subtype { writer.add(text: subtype) }
            writer.add(time: row.signedDate, from: time)
            if let reason = row.reason { writer.add(text: reason) }
            writer.add(time: row.time, from: time)
            if let transaction = row.transaction { writer.add(number: transaction.number) }
            if let subject = row.subject { writer.add(number: subject.number) }
            writer.add(number: distance(row.header))
            writer.add(bytes: row.payload)
            if let nested = row.nested {
                precondition(nested.at <= row.payload.count, "a nested header was cut out beyond the payload")
                writer.add(number: distance(nested.header))
                writer.add(number: nested.at)
            }
            writer.add(bytes: row.signature)
        }
        writer.end(section)
    }

    func writeRequests(to writer: inout BlockWriter) {
        if rows.requests.isEmpty { return }
        var id = position.request - Int64(rows.requests.count)
        let first = entryBefore + 1
        var entry = entryBefore
        let section = writer.begin(.requests, rows: rows.requests.count)
        for index in rows.requests.indices {
            let row = rows.requests[index]
            id += 1
            precondition(row.id == id, "requests are not dense")
            writer.add(text: row.key.text)
            writer.add(row.fingerprint)
            if let named = row.entry {
                writer.add(number: step(named, &entry))
                precondition(
                    rows.entries[Int(named - first)].key == row.key, "an entry has another key than its request")
            } else {
                writer.add(number: 0)
            }
            writer.add(bytes: row.answer)
        }
        writer.end(section)
    }

    func writeHolds(to writer: inout BlockWriter) {
        if rows.holds.isEmpty { return }
        let first = position.transfer - Int64(rows.transfers.count) + 1
        var last = first - 1
        let section = writer.begin(.holds, rows: rows.holds.count)
        for row in rows.holds {
            precondition(row.id > last && row.id <= position.transfer, "a hold's first transfer is not in its block")
            let transfer = rows.transfers[Int(row.id - first)]
            precondition(
                transfer.entry == row.entry && transfer.player == row.account
                    && transfer.debit.currency == row.currency && transfer.credit.kind == .held && row.amount >= 1
                    && row.amount <= Limits.amountMax, "a hold is not what its first transfer sets aside")
            writer.add(number: row.id - last)
            writer.add(number: row.amount)
            writer.add(time: row.expiresAt, from: time)
            last = row.id
        }
        writer.end(section)
    }

    /// The closing of a period, catalogs, erasures and calls.
    func writeLater(to writer: inout BlockWriter) {
        if let closedThrough = rows.closedThrough {
            let section = writer.begin(.closing, rows: 1)
            writer.add(time: closedThrough, from: time)
            writer.end(section)
        }
        if !rows.links.isEmpty {
            var entry = entryBefore
            let section = writer.begin(.links, rows: rows.links.count)
            for row in rows.links {
                writer.add(byte: row.actor == nil ? 0 : BlockForm.LinkFlag.actor)
                writer.add(number: row.token)
                writer.add(number: row.account)
                writer.add(number: row.entry.map { step($0, &entry) } ?? 0)
                writer.add(time: row.time, from: time)
                if let actor = row.actor { writer.add(number: actor) }
            }
            writer.end(section)
        }
        if !rows.consents.isEmpty {
            let section = writer.begin(.consents, rows: rows.consents.count)
            for row in rows.consents {
                writer.add(
                    byte: (row.consumption ? BlockForm.ConsentFlag.consumption : 0)
                        | (row.actor == nil ? 0 : BlockForm.ConsentFlag.actor))
                writer.add(number: row.account)
                writer.add(time: row.time, from: time)
                if let actor = row.actor { writer.add(number: actor) }
            }
            writer.end(section)
        }
        if !rows.adjustments.isEmpty {
            var entry = entryBefore
            let section = writer.begin(.adjustments, rows: rows.adjustments.count)
            for row in rows.adjustments {
                writer.add(
                    byte: UInt8(truncatingIfNeeded: row.lotClass.rawValue)
                        | (row.approver == nil ? 0 : BlockForm.AdjustmentFlag.approver))
                writer.add(number: step(row.entry, &entry))
                writer.add(text: row.reason)
                if let approver = row.approver { writer.add(number: approver) }
            }
            writer.end(section)
        }
        if !rows.externals.isEmpty {
            let section = writer.begin(.externals, rows: rows.externals.count)
            for row in rows.externals {
                writer.add(number: row.transaction.number)
                writer.add(text: row.source)
                writer.add(text: row.identifier)
            }
            writer.end(section)
        }
        if !rows.catalogs.isEmpty {
            let section = writer.begin(.catalogs, rows: rows.catalogs.count)
            for row in rows.catalogs {
                writer.add(number: row.version)
                writer.add(row.digest)
                writer.add(time: row.time, from: time)
            }
            writer.end(section)
        }
        if !rows.erasures.isEmpty {
            let section = writer.begin(.erasures, rows: rows.erasures.count)
            for row in rows.erasures {
                writer.add(byte: row.actor == nil ? 0 : BlockForm.ErasureFlag.actor)
                writer.add(number: row.account)
                writer.add(time: row.time, from: time)
                if let actor = row.actor { writer.add(number: actor) }
            }
            writer.end(section)
        }
        writeCalls(to: &writer)
        writeStatements(to: &writer)
        writeClosings(to: &writer)
    }

    private func writeCalls(to writer: inout BlockWriter) {
        if rows.calls.isEmpty { return }
        let section = writer.begin(.calls, rows: rows.calls.count)
        for row in rows.calls {
            precondition(
                (row.notification != nil) == (row.kind == .consumption), "a call answers what it cannot answer")
            precondition(row.body.count <= Limits.appStoreCallBytesMax, "a call's body is too large")
            writer.add(
                byte: row.kind.rawValue | row.endFlag | (row.body.isEmpty ? 0 : BlockForm.CallFlag.body))
            writer.add(number: row.transaction.number)
            if let notification = row.notification { writer.add(number: notification) }
            if let code = row.end.code {
                precondition(BlockForm.codes.contains(code), "a call's code is not within ±(2^53 − 1)")
                writer.add(integer: code)
            }
            if !row.body.isEmpty { writer.add(bytes: row.body) }
            writer.add(time: row.time, from: time)
        }
        writer.end(section)
    }

    private func writeStatements(to writer: inout BlockWriter) {
        if rows.statements.isEmpty { return }
        var entry = entryBefore
        let section = writer.begin(.statements, rows: rows.statements.count)
        for row in rows.statements {
            precondition(row.revoked >= 0 && row.revoked <= Limits.wholeShare, "a statement revokes more than all")
            writer.add(
                byte: (row.revoked == 0 ? 0 : BlockForm.StatementFlag.revoked)
                    | (row.actor == nil ? 0 : BlockForm.StatementFlag.actor))
            writer.add(number: row.transaction.number)
            if row.revoked != 0 { writer.add(number: row.revoked) }
            writer.add(time: row.time, from: time)
            writer.add(number: row.entry.map { step($0, &entry) } ?? 0)
            if let actor = row.actor { writer.add(number: actor) }
        }
        writer.end(section)
    }

    private func writeClosings(to writer: inout BlockWriter) {
        if rows.closings.isEmpty { return }
        let section = writer.begin(.closings, rows: rows.closings.count)
        for row in rows.closings {
            writer.add(byte: row.actor == nil ? 0 : BlockForm.ClosingFlag.actor)
            writer.add(time: row.through, from: time)
            writer.add(time: row.time, from: time)
            if let actor = row.actor { writer.add(number: actor) }
        }
        writer.end(section)
    }
}

extension BlockRows.CallRow {
    fileprivate var endFlag: UInt8 {
        switch end {
        case .accepted: BlockForm.CallFlag.accepted
        case .refused: BlockForm.CallFlag.refused
        case .expired: BlockForm.CallFlag.expired
        }
    }
}

extension BlockRows.PurchaseRow {
    fileprivate var flags: UInt8 {
        var flags = UInt8(truncatingIfNeeded: facts.source.rawValue)
        if evidence != 0 { flags |= BlockForm.PurchaseFlag.evidence }
        if account != nil { flags |= BlockForm.PurchaseFlag.account }
        if entry != nil { flags |= BlockForm.PurchaseFlag.entry }
        if facts.price != nil { flags |= BlockForm.PurchaseFlag.price }
        if facts.priceCurrency != nil { flags |= BlockForm.PurchaseFlag.priceCurrency }
        return flags
    }

    fileprivate var detailFlags: UInt8 {
        var flags: UInt8 = 0
        if facts.storefront != nil { flags |= BlockForm.PurchaseDetail.storefront }
        if let offer = facts.offer {
            flags |= BlockForm.PurchaseDetail.offer
            if offer.identifier != nil { flags |= BlockForm.PurchaseDetail.offerIdentifier }
            if offer.discountType != nil { flags |= BlockForm.PurchaseDetail.offerDiscount }
        }
        if let original = facts.original {
            flags |=
                original == facts.transaction
                ? BlockForm.PurchaseDetail.originalIsOwn : BlockForm.PurchaseDetail.original
        }
        if let ownership = facts.ownership {
            flags |=
                ownership == BlockForm.purchased
                ? BlockForm.PurchaseDetail.isPurchased : BlockForm.PurchaseDetail.ownership
        }
        return flags
    }

    /// A bound of the row's bytes.
    var encodedBytesMax: Int {
        var sum = 2 + 13 * 10 + facts.product.utf8.count + grants.count * (1 + 2 * 10)
        for text in [facts.priceCurrency, facts.storefront, facts.offer?.identifier, facts.offer?.discountType] {
            sum += text?.utf8.count ?? 0
        }
        return sum + (facts.ownership?.utf8.count ?? 0)
    }
}

extension BlockRows.NotificationRow {
    /// A bound of the row's bytes.
    var encodedBytesMax: Int {
        var sum = 1 + 12 * 10 + uuid.utf8.count + type.utf8.count + payload.count + signature.count
        sum += (subtype?.utf8.count ?? 0) + (reason?.utf8.count ?? 0)
        return sum
    }
}
