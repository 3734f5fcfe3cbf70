package import LedgerTypes
package import StrictJSON

extension BlocksQuery: MethodParams {
    package init(params reader: inout JSONReader) throws(JSONError) {
        var standby: StandbyName?
        var after: Int64?
        var hash: [UInt8]?
        var durable: Int64?
        var wait: Int64 = 0
        var bytesMax = Limits.blocksPageBytesDefault
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "standby": standby = try reader.standbyName()
            case "after": after = try reader.integer(in: 0...Limits.amountMax)
            case "hash": hash = try reader.blockHash()
            case "durable": durable = try reader.integer(in: 0...Limits.amountMax)
            case "waitMilliseconds": wait = try reader.integer(in: 0...Limits.blocksWaitMillisecondsMax)
            case "bytesMax": bytesMax = Int(try reader.integer(in: 1...Int64(Limits.blocksPageBytesMax)))
            default: throw reader.unknownParameter()
            }
        }
        let place = try reader.required(after, "after")
        self.init(
            standby: try reader.required(standby, "standby"), after: place, hash: try reader.required(hash, "hash"),
            durable: durable ?? place, waitMilliseconds: wait, bytesMax: bytesMax)
        if self.durable > place { throw reader.invalid("durable", "must not be after \"after\"") }
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("standby", standby.text)
        writer.member("after", after)
        writer.key("hash")
        writer.string(hexadecimal: hash)
        writer.member("durable", durable)
        writer.member("waitMilliseconds", waitMilliseconds)
        writer.member("bytesMax", Int64(bytesMax))
    }
}

extension JSONReader {
    fileprivate mutating func standbyName() throws(JSONError) -> StandbyName {
        guard let name = StandbyName(try string()) else {
            throw fail("must be 1 to \(Limits.standbyNameBytesMax) letters, digits, _, -, . and :")
        }
        return name
    }

    /// The 32 bytes of a SHA-256.
    mutating func blockHash() throws(JSONError) -> [UInt8] {
        let bytes = try text().withBytes { digits -> [UInt8]? in
            guard digits.count == 2 * BlocksPage.hashBytes else { return nil }
            var bytes: [UInt8] = []
            for place in stride(from: 0, to: digits.count, by: 2) {
                guard let high = hexadecimalDigit(digits[place]), let low = hexadecimalDigit(digits[place + 1]) else {
                    return nil
                }
                bytes.append(high << 4 | low)
            }
            return bytes
        }
        guard let bytes else { throw fail("must be a SHA-256: \(2 * BlocksPage.hashBytes) hexadecimal digits") }
        return bytes
    }

    mutating func base64() throws(JSONError) -> [UInt8] {
        guard let bytes = try text().withBytes({ Base64.decodeStandard($0) }) else { throw fail("must be base 64") }
        return bytes
    }
}

/// Small letters only, so that each hash has one text.
private func hexadecimalDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    default: nil
    }
}
