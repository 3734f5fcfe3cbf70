extension Books {
    /// What Apple should be told of a purchase's consumption, computed from its lots.
    func consumption(_ query: ConsumptionQuery) -> Outcome {
        guard let register = purchases[query.transaction] else { return .refused(Refusal(.unknownPurchase)) }
        let delivered: DeliveryStatus = register.account == nil ? .other : .delivered
        let status = query.deliveryStatus ?? delivered
        let percentage = status == .delivered ? consumption(register, grants(register)) : 0
        if query.refundPreference == .grantProrated, !ConsumptionBody.isPartial(percentage) {
            return .refused(Refusal(.proratedPreference(consumption: percentage)))
        }
        return .consumption(
            ConsumptionBody(
                sampleContentProvided: query.sampleContentProvided, deliveryStatus: status,
                consumptionPercentage: percentage,
                refundPreference: query.refundPreference ?? preference(percentage)))
    }

    /// Spent ÷ granted in thousandths of a percent, rounded down; several currencies weighted as the purchase keeps
    /// it.
    func consumption(_ register: PurchaseRegister, _ grants: [PurchaseView.Grant]) -> Int64 {
        let weights = register.grants.map(\.weight)
        let total = weights.reduce(0, +)
        guard total > 0 else { return 0 }
        let weighted = zip(grants, weights).reduce(UInt128(0)) { sum, part in
            let (grant, weight) = part
            let spent = UInt128(min(max(grant.spent, 0), grant.granted))
            // Millionths of a thousandth keep the sum of several parts from being rounded down twice.
            let share = spent * UInt128(Limits.wholeShare) * 1_000_000 / UInt128(max(grant.granted, 1))
            return sum + share * UInt128(weight)
        }
        return Int64(weighted / (UInt128(total) * 1_000_000))
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
