import LedgerTypes
import StrictJSON

extension ReportLine {
    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        for (column, value) in zip(kind.columns, values) {
            writer.key(column.name)
            switch value {
            case nil: writer.string(orNull: nil)
            case .text(let text): writer.string(text)
            case .integer(let number): writer.integer(number)
            case .sum(let sum) where column.type == .money: writer.string(Money.text(thousandths: sum))
            case .sum(let sum): writer.sum(sum)
            }
        }
        writer.endObject()
    }

    init(_ kind: ReportKind, from reader: inout JSONReader) throws(JSONError) {
        let columns = kind.columns
        var values = [ReportValue?](repeating: nil, count: columns.count)
        try reader.object { (reader, key) throws(JSONError) in
            let name = key.string
            guard let place = columns.firstIndex(where: { $0.name == name }) else { return try reader.skip() }
            let type = columns[place].type
            values[place] = try reader.orNull { (reader) throws(JSONError) in try reader.value(type) }
        }
        for (column, value) in zip(columns, values) where value == nil && !column.isOptional {
            throw reader.missing(column.name)
        }
        self.init(kind, values)
    }
}

extension JSONReader {
    fileprivate mutating func value(_ type: ReportValueType) throws(JSONError) -> ReportValue {
        switch type {
        case .text, .day: return .text(try string())
        case .integer, .time: return .integer(try integer())
        case .units:
            guard try peek() == .string else { return .sum(Int128(try integer())) }
            let text = try string()
            guard let sum = Int128(text), String(sum) == text else { throw fail("must be a sum in decimal digits") }
            return .sum(sum)
        case .money:
            guard let sum = Money.thousandths(try string()) else { throw fail("must be money with three decimals") }
            return .sum(sum)
        }
    }
}
