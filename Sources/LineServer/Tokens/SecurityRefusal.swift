import AppStore
import Ledger
import LedgerEngine
import LedgerWire

/// What the server refuses for security's sake: the client is told, and the log.
enum SecurityRefusal: Error {
    case unknownToken
    /// A correction was to be approved by a token that is none, or may not.
    case unknownApproval
    case noApproval(String)
    /// The connection asked without a token, or with one that holds no more.
    case unauthenticated(Method)
    case forbidden(Method, Roles)
    case readOnly(Method)
    case otherCurrency(CurrencyCode)
    case otherLedger(LedgerName)
    /// The method concerns the whole service, and the token one ledger.
    case ofOneLedger(Method)
    case grantsOfDay(CurrencyCode, remaining: Int64)
    case tooManyRequests
    /// A JWS that is not to be believed.
    case verification(VerificationFailure)

    /// `nil` where an operation was not carried out for another reason.
    init?(_ fault: Fault) {
        switch fault {
        case .verification(let failure): self = .verification(failure)
        case .grantsOfDay(let currency, let remaining): self = .grantsOfDay(currency, remaining: remaining)
        case .unfit, .store, .futureTime, .timeBeforeLedger, .unexpected, .chainMismatch, .otherStandby, .overloaded,
            .noRoom:
            return nil
        }
    }

    /// What the client is told.
    var error: WireError {
        switch self {
        case .unknownToken: .unknownToken
        case .unknownApproval: .unknownApproval
        case .noApproval(let rule): .noApproval(rule)
        case .unauthenticated: .unauthenticated
        case .forbidden(let method, let roles): .forbidden(method, roles)
        case .readOnly(let method): .readOnly(method)
        case .otherCurrency(let currency): .otherCurrency(currency)
        case .otherLedger(let ledger): .otherLedger(ledger)
        case .ofOneLedger(let method): .ofOneLedger(method)
        case .grantsOfDay(let currency, let remaining): .grantsOfDay(currency, remaining: remaining)
        case .tooManyRequests: .tooManyRequests
        case .verification(let failure): WireError(.verification(failure))
        }
    }

    /// What the log says beside the error's message, in words of this program. (The message may repeat names that the
    /// client wrote; ``NoticeLog`` escapes them.)
    var detail: String? {
        switch self {
        case .unauthenticated(let method): method.description
        case .verification(let failure): failure.reason.rawValue
        case .unknownToken, .unknownApproval, .noApproval, .forbidden, .readOnly, .otherCurrency, .otherLedger,
            .ofOneLedger, .grantsOfDay, .tooManyRequests:
            nil
        }
    }

    /// By which lines of the log are counted.
    enum Kind: String, CaseIterable {
        case unknownToken = "unknown_token"
        case unauthenticated
        case forbidden
        case limit = "token_limit"
        case verification = "verification_failed"
    }

    var kind: Kind {
        switch self {
        case .unknownToken, .unknownApproval: .unknownToken
        case .unauthenticated: .unauthenticated
        case .noApproval, .forbidden, .readOnly, .otherCurrency, .otherLedger, .ofOneLedger: .forbidden
        case .grantsOfDay, .tooManyRequests: .limit
        case .verification: .verification
        }
    }
}
