/// The values of columns by their names. A column that the report does not have, or that has values of another type, is
/// a mistake of the caller's.
extension ReportLine {
    /// The value of a column; `nil` where the row has none.
    public subscript(column: String) -> ReportValue? { values[kind.place(of: column)] }

    /// A name, an id, a word or a day; `nil` where there is none.
    public func text(_ column: String) -> String? {
        guard let value = self[column] else { return nil }
        guard case .text(let text) = value else { preconditionFailure("\(column) of \(kind) is no text") }
        return text
    }

    /// A name, an id, a word or a day; `""` where there is none.
    public func word(_ column: String) -> String { text(column) ?? "" }

    /// A number or a time of a column that every row has.
    public func integer(_ column: String) -> Int64 {
        guard let number = optionalInteger(column) else { preconditionFailure("a row of \(kind) has no \(column)") }
        return number
    }

    /// A number or a time; `nil` where there is none.
    public func optionalInteger(_ column: String) -> Int64? {
        guard let value = self[column] else { return nil }
        guard case .integer(let number) = value else { preconditionFailure("\(column) of \(kind) is no number") }
        return number
    }

    /// Units, or money in thousandths; 0 where there is none.
    public func sum(_ column: String) -> Int128 {
        guard let value = self[column] else { return 0 }
        guard case .sum(let sum) = value else { preconditionFailure("\(column) of \(kind) is no sum") }
        return sum
    }

    /// The money of one purchase or lot, in thousandths; `nil` where there is none.
    public func thousandths(_ column: String) -> Int64? { self[column].flatMap { _ in Int64(exactly: sum(column)) } }
}
