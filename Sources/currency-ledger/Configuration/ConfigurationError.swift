/// A setting that is wrong: where it stands, and why.
struct ConfigurationError: Error, CustomStringConvertible {
    var description: String

    init(_ source: String, _ what: String) { description = "\(source): \(what)" }
}
