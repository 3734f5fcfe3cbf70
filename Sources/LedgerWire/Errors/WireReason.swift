/// The protocol's table of errors: each stable reason with its code, and whether the same request may be sent again.
/// In the table's order, which is the order of precedence.
package enum WireReason: String, CaseIterable, Sendable {
    case parseError = "parse_error"
    case invalidRequest = "invalid_request"
    case lineTooLong = "line_too_long"
    case batchTooLong = "batch_too_long"
    case methodNotFound = "method_not_found"
    case invalidParams = "invalid_params"
    case ledgerRequired = "ledger_required"
    case unknownLedger = "unknown_ledger"
    case internalError = "internal_error"
    case unauthenticated
    case forbidden
    case overloaded
    case shuttingDown = "shutting_down"
    case storageUnavailable = "storage_unavailable"
    case outcomeUnknown = "outcome_unknown"
    case notLeader = "not_leader"
    case storageCorrupt = "storage_corrupt"
    case verificationFailed = "verification_failed"
    case wrongApp = "wrong_app"
    case wrongEnvironment = "wrong_environment"
    case notConsumable = "not_consumable"
    case wrongProductType = "wrong_product_type"
    case familyShared = "family_shared"
    case unknownProduct = "unknown_product"
    case accountRequired = "account_required"
    case accountMismatch = "account_mismatch"
    case purchaseConflict = "purchase_conflict"
    case chainMismatch = "chain_mismatch"
    case insufficientFunds = "insufficient_funds"
    case versionMismatch = "version_mismatch"
    case minimumRemaining = "minimum_remaining"
    case grantLimit = "grant_limit"
    case balanceLimit = "balance_limit"
    case keyReused = "key_reused"
    case unknownSpend = "unknown_spend"
    case alreadyReversed = "already_reversed"
    case unknownHold = "unknown_hold"
    case holdClosed = "hold_closed"
    case holdExpired = "hold_expired"
    case unknownCurrency = "unknown_currency"
    case unknownPurchase = "unknown_purchase"
    case periodClosed = "period_closed"

    package var code: Int {
        switch self {
        case .parseError: -32700
        case .invalidRequest, .lineTooLong, .batchTooLong: -32600
        case .methodNotFound: -32601
        case .invalidParams, .ledgerRequired, .unknownLedger: -32602
        case .internalError: -32603
        case .unauthenticated, .forbidden: -32001
        case .overloaded, .shuttingDown, .storageUnavailable, .outcomeUnknown, .notLeader, .storageCorrupt: -32002
        case .verificationFailed: -32010
        case .wrongApp, .wrongEnvironment, .notConsumable, .wrongProductType, .familyShared, .unknownProduct,
            .accountRequired, .accountMismatch, .purchaseConflict, .chainMismatch:
            -32011
        case .insufficientFunds, .versionMismatch, .minimumRemaining, .grantLimit, .balanceLimit, .keyReused,
            .unknownSpend,
            .alreadyReversed, .unknownHold, .holdClosed, .holdExpired, .unknownCurrency, .unknownPurchase,
            .periodClosed:
            -32012
        }
    }

    package var isRetryable: Bool {
        switch self {
        case .internalError, .overloaded, .shuttingDown, .storageUnavailable, .outcomeUnknown, .notLeader,
            .wrongProductType, .unknownProduct:
            true
        case .parseError, .invalidRequest, .lineTooLong, .batchTooLong, .methodNotFound, .invalidParams,
            .ledgerRequired, .unknownLedger, .unauthenticated, .forbidden, .storageCorrupt, .verificationFailed,
            .wrongApp, .wrongEnvironment,
            .notConsumable, .familyShared,
            .accountRequired, .accountMismatch, .purchaseConflict, .chainMismatch, .insufficientFunds, .versionMismatch,
            .minimumRemaining, .grantLimit, .balanceLimit, .keyReused, .unknownSpend, .alreadyReversed, .unknownHold,
            .holdClosed,
            .holdExpired, .unknownCurrency, .unknownPurchase, .periodClosed:
            false
        }
    }
}
