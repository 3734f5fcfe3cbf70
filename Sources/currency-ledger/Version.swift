internal import CBuild

enum Version {
    static let current = "0.1.0"

    /// The commit of which a package was made; `nil` in any other build.
    static var commit: String? {
        let commit = String(cString: currency_ledger_commit())
        return commit.isEmpty ? nil : commit
    }

    /// What `--version` says.
    static var text: String { "\(current) (\(commit.map { "commit \($0)" } ?? "development build"))" }
}
