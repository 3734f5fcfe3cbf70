import AppStore

/// A text as one value of a line of the log, whoever wrote it: a plain word as it is, and everything else in quotes, on
/// one line, without what a terminal or a reader could take for something else.
enum LogValue {
    /// Characters of a text that are written; more say nothing that helps.
    static let charactersMax = 2_048

    private static let signs: Set<Unicode.Scalar> = ["_", "-", ".", ":", "/", "%", "+", "@"]

    static func text(_ text: String) -> String {
        if !text.isEmpty && text.unicodeScalars.count <= charactersMax && text.unicodeScalars.allSatisfy(isPlain) {
            return text
        }
        var quoted = "\""
        for scalar in text.unicodeScalars.prefix(charactersMax) { quoted += escaped(scalar) }
        if text.unicodeScalars.count > charactersMax { quoted += "…" }
        return quoted + "\""
    }

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9": true
        default: signs.contains(scalar)
        }
    }

    private static func escaped(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\"", "\\": "\\\(scalar)"
        default: ForeignText.escaped(scalar)
        }
    }
}
