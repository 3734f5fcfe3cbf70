/// The App Store's environment that a purchase was made in. Others than the four known ones are kept as they come.
public struct Environment: RawRepresentable, Hashable, Sendable {
    /// As it stands in the payload.
    public let rawValue: String

    /// Takes any value; ``known`` lists those that Apple documents.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Customers' purchases.
    public static let production = Environment(rawValue: "Production")
    /// TestFlight, App Review and sandbox accounts.
    public static let sandbox = Environment(rawValue: "Sandbox")
    /// StoreKit Testing in Xcode, signed by a certificate of the developer's own machine.
    public static let xcode = Environment(rawValue: "Xcode")
    /// StoreKit Test on a developer's machine.
    public static let localTesting = Environment(rawValue: "LocalTesting")

    /// The values that Apple documents.
    public static let known: [Environment] = [.production, .sandbox, .xcode, .localTesting]

    /// True where the developer's own machine signs, with one exported certificate instead of a chain.
    var isSignedByDeveloper: Bool { self == .xcode || self == .localTesting }
}
