/// What a client wrote, as a value of the log: in a line of text it stands as ``LogValue`` has it.
package struct LogText: Sendable, CustomStringConvertible {
    /// As it came, but for its end where it is long: for a form that has escapes of its own.
    package let raw: String

    init(_ text: String) { raw = text.unicodeScalars.count <= LogValue.charactersMax ? text : LogText.cut(text) }

    private static func cut(_ text: String) -> String {
        var scalars = String.UnicodeScalarView()
        scalars.append(contentsOf: text.unicodeScalars.prefix(LogValue.charactersMax))
        return String(scalars) + "…"
    }

    package var description: String { LogValue.text(raw) }
}
