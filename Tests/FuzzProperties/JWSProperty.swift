import AppStore
import Foundation
import StrictJSON

/// Only what was signed is accepted: header and payload to the byte, as what it was signed as.
enum JWSProperty {
    /// How an input is made into a JWS.
    private enum Form: UInt8 {
        /// It is one already.
        case transaction = 0x54  // T
        case notification = 0x4E  // N
        /// The header's and the payload's JSON, each behind its count, and the signature.
        case partsOfTransaction = 0x74  // t
        case partsOfNotification = 0x6E  // n

        var isNotification: Bool { self == .notification || self == .partsOfNotification }
    }

    private static let app = App(bundleID: "com.example.game", environment: .sandbox)
    private static let root = certain("reading the root") {
        try Certificate(der: certain(SignedSamples.certificates.last, "the root"))
    }
    private static let verifier = Verifier(app: app, anchors: [root])

    /// All that was signed: up to the signature.
    private static let signed = Set(
        [SignedSamples.transaction, SignedSamples.revoked, SignedSamples.nested].map { signingInput(of: jws($0)) })
    private static let signedNotifications = Set(
        [SignedSamples.consumptionRequest, SignedSamples.test].map { signingInput(of: jws($0)) })

    private static func jws(_ rest: String) -> [UInt8] { Array("\(SignedSamples.header).\(rest)".utf8) }

    private static func signingInput(of jws: [UInt8]) -> [UInt8] {
        Array(jws[..<(jws.lastIndex(of: UInt8(ascii: ".")) ?? 0)])
    }

    static func check(_ bytes: [UInt8]) -> Bool {
        var input = InputReader(bytes)
        guard let form = Form(rawValue: input.byte()) else { return false }
        let jws: [UInt8]
        switch form {
        case .transaction, .notification: jws = input.all()
        case .partsOfTransaction, .partsOfNotification:
            let parts = [input.field(), input.field(), input.all()]
            jws = Array(parts.map { Base64.encodeURL($0) }.joined(separator: ".").utf8)
        }
        return form.isNotification ? checkNotification(jws) : checkTransaction(jws)
    }

    private static func checkTransaction(_ jws: [UInt8]) -> Bool {
        do throws(VerificationFailure) {
            let verified = try verifier.verify(transaction: jws, now: SignedSamples.date)
            require(signed.contains(signingInput(of: jws)), "a transaction is accepted that was not signed")
            require(verified.evidence.jws == jws, "the evidence is what was verified")
            _ = try Verifier(app: app, anchors: [root]).verify(transaction: jws, now: SignedSamples.date)
            return true
        } catch {
            return refused(error)
        }
    }

    private static func checkNotification(_ jws: [UInt8]) -> Bool {
        do throws(VerificationFailure) {
            let verified = try verifier.verify(notification: jws, now: SignedSamples.date)
            let isSigned = signedNotifications.contains(signingInput(of: jws))
            require(isSigned, "a notification is accepted that was not signed")
            require(verified.evidence.jws == jws, "the evidence is what was verified")
            if let nested = verified.transaction {
                require(signed.contains(signingInput(of: nested.evidence.jws)), "its transaction was not signed")
            }
            _ = try Verifier(app: app, anchors: [root]).verify(notification: jws, now: SignedSamples.date)
            return true
        } catch {
            return refused(error)
        }
    }

    /// Changes one segment, decoded.
    static func change(_ input: [UInt8], _ number: UInt32, _ body: ([UInt8]) -> [UInt8]) -> [UInt8] {
        var choice = Choice(number)
        guard choice.of(8) > 0, let form = input.first.flatMap({ Form(rawValue: $0) }) else { return body(input) }
        switch form {
        case .transaction, .notification:
            var parts = input.dropFirst().split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
                .map { Array($0) }
            let part = choice.of(parts.count)
            guard let decoded = Base64.decodeURL(parts[part][...]) else { return body(input) }
            parts[part] = Array(Base64.encodeURL(body(decoded)).utf8)
            return [form.rawValue] + parts.joined(separator: [UInt8(ascii: ".")])
        case .partsOfTransaction, .partsOfNotification:
            var reader = InputReader(Array(input.dropFirst()))
            var parts = [reader.field(), reader.field(), reader.all()]
            let part = choice.of(parts.count)
            parts[part] = Array(body(parts[part]).prefix(0xFFFF))
            return [form.rawValue] + parts[0].asField + parts[1].asField + parts[2]
        }
    }

