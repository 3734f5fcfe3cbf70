/// What kind of product grants currency: how often, and for what.
public enum ProductType: String, CaseIterable, Sendable {
    /// Each purchase grants.
    case consumable
    /// Grants once, however often it is restored.
    case nonConsumable = "non_consumable"
    /// A subscription that renews until it is cancelled: each period grants.
    case autoRenewable = "auto_renewable"
    /// A subscription for a time: each purchase grants.
    case nonRenewing = "non_renewing"
}
