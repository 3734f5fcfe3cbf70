/// What is wrong with a report: where, and in which way.
public struct ReportFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// What a caller can decide by.
    public enum Kind: Hashable, Sendable {
        /// The file cannot be read.
        case unreadable
        /// It is compressed, and what is compressed is damaged.
        case archive
        /// It is beyond a bound of ``ReportLimits``.
        case tooLarge
        /// It is no report that is known: it has no header of one, or is not UTF-8.
        case format
        /// Its header lacks a column that is needed, or has one twice.
        case header
        /// A row is not as its column says.
        case cell
        /// A total is not the sum of the rows, or there is none where there must be one.
        case total
    }

    /// What kind of fault it is.
    public let kind: Kind
    /// The line, the first being 1; `nil` where it is the whole file.
    public let line: Int?
    /// The column's name as Apple documents it; `nil` where it is the whole line.
    public let column: String?
    /// For people, without the place.
    public let words: String

    init(_ kind: Kind, line: Int? = nil, column: String? = nil, _ words: String) {
        self.kind = kind
        self.line = line
        self.column = column
        self.words = words
    }

    /// For people: "line 7, Units: …".
    public var description: String {
        let place = [line.map { "line \($0)" }, column].compactMap { $0 }.joined(separator: ", ")
        return place.isEmpty ? words : "\(place): \(words)"
    }
}
