#if Postgres
/// The types of columns that tables have.
enum PostgresColumnType {
    case bigint, text, bytea, boolean, numeric

    /// - Parameter name: as `format_type` says it; `nil` where no column of ours has such a type.
    init?(_ name: String) {
        switch name {
        case "bigint": self = .bigint
        case "text": self = .text
        case "bytea": self = .bytea
        case "boolean": self = .boolean
        case "numeric": self = .numeric
        default: return nil
        }
    }
}
#endif
