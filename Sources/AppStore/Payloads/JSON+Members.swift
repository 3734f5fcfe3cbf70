package import StrictJSON

extension JSONReader {
    /// A member that is null is one that is not there.
    private mutating func isNull() throws(JSONError) -> Bool {
        guard try peek() == .null else { return false }
        try null()
        return true
    }

    package mutating func optionalString() throws(JSONError) -> String? { try isNull() ? nil : try string() }
    package mutating func optionalInteger() throws(JSONError) -> Int64? { try isNull() ? nil : try integer() }
    mutating func optionalMilliseconds() throws(JSONError) -> Int64? { try isNull() ? nil : try milliseconds() }
    package mutating func optionalBool() throws(JSONError) -> Bool? { try isNull() ? nil : try bool() }
    mutating func optionalRaw() throws(JSONError) -> [UInt8]? {
        try isNull() ? nil : Array(bytes(try raw()))
    }

    /// A name that is compared or kept: not empty and not longer than any that Apple gives out.
    mutating func identifier() throws(JSONError) -> String {
        let value = try string()
        guard !value.isEmpty, value.utf8.count <= AppStoreLimits.identifierBytesMax else {
            throw fail("must have 1 … \(AppStoreLimits.identifierBytesMax) bytes")
        }
        return value
    }

    /// Decimal digits that fit 64 bits, in the one way to write them.
    mutating func transactionID() throws(JSONError) -> String {
        let value = try string()
        let digits = value.utf8
        guard (1...AppStoreLimits.transactionIDDigitsMax).contains(digits.count),
            digits.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }),
            digits.count == 1 || digits.first != UInt8(ascii: "0"), Int64(value) != nil
        else { throw fail("must be decimal digits that fit 64 bits") }
        return value
    }

    /// Xcode writes an empty string where the app named no account. A UUID in any letter case is the same token; a text
    /// that is none stays as it is, for its letters may tell two apart.
    mutating func optionalAccountToken() throws(JSONError) -> String? {
        guard let value = try optionalString(), !value.isEmpty else { return nil }
        return value.isUUID ? value.lowercased() : value
    }

    /// An error for the value that comes next, which is not read.
    package mutating func failAtNext(_ message: String) -> JSONError { JSONError(.invalid(message), offset: offset) }
}

extension String {
    /// 8, 4, 4, 4 and 12 hexadecimal digits, with `-` between them (RFC 9562 §4).
    fileprivate var isUUID: Bool {
        guard utf8.count == 36 else { return false }
        return utf8.enumerated().allSatisfy { index, byte in
            switch (index, byte) {
            case (8, _), (13, _), (18, _), (23, _): byte == UInt8(ascii: "-")
            case (_, UInt8(ascii: "0")...UInt8(ascii: "9")), (_, UInt8(ascii: "a")...UInt8(ascii: "f")),
                (_, UInt8(ascii: "A")...UInt8(ascii: "F")):
                true
            case _: false
            }
        }
    }
}

extension JSONWriter {
    package mutating func member(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        key(name)
        string(value)
    }

    package mutating func member(_ name: StaticString, _ value: Int64?) {
        guard let value else { return }
        key(name)
        integer(value)
    }

    package mutating func member(_ name: StaticString, _ value: Bool?) {
        guard let value else { return }
        key(name)
        bool(value)
    }

    mutating func member(_ name: StaticString, raw value: [UInt8]?) {
        guard let value else { return }
        key(name)
        raw(value)
    }
}
