/// The app whose purchases are accepted, in one environment.
public struct App: Sendable, Equatable {
    /// As in the app's `Info.plist`.
    public var bundleID: String
    /// The app's number in the App Store; where it is given, notifications that carry another are refused, and in
    /// Production also those that carry none.
    public var appAppleID: Int64?
    /// The only environment whose purchases are accepted.
    public var environment: Environment

    /// Describes the app.
    public init(bundleID: String, appAppleID: Int64? = nil, environment: Environment) {
        self.bundleID = bundleID
        self.appAppleID = appAppleID
        self.environment = environment
    }
}
