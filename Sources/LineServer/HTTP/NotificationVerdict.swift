package import LedgerWire
import Logging
import NIOCore
import NIOHTTP1

/// What the App Store is told of a notification: 200 where it is in the books, or can never be; otherwise an error,
/// after which it sends the notification again (after 1, 12, 24, 48 and 72 hours).
package struct NotificationVerdict {
    let status: HTTPResponseStatus
    /// For people: why it is not in the books.
    let body: ByteBuffer
    /// What the operator is told; `nil` where there is nothing to tell.
    let notice: NoticeKind?
    let details: Logger.Metadata

    /// - Parameter reply: the ledger's, a line.
    init(_ reply: ByteBuffer) {
        let read = reply.withUnsafeReadableBytes { bytes -> Result<Range<Int>, WireError>? in
            let line = bytes.last == UInt8(ascii: "\n") ? UnsafeRawBufferPointer(rebasing: bytes.dropLast()) : bytes
            guard case .single(let message) = try? ReplyLine(line.assumingMemoryBound(to: UInt8.self)) else {
                return nil
            }
            return message.body
        }
        switch read {
        case .success:
            (status, body, notice, details) = (.ok, ByteBuffer(), nil, [:])
        case .failure(let error):
            let isFinal = NotificationVerdict.isFinal(error)
            status = isFinal ? .ok : .serviceUnavailable
            body = reply
            // What is not believed has its own line: `SecurityRefusal`.
            let isNoted = error.reason == WireReason.verificationFailed.rawValue
            notice = isNoted ? nil : isFinal ? .notificationRefused : .notificationPutOff
            details = ["reason": "\(error)"]
        case nil:
            // The connection ended meanwhile.
            (status, body, notice, details) = (.serviceUnavailable, reply, nil, [:])
        }
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
            .wrongEnvironment, .notConsumable, .accountMismatch, .purchaseConflict:
            true
        case .batchTooLong, .methodNotFound, .ledgerRequired, .unknownLedger, .internalError, .unauthenticated,
            .forbidden, .overloaded, .shuttingDown, .storageUnavailable, .outcomeUnknown, .notLeader, .storageCorrupt,
            .unknownProduct, .accountRequired, .chainMismatch, .insufficientFunds, .versionMismatch,
            .minimumRemaining, .grantLimit, .balanceLimit, .keyReused, .unknownSpend, .alreadyReversed, .unknownHold,
            .holdClosed, .holdExpired, .unknownCurrency, .unknownPurchase, nil:
            false
        }
    }
}
