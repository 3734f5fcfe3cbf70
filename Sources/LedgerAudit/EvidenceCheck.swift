import AppStore
import Ledger
import Synchronization

/// Verifies what Apple signed again, from the root, and compares what it says with what the blocks say that it does.
final class EvidenceCheck: Sendable {
    /// A row of a block with the JWS that belongs to it.
    struct Item: Sendable {
        enum Row: Sendable {
            /// - purchase: the purchase, where this is its first evidence.
            case evidence(BlockRows.EvidenceRow, purchase: BlockRows.PurchaseRow?)
            /// - isKnown: whether what it is about was recorded by an earlier block.
            case notification(BlockRows.NotificationRow, isKnown: Bool)
        }

        var block: BlockNumber
        var row: Row
        /// The names that the purchase's account has, its own and those of tokens that are linked to it; `nil` where
        /// the log does not have all of them.
        var names: Set<AccountName>?
    }

    private let verifier: Verifier
    private let findings: Findings
    private let headers = Mutex<[JWSHeader]>([])
    private let verified = Mutex(0)
    /// Later than every time that can be signed: whether a JWS came from the future was judged when it came, by a
    /// clock that the blocks do not know.
    private static let now = Limits.amountMax

    init(_ app: App, _ anchors: [Certificate], _ findings: Findings) {
        verifier = Verifier(app: app, anchors: anchors)
        self.findings = findings
    }

    /// How many JWS were good.
    var count: Int { verified.withLock { $0 } }

    /// Notes the header segments that a block adds.
    func add(_ rows: [BlockRows.HeaderRow]) {
        if rows.isEmpty { return }
        headers.withLock { headers in
            for row in rows { headers.append(JWSHeader(segment: Array(row.text))) }
        }
    }

    /// What of a block is signed.
    /// - Parameter isKnown: whether a purchase was recorded by an earlier block.
    static func items(
        _ block: Block, names: (PlayerID) -> Set<AccountName>?, isKnown: (TransactionID) -> Bool
    ) -> [Item] {
        var purchases: [TransactionID: BlockRows.PurchaseRow] = [:]
        for row in block.rows.purchases { purchases[row.facts.transaction] = row }
        return block.rows.evidence.map { row in
            let purchase = row.isFirst ? purchases[row.transaction] : nil
            return Item(
                block: block.number, row: .evidence(row, purchase: purchase),
                names: purchase?.account.flatMap(names))
        }
            + block.rows.notifications.map { row in
                Item(block: block.number, row: .notification(row, isKnown: row.subject.map(isKnown) ?? false))
            }
    }

    /// Verifies some of them together.
    func verify(_ items: ArraySlice<Item>) {
        let headers = headers.withLock { $0 }
        var objects: [SignedObject] = []
        var known: [Item] = []
        for item in items {
            guard let object = object(item, headers) else {
                findings.add(block: item.block, "\(item.words) names a header that there is not")
                continue
            }
            objects.append(object)
            known.append(item)
        }
        var good = 0
        for (item, result) in zip(known, verifier.verify(objects, now: EvidenceCheck.now)) {
            switch result {
            case .failure(let failure):
                findings.add(block: item.block, "\(item.words): \(failure.reason): \(failure.message)")
            case .success(let verified):
                good += 1
                if let member = item.difference(from: verified) {
                    findings.add(block: item.block, "\(item.words): its \(member) is not what Apple signed")
                }
            }
        }
        verified.withLock { $0 += good }
    }

    private func object(_ item: Item, _ headers: [JWSHeader]) -> SignedObject? {
        func header(_ id: HeaderID) -> JWSHeader? { id >= 1 && id <= headers.count ? headers[Int(id) - 1] : nil }
        switch item.row {
        case .evidence(let row, _):
            guard let header = header(row.header) else { return nil }
            return .transaction(
                Evidence(header: header, payload: Array(row.payload), signature: Array(row.signature)).jws)
        case .notification(let row, _):
            guard let header = header(row.header) else { return nil }
            var payload = Array(row.payload)
            if let nested = row.nested {
                guard let inner = self.header(nested.header, headers), nested.at <= payload.count else { return nil }
                payload.insert(contentsOf: inner.segment, at: Int(nested.at))
            }
            return .notification(
                Evidence(header: header, payload: payload, signature: Array(row.signature)).jws)
        }
    }

