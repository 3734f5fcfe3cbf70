package import LedgerTypes

/// What the framing, the access rules and the server itself refuse.
extension WireError {
    /// `message` says what is wrong, as "the line is not JSON: …".
    package static func parseError(_ message: String) -> WireError { WireError(.parseError, message) }

    package static func invalidRequest(_ message: String) -> WireError { WireError(.invalidRequest, message) }

    package static let lineTooLong = WireError(
        .lineTooLong, "a line is at most \(WireLimits.lineBytesMax) bytes; the connection is closed")

    /// - Parameter bytes: how long a line may be before its client has authenticated.
    package static func lineTooLong(unauthenticated bytes: Int) -> WireError {
        WireError(
            .lineTooLong,
            "before its client has authenticated, a line is at most \(bytes) bytes; the connection is closed")
    }

    package static let batchTooLong = WireError(
        .batchTooLong, "a batch holds at most \(WireLimits.batchRequestsMax) requests")

    package static let methodNotFound = WireError(.methodNotFound, "there is no method of this name")

    package static func notOverHTTP(_ method: Method) -> WireError {
        WireError(.methodNotFound, "\(method) is not offered over HTTP: use the line protocol")
    }

    /// `rule` goes on after the member's name, as "must be an object".
    package static func invalidParams(path: String, _ rule: String, _ details: [Detail] = []) -> WireError {
        WireError(.invalidParams, "\(path) \(rule)", [Detail("path", .string(path))] + details)
    }

    /// `names` are those of the ledgers that the client may name.
    package static func ledgerRequired(_ names: [LedgerName]) -> WireError {
        let names = names.map(\.text).joined(separator: ", ")
        return WireError(.ledgerRequired, "there are several ledgers: name one as params.ledger: \(names)")
    }

    package static func unknownLedger(_ ledger: LedgerName) -> WireError {
        WireError(.unknownLedger, "there is no ledger \(ledger)", [Detail("ledger", .string(ledger.text))])
    }

    package static let internalError = WireError(
        .internalError, "the server failed to carry this out, and nothing was changed")

    package static let unauthenticated = WireError(.unauthenticated, "authenticate with a token first")

    package static let notAuthenticatedInTime = WireError(
        .unauthenticated, "the connection did not authenticate in time, and is closed")

    package static let unknownToken = WireError(.unauthenticated, "the token is not one of this server's")

    package static let unknownApproval = WireError(
        .unauthenticated,
        "approval is not one of this server's tokens, or too many before it on this connection were not",
        [Detail("path", .string("approval"))])

    /// `rule` says what a token that approves must be.
    package static func noApproval(_ rule: String) -> WireError {
        WireError(.forbidden, "approval \(rule)", [Detail("path", .string("approval"))])
    }

    package static func forbidden(_ method: Method, _ roles: Roles) -> WireError {
        let names = roles.all.map(\.rawValue)
        let whose = names.count == 1 ? "the role" : "the roles"
        return WireError(.forbidden, "\(whose) \(names.joined(separator: ", ")) may not call \(method)")
    }

    package static func readOnly(_ method: Method) -> WireError {
        WireError(.forbidden, "the token may only read, and not call \(method)")
    }

    package static func otherCurrency(_ currency: CurrencyCode) -> WireError {
        WireError(
            .forbidden, "the token may not move \(currency)", [Detail("currency", .string(currency.text))])
    }

    package static func otherLedger(_ ledger: LedgerName) -> WireError {
        WireError(
            .forbidden, "the token is not one of the ledger \(ledger)", [Detail("ledger", .string(ledger.text))])
    }

    /// What concerns the whole service is not for a token of one ledger.
    package static func ofOneLedger(_ method: Method) -> WireError {
        WireError(.forbidden, "the token is one of a single ledger, and may not call \(method)")
    }

    /// `remaining` is what it may still grant today.
    package static func grantsOfDay(_ currency: CurrencyCode, remaining: Int64) -> WireError {
        WireError(
            .forbidden, "the token may grant only \(remaining) \(currency) more today",
            [Detail("currency", .string(currency.text)), Detail("remaining", .integer(remaining))])
    }

    package static let tooManyRequests = WireError(
        .overloaded, "the token has sent as many requests as it may in a second; send this again later")

    package static let overloaded = WireError(
        .overloaded, "the server has as much to do as it allows; send this again later")

    package static let shuttingDown = WireError(
        .shuttingDown, "the server is shutting down; send this again to the next one")

    package static let storageUnavailable = WireError(
        .storageUnavailable, "the ledger could not be read or written; send this again")

    package static let outcomeUnknown = WireError(
        .outcomeUnknown,
        "the ledger failed while it was written; the same request sent again will know what became of it")

    /// `leader` is the address that this standby follows.
    package static func notLeader(_ leader: String) -> WireError {
        WireError(
            .notLeader, "this is a standby, which only reads: ask its leader, \(leader)",
            [Detail("address", .string(leader))])
    }

    /// `head` is the last block that is here.
    package static func chainMismatch(head: Int64) -> WireError {
        WireError(
            .chainMismatch, "the block of this number and hash is not one of this ledger, whose last is block \(head)",
            [Detail("head", .integer(head))])
    }

