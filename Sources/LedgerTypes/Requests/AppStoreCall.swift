/// How a call to the App Store Server API ended.
public enum AppStoreCallEnd: Hashable, Sendable {
    /// Apple took it.
    case accepted
    /// Apple did not take it: with its `errorCode`, or the HTTP status where there is none.
    case refused(code: Int64)
    /// Its time was over before Apple took it.
    case expired

    /// Whether no other end can follow: after a refusal the same may be told again, and be taken.
    public var isFinal: Bool {
        switch self {
        case .accepted, .expired: true
        case .refused: false
        }
    }

    /// Its name in events.
    package var name: String {
        switch self {
        case .accepted: "accepted"
        case .refused: "refused"
        case .expired: "expired"
        }
    }

    /// With what Apple refused it.
    package var code: Int64? {
        switch self {
        case .refused(let code): code
        case .accepted, .expired: nil
        }
    }

    /// `nil` where there is no such end: a code stands with a refusal, and with nothing else.
    package init?(name: String, code: Int64?) {
        switch (name, code) {
        case ("accepted", nil): self = .accepted
        case ("refused", let code?): self = .refused(code: code)
        case ("expired", nil): self = .expired
        case _: return nil
        }
    }
}

/// A call to the App Store Server API about a purchase, and how it ended. The service itself records it: no client can.
package struct AppStoreCall: Hashable, Sendable {
    /// What Apple was told. Raw values are stored and never change.
    package enum Kind: UInt8, CaseIterable, Sendable {
        /// How much was consumed (Send Consumption Information): the answer to a CONSUMPTION_REQUEST.
        case consumption = 1
        /// That the purchase is in the books (Finish Transaction).
        case finish = 2
        /// Whose the purchase is (Set App Account Token).
        case accountToken = 3
    }

    package typealias End = AppStoreCallEnd

    package var transaction: TransactionID
    package var kind: Kind
    /// The CONSUMPTION_REQUEST that it answers; `nil` of the other kinds.
    package var notificationUUID: String?
    /// The JSON that was sent: UTF-8, at most ``Limits/appStoreCallBytesMax`` bytes; empty where there is none.
    package var body: [UInt8]
    package var end: End

    package init(
        transaction: TransactionID, kind: Kind, notificationUUID: String? = nil, body: [UInt8] = [], end: End
    ) {
        self.transaction = transaction
        self.kind = kind
        self.notificationUUID = notificationUUID
        self.body = body
        self.end = end
    }
}
