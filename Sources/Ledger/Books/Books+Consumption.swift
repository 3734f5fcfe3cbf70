extension Books {
    /// What Apple should be told of a purchase's consumption, computed from its lots.
    func consumption(_ query: ConsumptionQuery) -> Outcome {
        guard let register = purchases[query.transaction] else { return .refused(Refusal(.unknownPurchase)) }
        let delivered: DeliveryStatus = register.account == nil ? .other : .delivered
        let status = query.deliveryStatus ?? delivered
        let percentage = status == .delivered ? register.consumption(of: lots(of: register)) : 0
        if query.refundPreference == .grantProrated, !ConsumptionBody.isPartial(percentage) {
            return .refused(Refusal(.proratedPreference(consumption: percentage)))
        }
        return .consumption(
            ConsumptionBody(
                sampleContentProvided: query.sampleContentProvided, deliveryStatus: status,
                consumptionPercentage: percentage,
                refundPreference: query.refundPreference ?? preference(percentage)))
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
    private func preference(_ percentage: Int64) -> RefundPreference? {
        guard let rule = catalog.refundRules.last(where: { $0.from <= percentage }) else { return nil }
        if rule.preference == .grantProrated && !ConsumptionBody.isPartial(percentage) { return nil }
        return rule.preference
    }
}

extension ConsumptionBody {
    /// Whether some was consumed and some was not.
    static func isPartial(_ percentage: Int64) -> Bool { percentage > 0 && percentage < Limits.wholeShare }
}
