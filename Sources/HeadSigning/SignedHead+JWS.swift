package import AppStore
import Ledger
import StrictJSON

/// Why a text is not a head that was signed by a key. In words that stand behind where the text was found.
package struct SignedHeadFault: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

extension Ed25519PublicKey {
    /// The key's thumbprint (RFC 7638, RFC 8037 §2): what a head's header calls it.
    package var thumbprint: String {
        let members = #"{"crv":"Ed25519","kty":"OKP","x":"\#(Base64.encodeURL(bytes))"}"#
        return Base64.encodeURL(SHA256.hash(Array(members.utf8)))
    }
}

extension SignedHead {
    /// Keeps a head apart from whatever else the same key may sign (RFC 7515 §4.1.9).
    private static let type = "currency-ledger-head+json"

    /// A compact JWS (RFC 7515 §7.1) with the algorithm EdDSA (RFC 8037 §3.1).
    func jws(by key: Ed25519PrivateKey) throws(OpenSSLError) -> String {
        let header = #"{"alg":"EdDSA","kid":"\#(key.publicKey.thumbprint)","typ":"\#(SignedHead.type)"}"#
        let input = Base64.encodeURL(Array(header.utf8)) + "." + Base64.encodeURL(payload)
        return input + "." + Base64.encodeURL(try key.sign(Array(input.utf8)))
    }

    /// Reads what was signed, once its signature was verified.
    /// - Throws: ``SignedHeadFault``
    package init(jws: some Sequence<UInt8>, key: Ed25519PublicKey) throws(SignedHeadFault) {
        let parts = Array(jws).split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3 else {
            throw SignedHeadFault("is no signed head: a compact JWS has three parts, not \(parts.count)")
        }
        guard let header = Base64.decodeURL(parts[0]), let payload = Base64.decodeURL(parts[1]),
            let signature = Base64.decodeURL(parts[2])
        else { throw SignedHeadFault("is no signed head: a part of the JWS is not base64url") }
        try SignedHead.check(header, key)
        let isSigned: Bool
        do throws(OpenSSLError) {
            isSigned = try key.verifies(signature, of: parts[0] + [UInt8(ascii: ".")] + parts[1])
        } catch { throw SignedHeadFault("cannot be verified: \(error)") }
        guard isSigned else { throw SignedHeadFault("is not signed by the key \(key.thumbprint), or was changed") }
        self = try SignedHead.read(payload, "the head that was signed") { (reader) throws(JSONError) in
            try SignedHead(from: &reader)
        }
    }

    private static func check(_ header: [UInt8], _ key: Ed25519PublicKey) throws(SignedHeadFault) {
        var members: [String: String] = [:]
        try read(header, "the JWS header") { (reader) throws(JSONError) in
            try reader.object { (reader, name) throws(JSONError) in
                // RFC 7515 §4.1.11: what is critical and not understood makes the JWS invalid.
                if name == "crit" { throw reader.fail("must not be there") }
                let name = name.string
                if try reader.peek() == .string { members[name] = try reader.string() } else { try reader.skip() }
            }
        }
        guard members["alg"] == "EdDSA" else {
            throw SignedHeadFault("is signed by alg \(members["alg"] ?? "none"), not EdDSA")
        }
        guard members["typ"] == type else {
            throw SignedHeadFault("is no signed head: its typ is \(members["typ"] ?? "missing"), not \(type)")
        }
        if let other = members["kid"], other != key.thumbprint {
            throw SignedHeadFault("is signed by the key \(other), not by \(key.thumbprint)")
        }
    }

    @discardableResult
    private static func read<Value>(
        _ json: [UInt8], _ what: String, _ body: (inout JSONReader) throws(JSONError) -> Value
    ) throws(SignedHeadFault) -> Value {
        let result: Result<Value, JSONError> = json.withUnsafeBufferPointer { bytes in
            var reader = JSONReader(bytes)
            do throws(JSONError) {
                let value = try body(&reader)
                try reader.end()
                return .success(value)
            } catch {
                return .failure(error)
            }
        }
        switch result {
        case .success(let value): return value
        case .failure(let error): throw SignedHeadFault("cannot be read: \(what): \(error)")
        }
    }

    // MARK: The payload

    private static let format: Int64 = 1

