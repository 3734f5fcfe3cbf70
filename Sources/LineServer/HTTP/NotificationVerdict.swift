package import LedgerWire
import NIOHTTP1

/// What the App Store is told of a notification: 200 where it is in the books, or can never be; otherwise an error,
/// after which it sends the notification again (1, 12, 24, 48 and 72 hours after the attempt before).
package struct NotificationVerdict {
    let status: HTTPResponseStatus
    /// What the operator is told; `nil` where there is nothing to tell.
    let notice: NoticeKind?

    /// - Parameter error: why it is not in the books; `nil` where it is.
    init(_ error: WireError?) {
        guard let error else {
            (status, notice) = (.ok, nil)
            return
        }
        let isFinal = NotificationVerdict.isFinal(error)
        status = isFinal ? .ok : .serviceUnavailable
        // What is not believed has its own line: `SecurityRefusal`.
        let isNoted = error.reason == WireReason.verificationFailed.rawValue
        notice = isNoted ? nil : isFinal ? .notificationRefused : .notificationPutOff
    }

    private static func mayBeGood(_ error: WireError) -> Bool {
        [.string("certificate_expired"), .string("invalid_payload")].contains(error["detail"])
    }

    /// Whether the same notification, sent again, would be refused again.
    package static func isFinal(_ error: WireError) -> Bool {
        switch WireReason(rawValue: error.reason) {
        // Apple signed it, perhaps, and the clock is wrong, or a later version of the service can read it.
        case .verificationFailed where mayBeGood(error): false
        case .parseError, .invalidRequest, .lineTooLong, .invalidParams, .verificationFailed, .wrongApp,
            .wrongEnvironment, .notConsumable, .familyShared, .accountMismatch, .purchaseConflict:
            true
        case .batchTooLong, .methodNotFound, .ledgerRequired, .unknownLedger, .internalError, .unauthenticated,
            .forbidden, .overloaded, .shuttingDown, .storageUnavailable, .outcomeUnknown, .notLeader, .storageCorrupt,
            .wrongProductType, .unknownProduct, .accountRequired, .chainMismatch, .insufficientFunds, .versionMismatch,
            .minimumRemaining, .grantLimit, .balanceLimit, .keyReused, .unknownSpend, .alreadyReversed, .unknownHold,
            .holdClosed, .holdExpired, .unknownCurrency, .unknownPurchase, .periodClosed, nil:
            false
        }
    }
}
