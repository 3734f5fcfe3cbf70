extension JSONReader {
    mutating func skipWhiteSpace() {
        while position < count {
            switch base[position] {
            case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"): position += 1
            default: return
            }
        }
    }

    /// Leaves the reader at the first byte of a value of that kind.
    mutating func expect(_ kind: JSONKind) throws(JSONError) {
        let found = try peek()
        valueStart = position
        guard found == kind else { throw JSONError(.wrongType(expected: kind), offset: position) }
    }

    mutating func literal(_ word: StaticString) throws(JSONError) {
        guard position + word.utf8CodeUnitCount <= count else { throw syntax("no value is spelled like this") }
        for i in 0..<word.utf8CodeUnitCount where base[position + i] != word.utf8Start[i] {
            throw syntax("no value is spelled like this")
        }
        position += word.utf8CodeUnitCount
    }

    func syntax(_ what: JSONError.StaticText) -> JSONError { JSONError(.syntax(what), offset: position) }
}
