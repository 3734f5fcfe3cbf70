import AppStore
import Ledger
import LedgerTestKit

/// Everything that the simulation's App Store ever signs: each purchase several times, standing, refunded in part or
/// whole, and standing again; by itself and in notifications. Signed once, for a signature takes longer than all else.
final class AppStoreItems: Sendable {
    static let tokens = ["6f9619ff-8b86-d011-b42d-00c04fc964ff", "0fa37edd-0a35-4b2c-9d5f-d9a1d0b6b4d1"].map {
        AccountName($0)!
    }

    let app: SandboxApp
    /// By purchase.
    let items: [[SignedItem]]

    init() throws {
        let app = try SandboxApp()
        self.app = app
        let products = ["com.example.game.gems500", "com.example.game.starter", "com.example.game.coins100"]
        items = try (1...14).map { number -> [SignedItem] in
            let id = Int64(2_000_000_900 + number)
            let product = number == 14 ? "com.example.game.unknown" : products[number % 3]
            let quantity: Int64 = number % 4 == 0 ? 2 : 1
            let token = number % 3 == 0 ? nil : AppStoreItems.tokens[number % 2]
            var items: [SignedItem] = []
            // Some were refunded when they were sold; some two JWS are of one millisecond.
            let revisions: [(Int64, Int64)] = [(10, 0), (20, 100_000), (30, 0), (40, 33_333), (40, 50_000), (50, 0)]
            for (offset, revoked) in revisions {
                let signedDate = SandboxApp.date + offset + Int64(number)
                let isRevoked = revoked > 0
                let jws = try app.transaction(
                    id, product: product, account: token?.text, quantity: quantity,
                    revokedAt: isRevoked ? signedDate : nil,
                    percentage: isRevoked && revoked < 100_000 ? revoked : nil, signedDate: signedDate)
                var item = SignedItem(
                    transaction: TransactionID(number: id), product: product, quantity: quantity, token: token,
                    signedDate: signedDate, revoked: revoked, jws: Array(jws.utf8))
                items.append(item)
                let type = isRevoked ? "REFUND" : offset == 10 ? "CONSUMPTION_REQUEST" : "REFUND_REVERSED"
                let uuid = "\(number)-\(offset)-\(revoked)"
                item.notification = (type, uuid)
                item.jws = Array(
                    try app.notification(uuid, type: type, transaction: jws, signedDate: signedDate).utf8)
                items.append(item)
            }
            // Another quantity under the same transaction id; and a signature that is another's.
            var other = items[0]
            other.quantity += 1
            other.jws = Array(
                try app.transaction(
                    id, product: product, account: token?.text, quantity: other.quantity,
                    signedDate: other.signedDate
                ).utf8)
            items.append(other)
            var forged = items[0]
            forged.isForged = true
            let end = forged.jws.count - 20
            forged.jws[end] = forged.jws[end] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            items.append(forged)
            return items
        }
    }
}
