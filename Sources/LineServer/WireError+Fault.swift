import AppStore
import Ledger
package import LedgerEngine
package import LedgerWire

extension Reply {
    package init(_ answer: Answer) {
        switch answer {
        case .success(let outcome): self = .outcome(outcome)
        case .failure(let fault): self = .error(WireError(fault))
        }
    }
}

extension WireError {
    /// The protocol's error for what a ledger did not carry out.
    init(_ fault: Fault) {
        switch fault {
        case .verification(let failure): self.init(failure)
        case .unfit(let words):
            self = .verificationFailed(
                detail: VerificationFailure.Reason.invalidPayload.rawValue, message: words)
        case .store(let error): self.init(error)
        case .futureTime(let member): self = .invalidParams(path: member, "is in the future")
        case .timeBeforeLedger(let member, let began):
            self = .invalidParams(
                path: member, "is before the ledger began, at \(began)", [Detail("began", .integer(began))])
        case .unexpected: self = .internalError
        case .overloaded, .noRoom: self = .overloaded
        case .grantsOfDay(let currency, let remaining): self = .grantsOfDay(currency, remaining: remaining)
        case .otherStandby(let own):
            self = .invalidParams(path: "standby", "must be \(own), as before: a connection is one standby's")
        case .chainMismatch(let head): self = .chainMismatch(head: head)
        }
    }

    private init(_ failure: VerificationFailure) {
        switch failure.reason {
        case .malformed, .unsupportedAlgorithm, .invalidCertificateChain, .untrustedRoot, .certificateExpired,
            .invalidSignature, .invalidPayload:
            self = .verificationFailed(detail: failure.reason.rawValue, message: failure.message)
        case .wrongApp: self = .wrongApp
        case .wrongEnvironment: self = .wrongEnvironment
        }
    }

    private init(_ error: StoreError) {
        switch error.kind {
        case .unavailable where error.isOfLog && error.isOfRead:
            self.init(.storageUnavailable, "the ledger cannot be read now; send this again later")
        case .unavailable where error.isOfLog:
            self.init(.storageUnavailable, "the ledger cannot be written to now; send this again later")
        case .unavailable: self = .storageUnavailable
        case .notReady: self.init(.storageUnavailable, "\(error); send this again")
        case .notLeader(let address): self = .notLeader(address)
        case .unknown: self = .outcomeUnknown
        case .corrupt where error.isOfLog:
            self.init(
                .storageCorrupt, "\(error): sending this again does not help, the operator has to look")
        case .corrupt: self = .storageCorrupt
        }
    }
}
