import Foundation
import LedgerWire

/// RFC 4180, with a rule for what a spreadsheet would run.
enum CSV {
    /// A line with its end. What there is not stands as an empty field.
    static func line(_ fields: [String?]) -> String { fields.map { field($0 ?? "") }.joined(separator: ",") + "\r\n" }

    /// RFC 4180 §2. A text that a spreadsheet would take for a formula gets an apostrophe in front, and so does one
    /// that begins with an apostrophe: whoever takes one away from each text that begins with one has the texts again.
    static func field(_ text: String) -> String {
        let isNumber = Int128(text) != nil || Money.thousandths(text) != nil
        let isFormula = text.utf8.first.map { "=+-@'\t\r".utf8.contains($0) } ?? false
        let text = isFormula && !isNumber ? "'" + text : text
        // By byte: a comma with a combining accent behind it is still a comma.
        guard text.utf8.contains(where: { [0x0A, 0x0D, 0x22, 0x2C].contains($0) }) else { return text }
        return "\"\(text.replacingOccurrences(of: "\"", with: "\"\"", options: .literal))\""
    }
}
