internal import AppStore
internal import StrictJSON

/// What customers and the App Store do.
extension Simulator {
    /// Carries a command out. What it changes is in the file when it returns.
    /// - Returns: JSON: the transaction with its newest signature, its order, and the notification that it caused.
    /// - Throws: ``SimulatorError``
    func perform(_ command: SimulatorCommand) throws -> [UInt8] {
        let uuid: String?
        let purchase: Purchase
        switch command {
        case .buy(let order): (purchase, uuid) = try buy(order)
        case .refund(let order): (purchase, uuid) = try refund(order)
        case .decline(let id): (purchase, uuid) = try decline(id)
        case .reverse(let id): (purchase, uuid) = try reverse(id)
        case .revoke(let id): (purchase, uuid) = try revoke(id)
        case .renew(let id): (purchase, uuid) = try renew(id)
        case .requestConsumption(let id, let reason): (purchase, uuid) = try requestConsumption(id, reason)
        }
        var writer = JSONWriter(capacity: 8_192)
        writer.beginObject()
        writer.member("transactionId", purchase.id)
        writer.member("orderId", purchase.orderID)
        writer.member("notificationUUID", uuid)
        // As the notification has it.
        writer.member("signedTransaction", try chain.sign(purchase.transaction))
        writer.endObject()
        return writer.bytes
    }

    /// Every purchase, a line each, in the order of their ids; or one.
    func stateLines(of id: String?) throws -> [UInt8] {
        let purchases: [Purchase]
        if let id {
            purchases = [try purchase(id)]
        } else {
            purchases = state.purchases.values.sorted { ($0.id.count, $0.id) < ($1.id.count, $1.id) }
        }
        var writer = JSONWriter(capacity: purchases.count * 1_024)
        for purchase in purchases {
            purchase.writeState(&writer)
            writer.newline()
        }
        return writer.bytes
    }

    private func purchase(_ id: String) throws -> Purchase {
        guard let purchase = state.purchases[id] else {
            throw SimulatorError(.notFound, "there is no transaction \(id)")
        }
        return purchase
    }

    // MARK: Purchases

    private func buy(_ order: SimulatorCommand.PurchaseOrder) throws -> (Purchase, String?) {
        let product = try product(order.productID)
        let type = product?.type ?? order.type ?? .consumable
        if let asked = order.type, asked != type {
            throw SimulatorError(.invalid, "\(order.productID) is for sale as \(type.rawValue)")
        }
        let isCounted = type == .consumable || type == .nonRenewingSubscription
        guard order.quantity == 1 || isCounted else {
            throw SimulatorError(.invalid, "quantity must be 1 for a \(type.rawValue)")
        }
        guard !order.isFamilyShared || type != .consumable else {
            throw SimulatorError(.invalid, "a Consumable is not shared by a family")
        }
        let now = SystemTime.now()
        let customer = order.customer ?? order.appAccountToken?.lowercased() ?? Simulator.anybody
        var transaction = TransactionPayload(
            transactionID: state.nextTransactionID, bundleID: configuration.bundleID, productID: order.productID,
            purchaseDate: now, quantity: order.quantity, type: type,
            appAccountToken: order.appAccountToken?.lowercased(),
            signedDate: now, environment: configuration.environment)
        transaction.originalTransactionID = transaction.transactionID
        transaction.originalPurchaseDate = now
        transaction.inAppOwnershipType = order.isFamilyShared ? .familyShared : .purchased
        transaction.transactionReason = .purchase
        transaction.storefront = configuration.storefront
        // "The total amount of the transaction for the quantity the customer purchased" (Apple's `price`).
        transaction.price = try (order.price ?? product?.price).map { price in
            let (total, isTooMuch) = price.multipliedReportingOverflow(by: order.quantity)
            guard !isTooMuch, total <= AppStoreLimits.numberMax else {
                throw SimulatorError(.invalid, "\(order.quantity) cost more than \(AppStoreLimits.numberMax)")
            }
            return total
        }
        transaction.currency = transaction.price == nil ? nil : order.currency ?? configuration.currency
        transaction.appTransactionID = state.appTransactionID(of: customer)
        if type == .autoRenewableSubscription {
            transaction.subscriptionGroupIdentifier = product?.subscriptionGroup ?? Simulator.usualSubscriptionGroup
            transaction.expiresDate = now + (product?.periodMilliseconds ?? StoreKitProduct.month)
            transaction.webOrderLineItemID = transaction.transactionID
        }
        let purchase = Purchase(
            transaction: transaction, customer: customer, changedAt: now, isFinished: order.isFinished)
        let isRenewing = type == .autoRenewableSubscription
        let uuid = try keep(
            [purchase],
            notifying: Occasion(
                type: isRenewing ? .subscribed : .oneTimeCharge, subtype: isRenewing ? .initialBuy : nil,
                purchase: purchase))
        return (purchase, uuid)
    }

    /// Whose purchases are where neither a customer nor an account is named.
    private static let anybody = "customer-1"
    private static let usualSubscriptionGroup = "20000000"