    private var payload: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("format")
        writer.integer(SignedHead.format)
        writer.key("bundleId")
        writer.string(bundleID)
        writer.key("environment")
        writer.string(environment)
        writer.key("ledger")
        writer.string(identity.hexadecimal)
        writer.key("block")
        writer.integer(block)
        writer.key("hash")
        writer.string(hash.hexadecimal)
        writer.key("entry")
        writer.integer(entry)
        writer.key("time")
        writer.integer(time)
        writer.key("signedAt")
        writer.integer(signedAt)
        writer.key("totals")
        writer.beginObject()
        for (index, code) in currencies.enumerated() {
            writer.key(code.text)
            writer.beginObject()
            for kind in AccountKind.allCases {
                let turnover = totals[CurrencyID(index + 1), kind]
                if kind.isListedOnceUsed && turnover == Totals.Turnover() { continue }
                writer.key(kind.name)
                writer.beginObject()
                writer.key("debits")
                writer.string(digitsOf: turnover.debits)
                writer.key("credits")
                writer.string(digitsOf: turnover.credits)
                writer.endObject()
            }
            writer.endObject()
        }
        writer.endObject()
        writer.endObject()
        return writer.bytes
    }

    private init(from reader: inout JSONReader) throws(JSONError) {
        var format: Int64?
        var texts: [String: String] = [:]
        var numbers: [String: Int64] = [:]
        var totals: [(CurrencyCode, [AccountKind: Totals.Turnover])]?
        try reader.object { (reader, name) throws(JSONError) in
            switch name {
            case "format":
                let number = try reader.integer()
                guard number == SignedHead.format else {
                    throw reader.fail("is \(number); this program reads format \(SignedHead.format)")
                }
                format = number
            case "bundleId", "environment", "ledger", "hash": texts[name.string] = try reader.string()
            case "block", "entry", "time", "signedAt": numbers[name.string] = try reader.integer()
            case "totals": totals = try SignedHead.totals(&reader)
            default: try reader.skip()
            }
        }
        guard format != nil else { throw reader.missing("format") }
        guard let bundleID = texts["bundleId"] else { throw reader.missing("bundleId") }
        guard let environment = texts["environment"] else { throw reader.missing("environment") }
        guard let identity = texts["ledger"].flatMap({ Digest(hexadecimal: $0) }) else {
            throw reader.missing("ledger")
        }
        guard let hash = texts["hash"].flatMap({ Digest(hexadecimal: $0) }) else { throw reader.missing("hash") }
        guard let block = numbers["block"] else { throw reader.missing("block") }
        guard let entry = numbers["entry"] else { throw reader.missing("entry") }
        guard let time = numbers["time"] else { throw reader.missing("time") }
        guard let signedAt = numbers["signedAt"] else { throw reader.missing("signedAt") }
        guard let totals else { throw reader.missing("totals") }
        self.init(
            bundleID: bundleID, environment: environment, identity: identity, block: block, hash: hash, entry: entry,
            time: time, signedAt: signedAt, currencies: totals.map(\.0), totals: Totals(currencies: totals.count))
        for (index, (_, turnovers)) in totals.enumerated() {
            for (kind, turnover) in turnovers { self.totals[CurrencyID(index + 1), kind] = turnover }
        }
    }

    private static func totals(
        _ reader: inout JSONReader
    ) throws(JSONError) -> [(CurrencyCode, [AccountKind: Totals.Turnover])] {
        var totals: [(CurrencyCode, [AccountKind: Totals.Turnover])] = []
        try reader.object { (reader, name) throws(JSONError) in
            guard let code = CurrencyCode(name.string), totals.count < Int(CurrencyID.max) else {
                throw reader.fail("is not a currency's")
            }
            var turnovers: [AccountKind: Totals.Turnover] = [:]
            try reader.object { (reader, name) throws(JSONError) in
                let name = name.string
                guard let kind = AccountKind.allCases.first(where: { $0.name == name }) else {
                    throw reader.fail("is not a kind of account that this program knows")
                }
                turnovers[kind] = try turnover(&reader)
            }
            for kind in AccountKind.allCases where turnovers[kind] == nil && !kind.isListedOnceUsed {
                throw reader.fail("lacks the account \(kind.name)")
            }
            totals.append((code, turnovers))
        }
        return totals
    }

    private static func turnover(_ reader: inout JSONReader) throws(JSONError) -> Totals.Turnover {
        var (debits, credits): (Int128?, Int128?)
        try reader.object { (reader, name) throws(JSONError) in
            switch name {
            case "debits": debits = try sum(&reader)
            case "credits": credits = try sum(&reader)
            default: try reader.skip()
            }
        }
        guard let debits else { throw reader.missing("debits") }
        guard let credits else { throw reader.missing("credits") }
        return Totals.Turnover(debits: debits, credits: credits)
    }

    /// A sum, which not every JSON number could hold.
    private static func sum(_ reader: inout JSONReader) throws(JSONError) -> Int128 {
        let text = try reader.string()
        guard let sum = Int128(text), sum >= 0, String(sum) == text else {
            throw reader.fail("must be a sum in decimal digits")
        }
        return sum
    }
}
