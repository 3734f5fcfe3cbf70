package import LedgerTypes

extension Refusal {
    /// What an error says of a refusal that is the one answer of a key: the way back from ``WireError/init(_:)``. `nil`
    /// where it is another error.
    package init?(kept error: WireError) {
        guard let reason = Reason(kept: error) else { return nil }
        self.init(
            reason, operation: error.integer("operation").flatMap { Int(exactly: $0) },
            replayed: error["replayed"] == .bool(true))
    }
}

extension Refusal.Reason {
    fileprivate init?(kept error: WireError) {
        switch WireReason(rawValue: error.reason) {
        case .insufficientFunds:
            guard let currency = error.currency, let available = error.integer("available") else { return nil }
            self = .insufficientFunds(currency: currency, available: available)
        case .versionMismatch:
            guard let version = error.integer("version") else { return nil }
            self = .versionMismatch(version: version)
        case .minimumRemaining:
            guard let available = error.integer("available") else { return nil }
            self = .minimumRemaining(available: available)
        case .grantLimit:
            guard let currency = error.currency, let grantMax = error.integer("grantMax") else { return nil }
            self = .grantLimit(currency: currency, grantMax: grantMax)
        case .balanceLimit:
            guard let currency = error.currency else { return nil }
            self = .balanceLimit(currency: currency)
        case .unknownSpend: self = .unknownSpend
        case .alreadyReversed:
            guard let currency = error.currency, let reversible = error.integer("reversible") else { return nil }
            self = .alreadyReversed(currency: currency, reversible: reversible)
        case .unknownHold: self = .unknownHold
        case .holdClosed: self = .holdClosed
        case .holdExpired:
            guard let expiresAt = error.integer("expiresAt") else { return nil }
            self = .holdExpired(expiresAt: expiresAt)
        case .unknownCurrency:
            guard let currency = error.currency else { return nil }
            self = .unknownCurrency(currency: currency)
        case .parseError, .invalidRequest, .lineTooLong, .batchTooLong, .methodNotFound, .invalidParams,
            .ledgerRequired,
            .unknownLedger, .internalError,
            .unauthenticated, .forbidden, .overloaded, .shuttingDown, .storageUnavailable, .outcomeUnknown, .notLeader,
            .storageCorrupt, .verificationFailed, .wrongApp, .wrongEnvironment, .notConsumable, .wrongProductType,
            .familyShared,
            .unknownProduct, .accountRequired, .accountMismatch, .purchaseConflict, .chainMismatch, .keyReused,
            .unknownPurchase, .periodClosed, nil:
            return nil
        }
    }
}

extension WireError {
    fileprivate func integer(_ name: String) -> Int64? {
        if case .integer(let number) = self[name] { number } else { nil }
    }

    fileprivate var currency: CurrencyCode? {
        if case .string(let text) = self["currency"] { CurrencyCode(text) } else { nil }
    }
}
