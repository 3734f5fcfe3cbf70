internal import AppStore
internal import AppStoreServer
internal import StrictJSON

/// The histories, page by page.
extension Simulator {
    // MARK: Transactions

    /// "Get Transaction History" (V2): by when a transaction was changed last.
    func transactionHistory(of customer: String, _ query: Query) throws -> Answer {
        let filter = try TransactionFilter(query)
        let purchases = purchases(of: customer).filter(filter.lets)
        return try page(purchases, by: \.changedAt, isDescending: filter.isDescending, after: query["revision"])
    }

    /// "Get Refund History" (V2): by when a transaction was refunded.
    func refundHistory(of customer: String, _ query: Query) throws -> Answer {
        let refunded = purchases(of: customer).filter(\.isRefunded)
        return try page(refunded, by: \.refundedAt, isDescending: false, after: query["revision"])
    }

    private func purchases(of customer: String) -> [Purchase] {
        (state.transactionsOfCustomer[customer] ?? []).compactMap { state.purchases[$0] }
    }

    private func page(
        _ purchases: [Purchase], by date: (Purchase) -> Int64, isDescending: Bool, after revision: String?
    ) throws -> Answer {
        let start = try revision.map { text in
            guard let start = Revision(text), start.isDescending == isDescending else {
                throw APIRefusal(.invalidRequestRevision, "Invalid request revision.")
            }
            return start
        }
        let all = purchases.map { purchase in
            (
                revision: Revision(date: date(purchase), id: Int64(purchase.id) ?? 0, isDescending: isDescending),
                purchase
            )
        }
        let rest = all.filter { one in start.map { $0 < one.revision } ?? true }.sorted { $0.revision < $1.revision }
        let page = rest.prefix(SimulatorLimits.pageSize)
        // Each page says how to go on after it, an empty one too.
        let next = page.last?.revision ?? start ?? Revision(date: 0, id: 0, isDescending: isDescending)
        let signed = try page.map { try sign($0.1) }
        return .json { writer in
            writer.member("revision", next.text)
            writer.member("bundleId", configuration.bundleID)
            writer.member("appAppleId", configuration.appAppleID)
            writer.member("environment", configuration.environment.rawValue)
            writer.member("hasMore", rest.count > page.count)
            writer.key("signedTransactions")
            writer.beginArray()
            for jws in signed { writer.string(jws) }
            writer.endArray()
        }
    }

    // MARK: Notifications

    /// "Get Notification History": in the order in which the notifications were made.
    func notificationHistory(_ body: [UInt8], _ query: Query) throws -> Answer {
        let now = SystemTime.now()
        let filter = try NotificationFilter(body)
        let range = try filter.range(now: now, environment: configuration.environment)
        let customer = try filter.transactionID.map(customer)
        var place = 0
        if let token = query["paginationToken"] {
            guard let start = PageToken(token) else {
                throw APIRefusal(.invalidPaginationToken, "Invalid pagination token.")
            }
            // "Use the same NotificationHistoryRequest body on subsequent page requests."
            guard start.digest == PageToken.digest(of: filter.json) else {
                throw APIRefusal(.paginationTokenExpired, "The pagination token is of another request.")
            }
            place = start.place
        }
        var found: [SimulatedNotification] = []
        var hasMore = false
        while place < state.notifications.count {
            let notification = state.notifications[place]
            if range.contains(notification.signedDate), filter.lets(notification), isOf(customer, notification) {
                if found.count == SimulatorLimits.pageSize {
                    hasMore = true
                    break
                }
                found.append(notification)
            }
            place += 1
        }
        let items = try found.map { ($0, try journal.read($0.signedPayload)) }
        let next = PageToken(place: place, digest: PageToken.digest(of: filter.json))
        return .json { writer in
            writer.member("paginationToken", next.text)
            writer.member("hasMore", hasMore)
            writer.key("notificationHistory")
            writer.beginArray()
            for (notification, jws) in items {
                writer.beginObject()
                notification.writeMembers(&writer, signedPayload: jws)
                writer.endObject()
            }
            writer.endArray()
        }
    }