    private static func refused(_ failure: VerificationFailure) -> Bool {
        require(!failure.message.isEmpty, "a refusal says why")
        return false
    }

    static let seeds: [[UInt8]] =
        [SignedSamples.transaction, SignedSamples.revoked].map { [Form.transaction.rawValue] + jws($0) }
        + [SignedSamples.test, SignedSamples.consumptionRequest].map { [Form.notification.rawValue] + jws($0) }
        + [
            [Form.partsOfTransaction.rawValue] + parts(of: SignedSamples.transaction),
            [Form.partsOfNotification.rawValue] + parts(of: SignedSamples.test),
        ]
        + emptySignatures.map { [Form.partsOfTransaction.rawValue] + unsigned + $0 }

    /// Numbers r and s of which a check that forgets their bounds (FIPS 186-5 §6.4.2) says that they sign
    /// everything: 0, and the order of P-256.
    private static let emptySignatures: [[UInt8]] = {
        let zero = [UInt8](repeating: 0, count: 32)
        let order = certain(Data(base64Encoded: "/////wAAAAD//////////7zm+q2nF56E87nKwvxjJVE="), "the order")
        return [zero, Array(order)].flatMap { r in [zero, Array(order)].map { r + $0 } }
    }()

    /// The header, and a payload that was never signed, each behind its count.
    private static let unsigned: [UInt8] = {
        let segments = jws(SignedSamples.transaction).split(separator: UInt8(ascii: "."))
        let parts = segments.map { SignedSamples.decoded($0) }
        let payload = String(decoding: parts[1], as: UTF8.self).replacing(#""quantity":1"#, with: #""quantity":9"#)
        return parts[0].asField + Array(payload.utf8).asField
    }()

    private static func parts(of rest: String) -> [UInt8] {
        let parts = jws(rest).split(separator: UInt8(ascii: ".")).map { SignedSamples.decoded($0) }
        return parts[0].asField + parts[1].asField + parts[2]
    }

    static let words = [
        #""alg":"ES256""#, #""alg":"none""#, #""x5c":["#, #""crit":["#, #""signedDate":"#, "null", ".",
        #""signedTransactionInfo":"#,
    ]
}

extension SignedSamples {
    /// The bytes of a segment.
    static func decoded(_ segment: ArraySlice<UInt8>) -> [UInt8] {
        certain(Base64.decodeURL(segment), "a segment")
    }

    /// The certificates of the first chain, leaf first.
    static let certificates: [[UInt8]] = {
        let json = decoded(Array(header.utf8)[...])
        var certificates: [[UInt8]] = []
        certain("reading the header") {
            try json.withUnsafeBufferPointer { bytes in
                var reader = JSONReader(bytes)
                try reader.object { (reader, name) throws(JSONError) in
                    guard name == "x5c" else { return try reader.skip() }
                    try reader.array { (reader, _) throws(JSONError) in
                        let der = try reader.text().withBytes { Base64.decodeStandard($0) }
                        certificates.append(certain(der, "a certificate"))
                    }
                }
            }
        }
        return certificates
    }()

    /// The transaction in the notification, behind the header.
    static let nested: String = {
        let payload = certain(consumptionRequest.split(separator: ".").first, "the payload")
        let text = String(decoding: decoded(Array(payload.utf8)[...]), as: UTF8.self)
        let start = certain(text.range(of: header + "."), "the transaction").upperBound
        return String(text[start...].prefix { $0 != "\"" })
    }()
}
