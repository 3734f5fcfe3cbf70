/// Reads comma-separated values (RFC 4180): records of fields, with lines that end by CR LF or LF. A field in double
/// quotes may have commas, line ends and doubled quotes in it. A byte order mark is passed over.
struct CSVReader {
    /// A record, and the line on which it begins, from 1.
    struct Record {
        var line: Int
        var fields: [String]
    }

    /// What is no CSV, and on which line.
    struct Fault: Error {
        var line: Int
        var words: String
    }

    private let bytes: [UInt8]
    private var place = 0
    private var line = 1

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { place = 3 }
    }

    /// The next record that is not an empty line; `nil` at the end.
    mutating func next() throws(Fault) -> Record? {
        while place < bytes.count, isLineEnd { passLineEnd() }
        guard place < bytes.count else { return nil }
        let start = line
        var fields: [String] = []
        while true {
            fields.append(try field())
            if place < bytes.count, bytes[place] == UInt8(ascii: ",") {
                place += 1
                continue
            }
            guard place == bytes.count || isLineEnd else {
                throw Fault(line: line, words: "a quoted field goes on after its end")
            }
            if place < bytes.count { passLineEnd() }
            return Record(line: start, fields: fields)
        }
    }

    private var isLineEnd: Bool {
        bytes[place] == 0x0A || bytes[place] == 0x0D && place + 1 < bytes.count && bytes[place + 1] == 0x0A
    }

    private mutating func passLineEnd() {
        place += bytes[place] == 0x0D ? 2 : 1
        line += 1
    }

    private mutating func field() throws(Fault) -> String {
        guard place < bytes.count, bytes[place] == UInt8(ascii: "\"") else { return try plainField() }
        let start = line
        var text: [UInt8] = []
        place += 1
        while place < bytes.count {
            let byte = bytes[place]
            place += 1
            if byte == 0x0A { line += 1 }
            guard byte == UInt8(ascii: "\"") else {
                text.append(byte)
                continue
            }
            guard place < bytes.count, bytes[place] == byte else { return try string(text[...], start) }
            text.append(byte)
            place += 1
        }
        throw Fault(line: start, words: "a quoted field has no end")
    }

    private mutating func plainField() throws(Fault) -> String {
        let start = place
        while place < bytes.count, bytes[place] != UInt8(ascii: ","), !isLineEnd {
            guard bytes[place] != UInt8(ascii: "\"") else {
                throw Fault(line: line, words: "a quotation mark stands in a field that is not quoted")
            }
            place += 1
        }
        return try string(bytes[start..<place], line)
    }

    private func string(_ bytes: ArraySlice<UInt8>, _ line: Int) throws(Fault) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Fault(line: line, words: "a field is no UTF-8")
        }
        return text
    }
}