    private func isOf(_ customer: String?, _ notification: SimulatedNotification) -> Bool {
        guard let customer else { return true }
        return notification.transactionID.flatMap { state.purchases[$0]?.customer } == customer
    }
}

extension Purchase {
    fileprivate var refundedAt: Int64 { transaction.revocationDate ?? 0 }
}

// MARK: Places in a history

/// The place of a transaction in a history, which is also the token to go on after it (Apple's `revision`).
private struct Revision: Comparable {
    let date: Int64
    let id: Int64
    let isDescending: Bool

    init(date: Int64, id: Int64, isDescending: Bool) {
        self.date = date
        self.id = id
        self.isDescending = isDescending
    }

    /// Earlier in the history.
    static func < (left: Revision, right: Revision) -> Bool {
        left.isDescending
            ? (left.date, left.id) > (right.date, right.id) : (left.date, left.id) < (right.date, right.id)
    }

    var text: String { Base64.encodeURL(Array("\(isDescending ? "d" : "a")-\(date)-\(id)".utf8)) }

    init?(_ text: String) {
        guard let bytes = Base64.decodeURL(Array(text.utf8)[...]) else { return nil }
        let parts = String(decoding: bytes, as: UTF8.self).split(separator: "-")
        guard parts.count == 3, parts[0] == "a" || parts[0] == "d", let date = Int64(parts[1]), let id = Int64(parts[2])
        else { return nil }
        self.init(date: date, id: id, isDescending: parts[0] == "d")
    }
}

/// How to go on in a history of notifications, for one request (Apple's `paginationToken`).
private struct PageToken {
    /// Of the next notification.
    let place: Int
    let digest: String

    init(place: Int, digest: String) {
        self.place = place
        self.digest = digest
    }

    var text: String { "\(place)_\(digest)" }

    init?(_ text: String) {
        let parts = text.split(separator: "_", maxSplits: 1)
        guard parts.count == 2, let place = Int(parts[0]), place >= 0 else { return nil }
        self.init(place: place, digest: String(parts[1]))
    }

    static func digest(of request: [UInt8]) -> String { Base64.encodeURL(Array(SHA256.hash(request).prefix(12))) }
}

// MARK: Filters

/// Which transactions of a history are asked for.
private struct TransactionFilter {
    private let productIDs: [String]
    private let types: [TransactionPayload.ProductType]
    private let groups: [String]
    private let ownership: String?
    private let isRevoked: Bool?
    private let startDate: Int64?
    private let endDate: Int64?
    let isDescending: Bool

    /// Apple's names in a query, with those in a transaction.
    private static let typeNames: [String: TransactionPayload.ProductType] = [
        "CONSUMABLE": .consumable, "NON_CONSUMABLE": .nonConsumable, "AUTO_RENEWABLE": .autoRenewableSubscription,
        "NON_RENEWABLE": .nonRenewingSubscription,
    ]

    /// - Throws: ``APIRefusal``
    init(_ query: Query) throws {
        productIDs = query.all("productId")
        types = try query.all("productType").map { name in
            guard let type = TransactionFilter.typeNames[name] else {
                throw APIRefusal(4_000_022, "Invalid product type.")
            }
            return type
        }
        groups = query.all("subscriptionGroupIdentifier")
        ownership = query["inAppOwnershipType"]
        if let ownership, !["PURCHASED", "FAMILY_SHARED"].contains(ownership) {
            throw APIRefusal(4_000_026, "Invalid in-app ownership type.")
        }
        isRevoked = try query["revoked"].map { text in
            guard let isRevoked = Bool(text) else { throw APIRefusal(4_000_030, "Invalid revoked.") }
            return isRevoked
        }
        startDate = try query["startDate"].map { text in
            guard let date = Int64(text) else { throw APIRefusal(4_000_015, "Invalid start date.") }
            return date
        }
        endDate = try query["endDate"].map { text in
            guard let date = Int64(text) else { throw APIRefusal(4_000_016, "Invalid end date.") }
            return date
        }
        if let startDate, let endDate, startDate > endDate {
            throw APIRefusal(4_000_013, "The start date is after the end date.")
        }
        let sort = query["sort"] ?? "ASCENDING"
        guard ["ASCENDING", "DESCENDING"].contains(sort) else { throw APIRefusal(4_000_021, "Invalid sort.") }
        isDescending = sort == "DESCENDING"
    }