    package static let storageCorrupt = WireError(
        .storageCorrupt, "what is stored is damaged: sending this again does not help, the operator has to look")
}

/// What the signatures refuse. `message` is the verifier's own, which holds nothing of the signed object.
extension WireError {
    package static func verificationFailed(detail: String, message: String) -> WireError {
        WireError(.verificationFailed, message, [Detail("detail", .string(detail))])
    }

    package static let wrongApp = WireError(.wrongApp, "Apple signed this for another app than this ledger's")

    package static let wrongEnvironment = WireError(
        .wrongEnvironment, "Apple signed this in another environment than this ledger's")
}

/// What the ledger refuses.
extension WireError {
    package init(_ refusal: Refusal) {
        self.init(refusal.reason)
        if let operation = refusal.operation {
            message = "operation \(operation): \(message)"
            details.append(Detail("operation", .integer(Int64(operation))))
        }
        if refusal.replayed { details.append(Detail("replayed", .bool(true))) }
    }

    private init(_ reason: Refusal.Reason) {
        switch reason {
        case .notConsumable:
            self.init(
                .notConsumable, "this is no purchase of a product that grants something"
            )
        case .wrongProductType(let product, let listed, let signed):
            self.init(
                .wrongProductType, "the catalog lists this product as \(listed.rawValue), and Apple as \(signed)",
                [
                    Detail("product", .string(product)), Detail("listed", .string(listed.rawValue)),
                    Detail("signed", .string(signed)),
                ])
        case .familyShared(let product):
            self.init(
                .familyShared, "a member of the family shares this product, which grants nothing for that",
                [Detail("product", .string(product))])
        case .unknownProduct(let product):
            self.init(
                .unknownProduct, "the catalog does not say what this product grants",
                [Detail("product", .string(product))])
        case .accountRequired:
            self.init(.accountRequired, "the purchase has no appAccountToken: account must name the player")
        case .accountMismatch:
            self.init(.accountMismatch, "account is not the player to whom this purchase, or this token, belongs")
        case .purchaseConflict(let member):
            self.init(
                .purchaseConflict, "this transaction id is recorded with another \(member)",
                [Detail("member", .string(member))])
        case .insufficientFunds(let currency, let available):
            self.init(
                .insufficientFunds, "only \(available) \(currency) can be spent",
                [Detail("currency", .string(currency.text)), Detail("available", .integer(available))])
        case .versionMismatch(let version):
            self.init(
                .versionMismatch, "the wallet's version is \(version)", [Detail("version", .integer(version))])
        case .minimumRemaining(let available):
            self.init(
                .minimumRemaining, "of the \(available) available less than the minimum would remain",
                [Detail("available", .integer(available))])
        case .grantLimit(let currency, let grantMax):
            self.init(
                .grantLimit, "one grant of \(currency) is at most \(grantMax)",
                [Detail("currency", .string(currency.text)), Detail("grantMax", .integer(grantMax))])
        case .balanceLimit(let currency):
            self.init(
                .balanceLimit, "a wallet has at most \(Limits.amountMax) \(currency), with what is set aside",
                [Detail("currency", .string(currency.text))])
        case .keyReused:
            self.init(.keyReused, "the key was used for another request")
        case .unknownSpend:
            self.init(.unknownSpend, "spendKey, or the operation of it that is meant, is no spend and no capture")
        case .alreadyReversed(let currency, let reversible):
            self.init(
                .alreadyReversed, "only \(reversible) \(currency) of the spend can still be given back",
                [Detail("currency", .string(currency.text)), Detail("reversible", .integer(reversible))])
        case .unknownHold:
            self.init(.unknownHold, "holdKey, or the operation of it that is meant, is no hold")
        case .holdClosed:
            self.init(.holdClosed, "the hold was captured or released before")
        case .holdExpired(let expiresAt):
            self.init(
                .holdExpired, "the hold's time is over, and it was given back",
                [Detail("expiresAt", .integer(expiresAt))])
        case .unknownCurrency(let currency):
            self.init(
                .unknownCurrency, "the ledger has no currency \(currency)",
                [Detail("currency", .string(currency.text))])
        case .unknownPurchase:
            self.init(.unknownPurchase, "the ledger has no purchase of this transaction id")
        case .periodClosed(let closedThrough):
            self.init(
                .periodClosed,
                "periods are closed through \(closedThrough), and none of them ends at the time of this request",
                [Detail("closedThrough", .integer(closedThrough))])
        case .futurePurchase:
            self = .invalidParams(path: "purchaseDate", "is in the future")
        case .unknownConsumptionRequest:
            self = .invalidParams(
                path: "notificationUUID", "must be that of a CONSUMPTION_REQUEST about this purchase")
        case .proratedPreference(let consumption):
            self = .invalidParams(
                path: "refundPreference",
                "may be GRANT_PRORATED only where some was consumed and some was not; "
                    + (consumption.map { "\($0) of 100000 was" }
                        ?? "of what was carried over that is not known"))
        }
    }
}
