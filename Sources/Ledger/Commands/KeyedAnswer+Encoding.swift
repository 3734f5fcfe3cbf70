/// The stored form of an answer: a tag byte, then fields. An integer is a LEB128 varint of 64 bits (all are ≥ 0; a
/// transaction id is stored plus one, 0 for none), a text is its length and its bytes, an account its number (its name
/// can be erased). Shipped forms never change; a new form is a new tag.
extension KeyedAnswer {
    package var encoded: [UInt8] {
        ByteForm.make { form in
            var writer = AnswerWriter(form: form)
            writer.answer(self)
            return writer.form.bytes
        }
    }
}

private struct AnswerWriter: ~Copyable {
    var form: ByteForm

    mutating func answer(_ answer: KeyedAnswer) {
        switch answer {
        case .spend(let receipt, let trace):
            integer(1)
            integer(receipt.entry)
            self.trace(trace)
            balances(receipt.balances)
            drawn(receipt.drawn)
        case .grant(let receipt):
            integer(2)
            integer(receipt.entry)
            balances(receipt.balances)
        case .reversal(let receipt):
            integer(3)
            integer(receipt.entry)
            balances(receipt.balances)
            drawn(receipt.returned)
        case .hold(let receipt, let trace):
            integer(4)
            integer(receipt.entry)
            self.trace(trace)
            integer(receipt.expiresAt)
            balances(receipt.balances)
        case .capture(let receipt, let trace):
            integer(5)
            integer(receipt.entry)
            self.trace(trace)
            balances(receipt.balances)
            drawn(receipt.drawn)
        case .release(let receipt):
            integer(6)
            integer(receipt.entry)
            balances(receipt.balances)
        case .atomic(let receipt, let traces, let players):
            integer(7)
            atomic(receipt, traces, players)
        case .consent(let receipt):
            integer(9)
            integer(receipt.consumption ? 1 : 0)
            integer(receipt.time)
        case .adjustment(let receipt):
            integer(10)
            integer(receipt.entry)
            balances(receipt.balances)
        case .imported(let receipt):
            integer(receipt.usedUp > 0 ? 12 : 11)
            integer(receipt.entry ?? 0)
            integer(receipt.entries)
            if receipt.usedUp > 0 { integer(receipt.usedUp) }
        case .refused(let reason, let operation):
            if let operation {
                integer(8)
                integer(Int64(operation))
            }
            self.reason(reason)
        }
    }

    mutating func integer(_ value: Int64) {
        precondition(value >= 0, "a stored answer holds no negative number")
        form.add(varint: UInt64(value))
    }

    /// The largest transaction id plus one is no longer an `Int64`.
    mutating func transaction(_ transaction: TransactionID?) {
        form.add(varint: transaction.map { UInt64($0.number) + 1 } ?? 0)
    }

    mutating func text(_ text: String) {
        integer(Int64(text.utf8.count))
        form.add(raw: text)
    }

    mutating func trace(_ trace: KeyedAnswer.Trace) {
        integer(trace.first)
        integer(trace.player)
    }

    mutating func balances(_ balances: [CurrencyBalance]) {
        integer(Int64(balances.count))
        for item in balances {
            text(item.currency.text)
            integer(item.balance.available)
            integer(item.balance.held)
            integer(item.balance.debt)
            integer(item.balance.paid)
            integer(item.balance.version)
        }
    }

    mutating func drawn(_ drawn: [DrawnLot]) {
        integer(Int64(drawn.count))
        for part in drawn {
            text(part.currency.text)
            integer(part.amount.units)
            integer(part.lot)
            transaction(part.transaction)
        }
    }

    mutating func atomic(_ receipt: AtomicReceipt, _ traces: [KeyedAnswer.Trace?], _ players: [PlayerID]) {
        integer(receipt.entry)
        integer(Int64(receipt.results.count))
        for (index, result) in receipt.results.enumerated() { self.result(result, traces[index]) }
        integer(Int64(receipt.balances.count))
        precondition(players.count == receipt.balances.count, "a stored answer names every account by its number")
        for (player, item) in zip(players, receipt.balances) {
            integer(player)
            balances(item.balances)
        }
    }

    private mutating func result(_ result: AtomicReceipt.Result, _ place: KeyedAnswer.Trace?) {
        switch (result, place) {
        case (.spend(let drawn, _), let place?):
            integer(1)
            trace(place)
            self.drawn(drawn)
        case (.grant, nil):
            integer(2)
        case (.reverse(let returned, _), nil):
            integer(3)
            drawn(returned)
        case (.hold(let expiresAt), let place?):
            integer(4)
            trace(place)
            integer(expiresAt)
        case (.capture(let drawn, _), let place?):
            integer(5)
            trace(place)
            self.drawn(drawn)
        case (.release, nil):
            integer(6)
        case (.spend, nil), (.hold, nil), (.capture, nil), (.grant, _?), (.reverse, _?), (.release, _?):
            preconditionFailure("spends, holds and captures, and they alone, have a trace")
        }
    }

    mutating func reason(_ reason: Refusal.Reason) {
        switch reason {
        case .insufficientFunds(let currency, let available):
            integer(16)
            text(currency.text)
            integer(available)
        case .versionMismatch(let version):
            integer(17)
            integer(version)
        case .minimumRemaining(let available):
            integer(18)
            integer(available)
        case .balanceLimit(let currency):
            integer(19)
            text(currency.text)
        case .unknownCurrency(let currency):
            integer(20)
            text(currency.text)
        case .unknownSpend:
            integer(21)
        case .alreadyReversed(let currency, let reversible):
            integer(22)
            text(currency.text)
            integer(reversible)
        case .unknownHold:
            integer(23)
        case .holdClosed:
            integer(24)
        case .holdExpired(let expiresAt):
            integer(25)
            integer(expiresAt)
        case .grantLimit(let currency, let grantMax):
            integer(26)
            text(currency.text)
            integer(grantMax)
        case .notConsumable, .wrongProductType, .familyShared, .unknownProduct, .accountRequired, .accountMismatch,
            .purchaseConflict, .keyReused, .unknownPurchase, .periodClosed, .futurePurchase,
            .unknownConsumptionRequest, .proratedPreference:
            preconditionFailure("a refusal that no key records")
        }
    }
}