    func lets(_ purchase: Purchase) -> Bool {
        let transaction = purchase.transaction
        if !productIDs.isEmpty, !productIDs.contains(transaction.productID) { return false }
        if !types.isEmpty, !types.contains(transaction.type) { return false }
        if !groups.isEmpty, !groups.contains(transaction.subscriptionGroupIdentifier ?? "") { return false }
        if let ownership, ownership != transaction.inAppOwnershipType?.rawValue { return false }
        if let isRevoked, isRevoked != (transaction.revocationDate != nil) { return false }
        if let startDate, transaction.purchaseDate < startDate { return false }
        if let endDate, transaction.purchaseDate >= endDate { return false }
        return true
    }
}

/// Which notifications of a history are asked for (Apple's `NotificationHistoryRequest`).
private struct NotificationFilter {
    /// As it came.
    let json: [UInt8]
    private(set) var transactionID: String?
    private var startDate: Int64?
    private var endDate: Int64?
    private var type: NotificationPayload.NotificationType?
    private var subtype: NotificationPayload.Subtype?
    private var isOfFailures = false

    /// - Throws: ``APIRefusal``
    init(_ body: [UInt8]) throws {
        json = body
        try Simulator.read(body) { (reader) throws(JSONError) in
            try reader.object { (reader, key) throws(JSONError) in
                switch key {
                case "startDate": startDate = try reader.optionalInteger()
                case "endDate": endDate = try reader.optionalInteger()
                case "transactionId": transactionID = try reader.optionalString()
                case "notificationType": type = try reader.optionalString().map { .init(rawValue: $0) }
                case "notificationSubtype": subtype = try reader.optionalString().map { .init(rawValue: $0) }
                case "onlyFailures": isOfFailures = try reader.optionalBool() ?? false
                default: try reader.skip()
                }
            }
        }
        guard type == nil || transactionID == nil else {
            throw APIRefusal(4_000_019, "Multiple filters supplied.")
        }
        let isKnownType = type.map { NotificationPayload.NotificationType.known.contains($0) }
        let isKnownSubtype = subtype.map { NotificationPayload.Subtype.known.contains($0) }
        // A subtype goes with its type.
        guard isKnownType ?? (subtype == nil), isKnownSubtype ?? true else {
            throw APIRefusal(4_000_018, "Invalid notification type or subtype.")
        }
    }

    /// The dates of what is listed.
    /// - Throws: ``APIRefusal``
    func range(now: Int64, environment: Environment) throws -> Range<Int64> {
        guard let startDate, startDate >= 0 else { throw APIRefusal(4_000_015, "Invalid start date.") }
        guard let endDate, endDate >= 0 else { throw APIRefusal(4_000_016, "Invalid end date.") }
        guard startDate <= endDate else { throw APIRefusal(4_000_013, "The start date is after the end date.") }
        let reach =
            environment == .production
            ? SimulatorLimits.productionHistoryMilliseconds : SimulatorLimits.sandboxHistoryMilliseconds
        guard startDate >= now - reach else {
            throw APIRefusal(.startDateTooFarInPast, "The start date is too far in the past.")
        }
        // "If you choose an endDate in the future, the endpoint automatically uses the current date."
        return startDate..<max(startDate, min(endDate, now + 1))
    }

    func lets(_ notification: SimulatedNotification) -> Bool {
        if let type, type != notification.type { return false }
        if let subtype, subtype != notification.subtype { return false }
        return !(isOfFailures && notification.hasArrived)
    }
}
