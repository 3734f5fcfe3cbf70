/// The sections of a block's body, by tag, in the order in which they stand (docs: BlockFormat). Raw values are stored
/// and never change.
package enum BlockSection: UInt8, CaseIterable, Sendable {
    case ledger = 1
    case currencies = 2
    case actors = 3
    case accounts = 4
    case headers = 5
    case entries = 6
    case transfers = 7
    case lots = 8
    case purchases = 9
    case evidence = 10
    case assignments = 11
    case notifications = 12
    case requests = 13
    case holds = 14
    case closing = 15
    case links = 16
    case consents = 17
    case adjustments = 18
    case externals = 19
    case catalogs = 20
    case erasures = 21
    case calls = 22
    case statements = 23
    case closings = 128

    package var name: String { "\(self)" }
}

/// What the form of blocks fixes (docs: BlockFormat).
enum BlockForm {
    /// `CLB` and the version, which begin every body.
    static let magic: UInt32 = 0x434C_4201
    /// The same of version 2, in which a transfer can name a lot that moved: one that is later than the transfer before
    /// it in the wallet's chain. A block that has no such transfer is of version 1.
    static let magicOfMovedLots: UInt32 = 0x434C_4202
    /// Bytes of a salt before an account's name.
    static let saltBytes = 16
    /// Bytes of the redactable part for an account, beside the name: flag, length and salt.
    static let nameOverhead = 2 + saltBytes
    /// The times that a block can hold: those that every JSON reader can.
    static let times: ClosedRange<Timestamp> = -Limits.amountMax...Limits.amountMax
    /// The codes with which Apple can refuse a call.
    static let codes: ClosedRange<Int64> = -Limits.amountMax...Limits.amountMax
    /// Tags that a reader has to know: a block that has one of them and is not understood means something else than
    /// what is read of it. Those after them may be passed over.
    static let requiredTags: ClosedRange<UInt8> = 1...127
    /// The bytes of a signature, r ‖ s.
    static let signatureBytes = 64
    /// The last player that fits into an account's number beside currency and kind.
    static let playerMax: PlayerID = 1 << 51 - 1

    /// The flag of a name in the redactable part.
    enum Name {
        static let isThere: UInt8 = 0
        static let isErased: UInt8 = 1
    }

    /// An entry's kind stands in five bits, beside these.
    enum EntryFlag {
        static let kind: UInt8 = 0x1F
        static let transaction: UInt8 = 0x20
        static let note: UInt8 = 0x40
        static let actor: UInt8 = 0x80
    }

    /// A transfer's spend order stands in three bits, beside these.
    enum TransferFlag {
        static let spendOrder: UInt8 = 0x07
        static let samePlayer: UInt8 = 0x08
        static let sameCurrency: UInt8 = 0x10
        static let opens: UInt8 = 0x20
        static let reference: UInt8 = 0x40
        static let debtLot: UInt8 = 0x80
    }

    /// A lot's class stands in two bits, beside these.
    enum LotFlag {
        static let lotClass: UInt8 = 0x03
        static let price: UInt8 = 0x04
        static let expiry: UInt8 = 0x08
    }

    /// A purchase's source stands in three bits of its first byte, beside these.
    enum PurchaseFlag {
        static let source: UInt8 = 0x07
        static let evidence: UInt8 = 0x08
        static let account: UInt8 = 0x10
        static let entry: UInt8 = 0x20
        static let price: UInt8 = 0x40
        static let priceCurrency: UInt8 = 0x80
    }

    /// A purchase's second byte.
    enum PurchaseDetail {
        static let storefront: UInt8 = 0x01
        static let offer: UInt8 = 0x02
        static let offerIdentifier: UInt8 = 0x04
        static let offerDiscount: UInt8 = 0x08
        /// The original transaction: of these two bits none, the first (it is the purchase's own) or the second.
        static let originalIsOwn: UInt8 = 0x10
        static let original: UInt8 = 0x20
        /// The ownership: of these two bits none, the first (it is `PURCHASED`) or the second.
        static let isPurchased: UInt8 = 0x40
        static let ownership: UInt8 = 0x80
    }

    /// The ownership that nearly every purchase has.
    static let purchased = "PURCHASED"

    enum EvidenceFlag {
        static let first: UInt8 = 0x01
        static let revoked: UInt8 = 0x02
        static let time: UInt8 = 0x04
        static let all: UInt8 = 0x07
    }

    enum NotificationFlag {
        static let subtype: UInt8 = 0x01
        static let reason: UInt8 = 0x02
        static let transaction: UInt8 = 0x04
        static let nested: UInt8 = 0x08
        static let subject: UInt8 = 0x10
        static let all: UInt8 = 0x1F
    }

    enum LinkFlag {
        static let actor: UInt8 = 0x01
        static let all: UInt8 = 0x01
    }

    enum ConsentFlag {
        static let consumption: UInt8 = 0x01
        static let actor: UInt8 = 0x02
        static let all: UInt8 = 0x03
    }

    enum ClosingFlag {
        static let actor: UInt8 = 0x01
        static let all: UInt8 = 0x01
    }

    enum StatementFlag {
        static let revoked: UInt8 = 0x01
        static let actor: UInt8 = 0x02
        static let all: UInt8 = 0x03
    }

    enum ErasureFlag {
        static let actor: UInt8 = 0x01
        static let all: UInt8 = 0x01
    }

    /// A call's kind and end stand in two bits each, beside this.
    enum CallFlag {
        static let kind: UInt8 = 0x03
        static let end: UInt8 = 0x0C
        static let body: UInt8 = 0x10
        static let all: UInt8 = 0x1F
        static let accepted: UInt8 = 0x04
        static let refused: UInt8 = 0x08
        static let expired: UInt8 = 0x0C
    }

    /// An adjustment's class of lots stands in two bits, beside this.
    enum AdjustmentFlag {
        static let lotClass: UInt8 = 0x03
        static let approver: UInt8 = 0x04
    }
}
