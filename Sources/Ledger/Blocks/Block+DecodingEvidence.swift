/// Rows of what was signed and asked, and of catalogs.
extension BlockDecoder {
    private var entryBefore: EntryID { position.entry - Int64(rows.entries.count) }

    /// An entry of this block, as its distance from the one that the section named last; `nil` for none.
    private mutating func step(_ last: inout EntryID) -> EntryID? {
        let step = reader.number()
        if step == 0 { return nil }
        if step > position.entry - last {
            reader.fail(.inconsistent, "it names an entry that the block does not have")
            return nil
        }
        last += step
        return last
    }

    /// The same where there must be one; 0 with a fault.
    private mutating func someStep(_ last: inout EntryID) -> EntryID {
        guard let entry = step(&last) else {
            reader.fail(.malformed, "it names no entry")
            return 0
        }
        return entry
    }

    /// The place of an entry of this block.
    private func index(_ entry: EntryID) -> Int { Int(entry - entryBefore - 1) }

    private mutating func header() -> HeaderID {
        let distance = reader.number()
        reader.require(distance < position.header, "it names a header that there is not")
        return position.header - distance
    }

    private mutating func signature() -> Range<Int> {
        let place = reader.blob()
        reader.require(place.count == BlockForm.signatureBytes, "its signature does not have 64 bytes")
        return place
    }

    private mutating func account() -> PlayerID {
        let player = reader.number()
        reader.require(player >= 1 && player <= position.account, "it names an account that there is not")
        return player
    }

    private mutating func flags(_ defined: UInt8) -> UInt8 {
        let flags = reader.byte()
        if flags & ~defined != 0 { reader.fail(.malformed, "a flag is not defined") }
        return flags
    }

    mutating func purchases(_ count: Int) throws(BlockError) {
        rows.purchases.reserveCapacity(room(count, rowBytesMin: 7))
        var entry = entryBefore
        for row in 0..<count {
            let flags = reader.byte()
            let facts = self.facts(flags)
            let account = flags & BlockForm.PurchaseFlag.account == 0 ? nil : self.account()
            let named = flags & BlockForm.PurchaseFlag.entry == 0 ? nil : someStep(&entry)
            let grants = self.grants()
            // What grants nothing has an account, and no entry.
            reader.require(
                grants.isEmpty ? named == nil : (account == nil) == (named == nil),
                "it has an account without an entry, or the reverse")
            try check(.purchases, row: row)
            let isEvidenced = flags & BlockForm.PurchaseFlag.evidence != 0
            if isEvidenced { firstEvidence.append(facts.transaction) }
            // Which evidence it is will be said by the evidence's rows.
            rows.purchases.append(
                BlockRows.PurchaseRow(
                    facts: facts, grants: grants, account: account, evidence: isEvidenced ? -1 : 0, entry: named))
        }
    }

    private mutating func facts(_ flags: UInt8) -> PurchaseFacts {
        let detail = reader.byte()
        let source = PurchaseSource(rawValue: Int64(flags & BlockForm.PurchaseFlag.source))
        if source == nil { reader.fail(.malformed, "its source is not defined") }
        var facts = PurchaseFacts(
            transaction: reader.transaction(), product: reader.text(), quantity: reader.number(),
            purchaseDate: reader.time(from: time), source: source ?? .appStore)
        reader.require(facts.quantity >= 1, "it is of nothing")
        if flags & BlockForm.PurchaseFlag.price != 0 {
            let price = reader.number()
            reader.require(price <= Limits.amountMax, "its price is more than 2^53 − 1")
            facts.price = price
        }
        if flags & BlockForm.PurchaseFlag.priceCurrency != 0 { facts.priceCurrency = reader.text() }
        if detail & BlockForm.PurchaseDetail.storefront != 0 { facts.storefront = reader.text() }
        let offer = BlockForm.PurchaseDetail.offerIdentifier | BlockForm.PurchaseDetail.offerDiscount
        if detail & BlockForm.PurchaseDetail.offer != 0 {
            facts.offer = PurchaseFacts.Offer(
                type: reader.integer(),
                identifier: detail & BlockForm.PurchaseDetail.offerIdentifier == 0 ? nil : reader.text(),
                discountType: detail & BlockForm.PurchaseDetail.offerDiscount == 0 ? nil : reader.text())
        } else if detail & offer != 0 {
            reader.fail(.malformed, "a part of an offer is there without it")
        }
        switch detail & (BlockForm.PurchaseDetail.originalIsOwn | BlockForm.PurchaseDetail.original) {
        case 0: break
        case BlockForm.PurchaseDetail.originalIsOwn: facts.original = facts.transaction
        case BlockForm.PurchaseDetail.original:
            facts.original = reader.transaction()
            if facts.original == facts.transaction { reader.fail(.malformed, "its own number is written as another's") }
        case _: reader.fail(.malformed, "a flag is not defined")
        }
        switch detail & (BlockForm.PurchaseDetail.isPurchased | BlockForm.PurchaseDetail.ownership) {
        case 0: break
        case BlockForm.PurchaseDetail.isPurchased: facts.ownership = BlockForm.purchased
        case BlockForm.PurchaseDetail.ownership:
            facts.ownership = reader.text()
            if facts.ownership == BlockForm.purchased { reader.fail(.malformed, "the usual ownership is written out") }
        case _: reader.fail(.malformed, "a flag is not defined")
        }
        return facts
    }