    /// The product for sale; `nil` where every product is.
    private func product(_ id: String) throws -> StoreKitProduct? {
        guard let products = configuration.products else { return nil }
        if let product = products.first(where: { $0.productID == id }) { return product }
        let names = products.map(\.productID).joined(separator: ", ")
        throw SimulatorError(.notFound, "there is no product \(id) for sale; there are: \(names)")
    }

    private func renew(_ id: String) throws -> (Purchase, String?) {
        let named = try purchase(id)
        guard named.transaction.type == .autoRenewableSubscription,
            let lastID = state.transactionsOfOriginal[named.originalID]?.last, let last = state.purchases[lastID]
        else { throw SimulatorError(.conflict, "\(id) is a \(named.transaction.type.rawValue): it does not renew") }
        guard last.transaction.revocationDate == nil else {
            throw SimulatorError(.conflict, "\(last.id), the subscription's last transaction, was taken back")
        }
        let now = SystemTime.now()
        var transaction = last.transaction
        let period = (transaction.expiresDate ?? 0) - transaction.purchaseDate
        transaction.transactionID = state.nextTransactionID
        transaction.webOrderLineItemID = transaction.transactionID
        transaction.purchaseDate = now
        transaction.signedDate = now
        transaction.expiresDate = now + period
        transaction.transactionReason = .renewal
        let purchase = Purchase(
            transaction: transaction, customer: last.customer, changedAt: now, isFinished: false)
        return (purchase, try keep([purchase], notifying: Occasion(type: .didRenew, purchase: purchase)))
    }

    // MARK: Refunds

    private func refund(_ order: SimulatorCommand.RefundOrder) throws -> (Purchase, String?) {
        var purchase = try purchase(order.transactionID)
        guard purchase.transaction.revoked < AppStoreLimits.wholeShare else {
            throw SimulatorError(.conflict, "\(purchase.id) was taken back already, as a whole")
        }
        let share = order.percentage ?? AppStoreLimits.wholeShare
        guard share > purchase.transaction.revoked else {
            throw SimulatorError(
                .conflict, "\(purchase.id) was refunded already, by \(purchase.transaction.revoked) of 100000")
        }
        let now = SystemTime.now()
        purchase.change(at: now) { transaction in
            transaction.revocationDate = now
            transaction.revocationPercentage = share
            transaction.revocationType = share == AppStoreLimits.wholeShare ? .refundFull : .refundProrated
            transaction.revocationReason = order.reason
        }
        return (purchase, try keep([purchase], notifying: Occasion(type: .refund, purchase: purchase, status: 5)))
    }

    private func decline(_ id: String) throws -> (Purchase, String?) {
        var purchase = try purchase(id)
        guard !purchase.isRefunded else { throw SimulatorError(.conflict, "\(id) was refunded: see reverse") }
        let now = SystemTime.now()
        purchase.signAgain(at: now)
        purchase.refundDeclinedAt = now
        return (purchase, try keep([purchase], notifying: Occasion(type: .refundDeclined, purchase: purchase)))
    }

    private func reverse(_ id: String) throws -> (Purchase, String?) {
        var purchase = try purchase(id)
        guard purchase.isRefunded else { throw SimulatorError(.conflict, "\(id) was not refunded") }
        purchase.change(at: SystemTime.now()) { transaction in
            transaction.revocationDate = nil
            transaction.revocationPercentage = nil
            transaction.revocationType = nil
            transaction.revocationReason = nil
        }
        return (purchase, try keep([purchase], notifying: Occasion(type: .refundReversed, purchase: purchase)))
    }

    private func revoke(_ id: String) throws -> (Purchase, String?) {
        var purchase = try purchase(id)
        guard purchase.transaction.inAppOwnershipType == .familyShared else {
            throw SimulatorError(.conflict, "\(id) is not shared by a family")
        }
        guard purchase.transaction.revocationDate == nil else {
            throw SimulatorError(.conflict, "\(id) was taken back already")
        }
        let now = SystemTime.now()
        purchase.change(at: now) { transaction in
            transaction.revocationDate = now
            transaction.revocationType = .familyRevoke
            transaction.revocationReason = .other
        }
        return (purchase, try keep([purchase], notifying: Occasion(type: .revoke, purchase: purchase, status: 5)))
    }

    private func requestConsumption(
        _ id: String, _ reason: NotificationPayload.ConsumptionRequestReason
    ) throws -> (Purchase, String?) {
        var purchase = try purchase(id)
        let type = purchase.transaction.type
        guard type == .consumable || type == .autoRenewableSubscription else {
            throw SimulatorError(.conflict, "\(id) is a \(type.rawValue): the App Store does not ask about it")
        }
        guard purchase.transaction.revoked < AppStoreLimits.wholeShare else {
            throw SimulatorError(.conflict, "\(id) was refunded already")
        }
        let now = SystemTime.now()
        purchase.signAgain(at: now)
        purchase.consumptionRequests.append(
            Purchase.ConsumptionRequest(requestedAt: now, reason: reason.rawValue))
        let occasion = Occasion(
            type: .consumptionRequest, purchase: purchase, consumptionRequestReason: reason)
        return (purchase, try keep([purchase], notifying: occasion))
    }
}