    private func header(_ id: HeaderID, _ headers: [JWSHeader]) -> JWSHeader? {
        id >= 1 && id <= headers.count ? headers[Int(id) - 1] : nil
    }
}

extension EvidenceCheck.Item {
    fileprivate var words: String {
        switch row {
        case .evidence(let row, _): "evidence \(row.id) of purchase \(row.transaction)"
        case .notification(let row, _): "notification \(row.uuid)"
        }
    }

    /// The first member that the blocks have otherwise than Apple signed it.
    fileprivate func difference(from verified: Verified) -> String? {
        switch (row, verified) {
        case (.evidence(let row, let purchase), .transaction(let signed)):
            return difference(row, signed.payload) ?? purchase.flatMap { difference($0, signed.payload) }
        case (.notification(let row, let isKnown), .notification(let signed)):
            return difference(row, signed, isKnown: isKnown)
        case (.evidence, .notification), (.notification, .transaction): return "kind"
        }
    }

    private func difference(_ row: BlockRows.EvidenceRow, _ payload: TransactionPayload) -> String? {
        if payload.purchaseID != String(row.transaction.number) { return "transactionId" }
        if payload.signedDate != row.signedDate { return "signedDate" }
        if payload.revoked != row.revoked { return "revocationPercentage" }
        return nil
    }

    private func difference(_ row: BlockRows.PurchaseRow, _ payload: TransactionPayload) -> String? {
        let facts = row.facts
        if facts.source != .appStore { return "source" }
        if payload.soldID != facts.product { return "productId" }
        if payload.quantity != facts.quantity { return "quantity" }
        if payload.chargeDate != facts.purchaseDate { return "purchaseDate" }
        if payload.price != facts.price { return "price" }
        if payload.currency != facts.priceCurrency { return "currency" }
        if payload.storefront != facts.storefront { return "storefront" }
        if payload.offerType?.rawValue != facts.offer?.type { return "offerType" }
        if facts.offer != nil && payload.offerIdentifier != facts.offer?.identifier { return "offerIdentifier" }
        if facts.offer != nil && payload.offerDiscountType?.rawValue != facts.offer?.discountType {
            return "offerDiscountType"
        }
        if payload.originalTransactionID.flatMap({ TransactionID($0) }) != facts.original {
            return "originalTransactionId"
        }
        if payload.inAppOwnershipType?.rawValue != facts.ownership { return "inAppOwnershipType" }
        // Of an account whose name was erased nobody can say any more whether it had the token's.
        if let token = payload.appAccountToken {
            if row.account == nil { return "appAccountToken" }
            // Until 2026-11-23 a token was lower-cased also where it is no UUID.
            let possible = [AccountName(token), AccountName(token.lowercased())]
            if let names, !possible.contains(where: { $0.map(names.contains) ?? false }) { return "appAccountToken" }
        }
        return nil
    }

    private func difference(
        _ row: BlockRows.NotificationRow, _ signed: VerifiedNotification, isKnown: Bool
    ) -> String? {
        let payload = signed.payload
        if payload.notificationUUID != row.uuid { return "notificationUUID" }
        if payload.notificationType.rawValue != row.type { return "notificationType" }
        if payload.subtype?.rawValue != row.subtype { return "subtype" }
        if payload.signedDate != row.signedDate { return "signedDate" }
        if payload.data?.consumptionRequestReason?.rawValue != row.reason { return "consumptionRequestReason" }
        let carried = signed.transaction?.payload
        guard row.transaction != nil else {
            // It may be recorded without a purchase: the catalog says which products grant something. But a purchase
            // that is recorded hears all of its own, other than what a member of the family is given or loses. Blocks
            // of before 2026-11-26 do not say what such a one is about.
            if isKnown, carried?.type == .consumable, carried?.inAppOwnershipType != .familyShared {
                return "signedTransactionInfo"
            }
            let about = carried.flatMap { TransactionID($0.transactionID) }
            return row.subject == nil && carried?.type != .consumable || row.subject == about
                ? nil : "signedTransactionInfo"
        }
        return carried?.purchaseID == row.transaction.map({ String($0.number) }) ? nil : "signedTransactionInfo"
    }
}
