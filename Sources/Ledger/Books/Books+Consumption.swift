extension Books {
    /// What Apple should be told of a purchase's consumption, computed from its lots.
    func consumption(_ query: ConsumptionQuery) -> Outcome {
        // Apple knows only what it sold.
        guard let register = purchases[query.transaction], register.facts.source != .external else {
            return .refused(Refusal(.unknownPurchase))
        }
        let delivered: DeliveryStatus = register.account == nil ? .other : .delivered
        let status = query.deliveryStatus ?? delivered
        // Of what was carried over nobody here knows how much there was, but where nothing of it is left.
        let consumed = register.consumption(of: lots(of: register))
        let isKnown = register.facts.source != .imported || consumed == Limits.wholeShare
        let consumption = isKnown ? consumed : nil
        let percentage = status == .delivered ? consumption : 0
        // Apple takes no consumption of those, and prorates by the time that is left.
        let renews = catalog.products[register.facts.product]?.type == .autoRenewable
        let mayBeProrated = renews || percentage.map { $0 > 0 && $0 < Limits.wholeShare } ?? false
        if query.refundPreference == .grantProrated, !mayBeProrated {
            return .refused(Refusal(.proratedPreference(consumption: percentage)))
        }
        return .consumption(
            ConsumptionBody(
                sampleContentProvided: query.sampleContentProvided, deliveryStatus: status,
                consumptionPercentage: renews ? nil : percentage,
                refundPreference: query.refundPreference ?? preference(percentage, mayBeProrated)))
    }

    private func lots(of register: PurchaseRegister) -> [Lot] {
        zip(register.grants, register.lots).map { grant, id in
            guard let lot = place(register.account.map { owner(of: $0) }, grant.currency).flatMap({ self[$0].lot(id) })
            else {
                preconditionFailure("lot \(id) of a purchase is not loaded")
            }
            return lot
        }
    }

    /// The catalog's rule; one that Apple would not take there says nothing.
    private func preference(_ percentage: Int64?, _ mayBeProrated: Bool) -> RefundPreference? {
        guard let percentage, let rule = catalog.refundRules.last(where: { $0.from <= percentage }) else { return nil }
        return rule.preference == .grantProrated && !mayBeProrated ? nil : rule.preference
    }
}
