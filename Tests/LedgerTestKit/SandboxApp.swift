package import AppStore

/// A game in the sandbox: its signing chain, the verifier that believes it, and whatever Apple could sign for it.
package final class SandboxApp: Sendable {
    /// The date of everything it signs unless said otherwise.
    package static let date: Int64 = 1_750_000_000_000

    package let app: App
    package let verifier: Verifier
    private let chain: SandboxChain
    /// What its verifier trusts.
    package var root: Certificate { chain.root }

    /// Verifiers that believe an app's chain and want something else.
    package struct Relabelled: Sendable {
        /// Another bundle id.
        package let app: Verifier
        /// Production.
        package let environment: Verifier

        package init(_ sandbox: SandboxApp) throws {
            app = Verifier(
                app: App(bundleID: "com.example.another", environment: .sandbox), anchors: [sandbox.chain.root])
            environment = Verifier(
                app: App(bundleID: sandbox.app.bundleID, environment: .production), anchors: [sandbox.chain.root])
        }
    }

    package init(bundleID: String = "com.example.game") throws {
        app = App(bundleID: bundleID, environment: .sandbox)
        chain = try SandboxChain(notBefore: SandboxApp.date - 86_400_000, notAfter: SandboxApp.date + 86_400_000)
        verifier = Verifier(app: app, anchors: [chain.root])
    }

    /// A signed purchase.
    package func transaction(
        _ id: Int64, product: String = "com.example.game.gems500", account: String? = nil, quantity: Int64 = 1,
        type: TransactionPayload.ProductType = .consumable, revokedAt: Int64? = nil, percentage: Int64? = nil,
        signedDate: Int64 = date
    ) throws -> String {
        var payload = TransactionPayload(
            transactionID: String(id), bundleID: app.bundleID, productID: product,
            purchaseDate: SandboxApp.date - 1_000,
            quantity: quantity, type: type, appAccountToken: account, signedDate: signedDate, environment: .sandbox)
        payload.revocationDate = revokedAt
        payload.revocationPercentage = percentage
        if revokedAt != nil { payload.revocationReason = .init(rawValue: 0) }
        return try chain.sign(payload)
    }

    /// Any notification, signed.
    package func sign(_ notification: NotificationPayload) throws -> String { try chain.sign(notification) }

    /// A signed notification, with a transaction in it or none.
    package func notification(
        _ uuid: String, type: String, transaction: String? = nil, signedDate: Int64 = date
    ) throws -> String {
        try chain.sign(
            NotificationPayload(
                notificationType: .init(rawValue: type), notificationUUID: uuid, signedDate: signedDate,
                data: .init(
                    bundleID: app.bundleID, environment: .sandbox, signedTransactionInfo: transaction)))
    }
}
