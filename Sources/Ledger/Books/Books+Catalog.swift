/// What the catalog grants for a purchase.
extension Books {
    /// What all that was sold grants, by currency.
    ///
    /// Each consumable must be listed, also one that grants nothing: else it may be one that was forgotten. Of other
    /// products only those need be that grant something: a game sells subscriptions that have nothing to do with its
    /// currency.
    /// - Throws: why there is nothing to grant.
    func grants(of signed: SignedPurchase) throws(Refusal) -> [PurchaseRegister.Grant] {
        var offers: [Catalog.Offer] = []
        for product in signed.soldIDs {
            guard let listed = catalog.products[product] else {
                if signed.kind == .known(.consumable) { throw Refusal(.unknownProduct(product: product)) }
                continue
            }
            guard signed.kind == .known(listed.type) else {
                throw Refusal(.wrongProductType(product: product, listed: listed.type, signed: signed.kind.name))
            }
            if signed.isFamilyShared && !listed.isGrantedToFamily { throw Refusal(.familyShared(product: product)) }
            guard let offer = listed.offer(purchasedAt: signed.facts.purchaseDate) else {
                throw Refusal(.unknownProduct(product: product))
            }
            offers.append(offer)
        }
        if offers.isEmpty { throw Refusal(.notConsumable) }
        guard let grants = grants(offers, quantity: signed.facts.quantity) else {
            throw Refusal(.unknownProduct(product: signed.facts.product))
        }
        if grants.isEmpty { throw Refusal(.notConsumable) }
        return grants
    }

    /// What a purchase of another store grants: whatever type of product the catalog lists.
    /// - Throws: why there is nothing to grant.
    func grants(of facts: PurchaseFacts) throws(Refusal) -> [PurchaseRegister.Grant] {
        guard let offer = catalog.products[facts.product]?.offer(purchasedAt: facts.purchaseDate),
            let grants = grants([offer], quantity: facts.quantity)
        else { throw Refusal(.unknownProduct(product: facts.product)) }
        if grants.isEmpty { throw Refusal(.notConsumable) }
        return grants
    }

    /// `nil` where the ledger has no such currency, or they are more than a purchase may grant.
    private func grants(_ offers: [Catalog.Offer], quantity: Int64) -> [PurchaseRegister.Grant]? {
        var grants: [PurchaseRegister.Grant] = []
        for offer in offers {
            let hasWeights = offer.grants.allSatisfy { offer.priceShares[$0.currency] != nil }
            for grant in offer.grants {
                guard let currency = currencyID(grant.currency) else { return nil }
                let (units, overflow) = grant.amount.units.multipliedReportingOverflow(by: quantity)
                let added = PurchaseRegister.Grant(
                    currency: currency, units: overflow ? Int64.max : units,
                    weight: hasWeights ? offer.priceShares[grant.currency] ?? 1 : 1)
                if let place = grants.firstIndex(where: { $0.currency == currency }) {
                    grants[place].add(added)
                } else {
                    grants.append(added)
                }
            }
        }
        return grants.count <= Limits.currenciesPerOperationMax ? grants : nil
    }
}

extension PurchaseRegister.Grant {
    /// Two items of one purchase grant the same currency.
    fileprivate mutating func add(_ other: PurchaseRegister.Grant) {
        let (sum, overflow) = units.addingReportingOverflow(other.units)
        units = overflow ? Int64.max : sum
        weight += other.weight
    }
}

extension SignedPurchase.Kind {
    fileprivate var name: String {
        switch self {
        case .known(let type): type.rawValue
        case .other(let text): text
        }
    }
}