    private mutating func grants() -> [PurchaseRegister.Grant] {
        let count = reader.number()
        // A grant has three bytes at least.
        if count > Int64((reader.end - reader.place) / 3) {
            reader.fail(.malformed, "it has more grants than bytes")
            return []
        }
        var grants: [PurchaseRegister.Grant] = []
        grants.reserveCapacity(Int(count))
        for _ in 0..<count {
            let currency = reader.byte()
            reader.require(currency >= 1 && currency <= position.currency, "it grants a currency that there is not")
            let grant = PurchaseRegister.Grant(currency: currency, units: reader.number(), weight: reader.number())
            reader.require(
                grant.units >= 1 && grant.units <= Limits.amountMax && grant.weight <= Limits.amountMax,
                "it grants an amount that cannot be")
            grants.append(grant)
        }
        return grants
    }

    mutating func evidence(_ count: Int) throws(BlockError) {
        var id = try before(position.evidence, count, .evidence)
        var entry = entryBefore
        // The next purchase that has evidence.
        var purchase = rows.purchases.startIndex
        rows.evidence.reserveCapacity(room(count, rowBytesMin: 6))
        for row in 0..<count {
            id += 1
            let flags = self.flags(BlockForm.EvidenceFlag.all)
            let isFirst = flags & BlockForm.EvidenceFlag.first != 0
            var transaction = TransactionID(number: 0)
            if isFirst {
                while purchase < rows.purchases.endIndex, rows.purchases[purchase].evidence == 0 { purchase += 1 }
                guard purchase < rows.purchases.endIndex else {
                    throw error(.inconsistent, .evidence, row: row, "it is the first of no purchase")
                }
                transaction = rows.purchases[purchase].facts.transaction
                rows.purchases[purchase].evidence = id
                purchase += 1
                firstEvidenceRead += 1
            } else {
                transaction = reader.transaction()
            }
            let signedDate = reader.time(from: time)
            var revoked: Int64 = 0
            if flags & BlockForm.EvidenceFlag.revoked != 0 {
                revoked = reader.number()
                if revoked == 0 { reader.fail(.malformed, "a share of 0 is written") }
                reader.require(revoked <= Limits.wholeShare, "it revokes more than all")
            }
            var received = time
            if flags & BlockForm.EvidenceFlag.time != 0 {
                received = reader.time(from: time)
                if received == time { reader.fail(.malformed, "the block's own time is written") }
            }
            let named = step(&entry)
            let header = self.header()
            let payload = reader.blob()
            let signature = self.signature()
            try check(.evidence, row: row)
            if let named {
                if rows.entries[index(named)].transaction != nil {
                    throw error(.malformed, .evidence, row: row, "its entry names the transaction by itself")
                }
                rows.entries[index(named)].transaction = transaction
            }
            let isWhole = evidenceBytes == .whole
            rows.evidence.append(
                BlockRows.EvidenceRow(
                    id: id, transaction: transaction, isFirst: isFirst, signedDate: signedDate, revoked: revoked,
                    time: received, entry: named, header: header, payload: isWhole ? sealed.body[payload] : [],
                    signature: isWhole ? sealed.body[signature] : []))
        }
    }

    mutating func assignments(_ count: Int) throws(BlockError) {
        var id = try before(position.assignment, count, .assignments)
        var entry = entryBefore
        for row in 0..<count {
            id += 1
            rows.assignments.append(
                BlockRows.AssignmentRow(
                    id: id, transaction: reader.transaction(), account: account(), time: reader.time(from: time),
                    entry: someStep(&entry)))
            try check(.assignments, row: row)
        }
    }

