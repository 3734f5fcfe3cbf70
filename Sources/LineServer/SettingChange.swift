/// One thing that is different in a configuration that was read again.
package struct SettingChange: Sendable, Hashable, CustomStringConvertible {
    /// The setting, as the configuration spells it; a token by its name.
    package var setting: String
    /// What it was, and what it is; `nil` where that is not told: it is a secret, or there was or is none.
    package var old: String?
    package var new: String?
    /// What became of it, in a word, where no values are told.
    package var word: String?

    package init(_ setting: String, from old: String? = nil, to new: String? = nil, word: String? = nil) {
        self.setting = setting
        self.old = old
        self.new = new
        self.word = word
    }

    package var description: String {
        if let word { return "\(setting): \(word)" }
        return "\(setting): \(old ?? "the default") → \(new ?? "the default")"
    }
}
