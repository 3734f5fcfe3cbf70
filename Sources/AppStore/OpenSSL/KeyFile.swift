internal import COpenSSL

/// Why a key cannot be used.
public struct KeyFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// To be read behind the name of the key's file. It has nothing of the key in it.
    public let description: String

    package init(_ description: String) { self.description = description }

    init(labels: [String], wanted: String) {
        self.init(
            labels.isEmpty
                ? "is no key in PEM; it must hold \(wanted)"
                : "holds \(labels.joined(separator: ", ")); it must hold \(wanted)")
    }
}

extension Key {
    /// A private key as a file holds it: one part in PEM, in PKCS #8, not encrypted.
    static func privateKey(file pem: [UInt8]) throws(KeyFault) -> Key {
        switch PEMLabel.all(in: pem) {
        case ["PRIVATE KEY"]: break
        case ["ENCRYPTED PRIVATE KEY"]:
            throw KeyFault("is encrypted, and nobody is there to be asked for its passphrase")
        case let labels: throw KeyFault(labels: labels, wanted: "one private key in PKCS #8 (BEGIN PRIVATE KEY)")
        }
        do throws(OpenSSLError) { return try Key(pem: pem) } catch { throw KeyFault("\(error)") }
    }

    /// What kind of key it is, by OpenSSL's name, for people.
    var kind: String { EVP_PKEY_get0_type_name(handle).map { String(cString: $0) } ?? "another kind" }
}

/// What the parts of a text in PEM (RFC 7468) say that they are.
enum PEMLabel {
    static func all(in pem: [UInt8]) -> [String] {
        let begin = "-----BEGIN "
        let end = "-----"
        return String(decoding: pem, as: UTF8.self).split(whereSeparator: \.isNewline).compactMap { line in
            guard line.hasPrefix(begin) else { return nil }
            let rest = line.dropFirst(begin.count)
            guard let last = rest.lastIndex(where: { $0 != "-" && !$0.isWhitespace }),
                rest[rest.index(after: last)...].hasPrefix(end)
            else { return nil }
            return String(rest[...last])
        }
    }
}