    mutating func notifications(_ count: Int) throws(BlockError) {
        var id = try before(position.notification, count, .notifications)
        for row in 0..<count {
            id += 1
            let flags = self.flags(BlockForm.NotificationFlag.all)
            let uuid = reader.text()
            let type = reader.text()
            let subtype = flags & BlockForm.NotificationFlag.subtype == 0 ? nil : reader.text()
            let signedDate = reader.time(from: time)
            let reason = flags & BlockForm.NotificationFlag.reason == 0 ? nil : reader.text()
            let received = reader.time(from: time)
            let transaction = flags & BlockForm.NotificationFlag.transaction == 0 ? nil : reader.transaction()
            let subject = flags & BlockForm.NotificationFlag.subject == 0 ? nil : reader.transaction()
            reader.require(transaction == nil || subject == nil, "it is about another purchase than it carries")
            let header = self.header()
            let payload = reader.blob()
            var nested: BlockRows.NotificationRow.Nested?
            if flags & BlockForm.NotificationFlag.nested != 0 {
                let cut = BlockRows.NotificationRow.Nested(header: self.header(), at: reader.number())
                reader.require(cut.at <= payload.count, "its nested header was cut out beyond the payload")
                nested = cut
            }
            let signature = self.signature()
            try check(.notifications, row: row)
            let isWhole = evidenceBytes == .whole
            rows.notifications.append(
                BlockRows.NotificationRow(
                    id: id, uuid: uuid, type: type, subtype: subtype, signedDate: signedDate, reason: reason,
                    time: received, transaction: transaction, subject: subject, header: header,
                    payload: isWhole ? sealed.body[payload] : [], nested: nested,
                    signature: isWhole ? sealed.body[signature] : []))
        }
    }

    mutating func requests(_ count: Int) throws(BlockError) {
        var id = try before(position.request, count, .requests)
        var entry = entryBefore
        rows.requests.reserveCapacity(room(count, rowBytesMin: 2 + Digest.byteCount))
        for row in 0..<count {
            id += 1
            let key = RequestKey(reader.text())
            if key == nil { reader.fail(.malformed, "it has no key") }
            let fingerprint = reader.digest()
            let named = step(&entry)
            let answer = blob()
            try check(.requests, row: row)
            guard let key else { throw error(.malformed, .requests, row: row, "it has no key") }
            if let named { rows.entries[index(named)].key = key }
            rows.requests.append(
                BlockRows.RequestRow(id: id, key: key, fingerprint: fingerprint, entry: named, answer: answer))
        }
    }

    mutating func holds(_ count: Int) throws(BlockError) {
        var last = position.transfer - Int64(rows.transfers.count)
        if rows.transfers.isEmpty { throw error(.inconsistent, .holds, "no transfer sets anything aside") }
        let first = last + 1
        for row in 0..<count {
            let step = reader.number()
            reader.require(step >= 1 && step <= position.transfer - last, "its first transfer is not in the block")
            let amount = reader.number()
            reader.require(amount >= 1 && amount <= Limits.amountMax, "its amount is not within 1 … 2^53 − 1")
            let expiresAt = reader.time(from: time)
            try check(.holds, row: row)
            last += step
            let transfer = rows.transfers[Int(last - first)]
            if transfer.credit.kind != .held {
                throw error(.inconsistent, .holds, row: row, "its first transfer sets nothing aside")
            }
            rows.holds.append(
                BlockRows.HoldRow(
                    id: last, entry: transfer.entry, account: transfer.player, currency: transfer.debit.currency,
                    amount: amount, expiresAt: expiresAt))
        }
    }

    mutating func closing(_ count: Int) throws(BlockError) {
        if count != 1 { throw error(.malformed, .closing, "there is more than one") }
        rows.closedThrough = reader.time(from: time)
        try check(.closing)
    }
}

/// Erasures, calls, and catalogs.
extension BlockDecoder {
    mutating func erasures(_ count: Int) throws(BlockError) {
        for row in 0..<count {
            let flags = self.flags(BlockForm.ErasureFlag.all)
            rows.erasures.append(
                BlockRows.ErasureRow(
                    account: account(), time: reader.time(from: time),
                    actor: actor(flags & BlockForm.ErasureFlag.actor != 0)))
            try check(.erasures, row: row)
        }
    }

    mutating func statements(_ count: Int) throws(BlockError) {
        var entry = entryBefore
        for row in 0..<count {
            let flags = self.flags(BlockForm.StatementFlag.all)
            let transaction = reader.transaction()
            var revoked: Int64 = 0
            if flags & BlockForm.StatementFlag.revoked != 0 {
                revoked = reader.number()
                if revoked == 0 { reader.fail(.malformed, "a share of 0 is written") }
                reader.require(revoked <= Limits.wholeShare, "it revokes more than all")
            }
            rows.statements.append(
                BlockRows.StatementRow(
                    transaction: transaction, revoked: revoked, time: reader.time(from: time), entry: step(&entry),
                    actor: actor(flags & BlockForm.StatementFlag.actor != 0)))
            try check(.statements, row: row)
        }
    }

