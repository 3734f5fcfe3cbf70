import AppStore
import Foundation

/// The segments of a JWS taken apart, the payload and the signature decoded, the payload's JSON read into its type.
final class DecodeTransaction: HotPathWorkload {
    private let objects: [[UInt8]]

    init() throws { objects = try DecodeTransaction.objects() }

    func run(_ count: Int) throws -> Int {
        var good = 0
        for number in 0..<count {
            let payload = try TransactionPayload(unverified: objects[number % objects.count])
            if payload.price == 4_990 { good += 1 }
        }
        return good
    }

    fileprivate static func objects() throws -> [[UInt8]] {
        let studio = try Studio()
        return try (0..<64).map { try studio.jws($0) }
    }
}

/// The same with Foundation: `Data(base64Encoded:)` and `JSONDecoder`.
final class FoundationDecode: HotPathWorkload {
    private struct Payload: Decodable {
        var transactionId: String
        var originalTransactionId: String?
        var bundleId: String
        var productId: String
        var purchaseDate: Int64
        var originalPurchaseDate: Int64?
        var quantity: Int64
        var type: String
        var appAccountToken: String?
        var inAppOwnershipType: String?
        var signedDate: Int64
        var revocationReason: Int64?
        var revocationDate: Int64?
        var revocationPercentage: Int64?
        var environment: String
        var transactionReason: String?
        var storefront: String?
        var storefrontId: String?
        var price: Int64?
        var currency: String?
        var appTransactionId: String?
    }

    private let objects: [[UInt8]]
    private let decoder = JSONDecoder()

    init() throws { objects = try DecodeTransaction.objects() }

    func run(_ count: Int) throws -> Int {
        var good = 0
        for number in 0..<count {
            let segments = objects[number % objects.count].split(separator: UInt8(ascii: "."))
            guard segments.count == 3, let payload = FoundationDecode.decode(segments[1]),
                let signature = FoundationDecode.decode(segments[2]), signature.count == 64
            else { continue }
            if try decoder.decode(Payload.self, from: payload).price == 4_990 { good += 1 }
        }
        return good
    }

    /// Foundation knows base64 (RFC 4648 §4) only.
    private static func decode(_ segment: ArraySlice<UInt8>) -> Data? {
        var text = Data(capacity: segment.count + 3)
        for byte in segment {
            switch byte {
            case UInt8(ascii: "-"): text.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): text.append(UInt8(ascii: "/"))
            default: text.append(byte)
            }
        }
        while text.count % 4 != 0 { text.append(UInt8(ascii: "=")) }
        return Data(base64Encoded: text)
    }
}