    mutating func closings(_ count: Int) throws(BlockError) {
        for row in 0..<count {
            let flags = self.flags(BlockForm.ClosingFlag.all)
            rows.closings.append(
                BlockRows.ClosingRow(
                    through: reader.time(from: time), time: reader.time(from: time),
                    actor: actor(flags & BlockForm.ClosingFlag.actor != 0)))
            try check(.closings, row: row)
        }
    }

    mutating func calls(_ count: Int) throws(BlockError) {
        for row in 0..<count {
            let flags = self.flags(BlockForm.CallFlag.all)
            let kind = AppStoreCall.Kind(rawValue: flags & BlockForm.CallFlag.kind)
            if kind == nil { reader.fail(.malformed, "its kind is not defined") }
            let transaction = reader.transaction()
            var notification: Int64?
            if kind == .consumption {
                let number = reader.number()
                reader.require(
                    number >= 1 && number <= position.notification, "it answers a notification that there is not")
                notification = number
            }
            let end = callEnd(flags)
            var body: ArraySlice<UInt8> = []
            if flags & BlockForm.CallFlag.body != 0 {
                // A text, so that it is valid UTF-8.
                body = Array(reader.text().utf8)[...]
                if body.isEmpty { reader.fail(.malformed, "a body without bytes is written") }
                reader.require(body.count <= Limits.appStoreCallBytesMax, "its body is too large")
            }
            let received = reader.time(from: time)
            try check(.calls, row: row)
            rows.calls.append(
                BlockRows.CallRow(
                    transaction: transaction, kind: kind ?? .finish, notification: notification, end: end, body: body,
                    time: received))
        }
    }

    /// `accepted` with a fault where there is no such end.
    private mutating func callEnd(_ flags: UInt8) -> AppStoreCall.End {
        switch flags & BlockForm.CallFlag.end {
        case BlockForm.CallFlag.accepted: return .accepted
        case BlockForm.CallFlag.refused:
            let code = reader.integer()
            reader.require(BlockForm.codes.contains(code), "its code is not within ±(2^53 − 1)")
            return .refused(code: code)
        case BlockForm.CallFlag.expired: return .expired
        case _:
            reader.fail(.malformed, "its end is not defined")
            return .accepted
        }
    }

    private mutating func actor(_ isThere: Bool) -> ActorID? {
        if !isThere { return nil }
        let actor = reader.number()
        requireActor(actor)
        return actor
    }

    mutating func links(_ count: Int) throws(BlockError) {
        var entry = entryBefore
        for row in 0..<count {
            let flags = self.flags(BlockForm.LinkFlag.all)
            rows.links.append(
                BlockRows.LinkRow(
                    token: account(), account: account(), entry: step(&entry), time: reader.time(from: time),
                    actor: actor(flags & BlockForm.LinkFlag.actor != 0)))
            try check(.links, row: row)
        }
    }

    mutating func consents(_ count: Int) throws(BlockError) {
        for row in 0..<count {
            let flags = self.flags(BlockForm.ConsentFlag.all)
            rows.consents.append(
                BlockRows.ConsentRow(
                    account: account(), consumption: flags & BlockForm.ConsentFlag.consumption != 0,
                    time: reader.time(from: time), actor: actor(flags & BlockForm.ConsentFlag.actor != 0)))
            try check(.consents, row: row)
        }
    }

    mutating func adjustments(_ count: Int) throws(BlockError) {
        var entry = entryBefore
        for row in 0..<count {
            let flags = self.flags(BlockForm.AdjustmentFlag.lotClass | BlockForm.AdjustmentFlag.approver)
            let lotClass = LotClass(rawValue: Int64(flags & BlockForm.AdjustmentFlag.lotClass))
            if lotClass == nil { reader.fail(.malformed, "its class is not defined") }
            rows.adjustments.append(
                BlockRows.AdjustmentRow(
                    entry: someStep(&entry), lotClass: lotClass ?? .paid, reason: reader.text(),
                    approver: actor(flags & BlockForm.AdjustmentFlag.approver != 0)))
            try check(.adjustments, row: row)
        }
    }

    mutating func externals(_ count: Int) throws(BlockError) {
        for row in 0..<count {
            rows.externals.append(
                BlockRows.ExternalRow(
                    transaction: reader.transaction(), source: reader.text(), identifier: reader.text()))
            try check(.externals, row: row)
        }
    }

    mutating func catalogs(_ count: Int) throws(BlockError) {
        for row in 0..<count {
            rows.catalogs.append(
                BlockRows.CatalogRow(version: reader.number(), digest: reader.digest(), time: reader.time(from: time)))
            try check(.catalogs, row: row)
        }
    }
}
