import AppStore
import ArgumentParser
import Foundation
import StrictJSON

struct Sandbox: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Signs what the App Store could sign, with a chain of your own.",
        discussion: """
            For games that are developed and tested without the App Store. A service accepts what the chain signs when \
            its root is among the service's anchors.
            """,
        subcommands: [Init.self, Sign.self, Notify.self])

    struct Init: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes a signing chain shaped like Apple's.",
            discussion: "Writes root.der (the anchor to configure), the certificates and their keys as PEM.")

        @Argument(help: "The folder; made where there is none. One that holds a chain is left as it is.")
        var folder: String

        @Option(help: "Days for which the certificates are valid, from yesterday on.")
        var days = 3_650

        func validate() throws {
            guard (1...36_500).contains(days) else { throw ValidationError("--days must be from 1 to 36500.") }
        }

        func run() throws {
            let now = Clock.now()
            let day: Int64 = 86_400_000
            let chain = try SandboxChain(notBefore: now - day, notAfter: now + Int64(days) * day)
            try ChainFolder(folder).write(chain)
            Console.error("wrote a signing chain to \(folder); configure \(folder)/root.der as an anchor")
        }
    }

    struct Sign: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints a signed transaction (a JWS).")

        @Argument(help: "The folder of the chain.")
        var folder: String

        @OptionGroup var transaction: TransactionOptions

        func run() throws {
            Console.print(try ChainFolder(folder).read().sign(try transaction.payload()))
        }
    }

    struct Notify: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints a signed App Store Server Notification V2 (a JWS).",
            discussion: """
                It carries the transaction that the options describe, or that of --transaction FILE, or none \
                (--no-transaction, and TEST). RESCIND_CONSENT, EXTERNAL_PURCHASE_TOKEN and RENEWAL_EXTENSION with the \
                subtype SUMMARY have what Apple sends with them instead.
                """)

        @Argument(help: "The folder of the chain.")
        var folder: String

        @Option(
            help: "Apple's notificationType, as ONE_TIME_CHARGE, REFUND, REFUND_REVERSED, CONSUMPTION_REQUEST, TEST, …")
        var notificationType: String

        @Option(help: "Apple's subtype.")
        var subtype: String?

        @Option(help: "The notificationUUID. Default: a random one")
        var uuid: String?

        @Option(help: "A file with the signed transaction to carry.", completion: .file())
        var transaction: String?

        @Flag(help: "Carry no transaction.")
        var noTransaction = false

        @Option(help: "The app's App Store id.")
        var appAppleId: Int64?

        @Option(help: "Apple's consumptionRequestReason, as UNINTENDED_PURCHASE.")
        var consumptionRequestReason: String?

        @OptionGroup var options: TransactionOptions

        func run() throws {
            let chain = try ChainFolder(folder).read()
            var payload = NotificationPayload(
                notificationType: .init(rawValue: notificationType), subtype: subtype.map { .init(rawValue: $0) },
                notificationUUID: uuid ?? UUID().uuidString.lowercased(), signedDate: options.signedDate ?? Clock.now())
            let environment = AppStore.Environment(rawValue: options.environment)
            switch (payload.notificationType, payload.subtype) {
            case (.rescindConsent, _):
                payload.appData = .init(
                    appAppleID: appAppleId, bundleID: options.bundleId, environment: environment,
                    signedAppTransactionInfo: try carried(chain, required: false))
            case (.externalPurchaseToken, _):
                let name = UUID().uuidString.lowercased()
                payload.externalPurchaseToken = .init(
                    externalPurchaseID: environment == .sandbox ? "SANDBOX_\(name)" : name,
                    tokenCreationDate: payload.signedDate, appAppleID: appAppleId, bundleID: options.bundleId)
            case (.renewalExtension, NotificationPayload.Subtype.summary?):
                payload.summary = .init(appAppleID: appAppleId, bundleID: options.bundleId, environment: environment)
            default:
                var data = NotificationPayload.AppMetadata(
                    appAppleID: appAppleId, bundleID: options.bundleId, environment: environment)
                data.signedTransactionInfo = try carried(chain, required: payload.notificationType != .test)
                data.consumptionRequestReason = consumptionRequestReason.map { .init(rawValue: $0) }
                payload.data = data
            }
            Console.print(try chain.sign(payload))
        }

        /// The signed transaction that the notification carries.
        private func carried(_ chain: SandboxChain, required: Bool) throws -> String? {
            if let transaction {
                let bytes = try File.read(transaction, bytesMax: AppStoreLimits.jwsBytesMax)
                return String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .newlines)
            }
            return noTransaction || !required ? nil : try chain.sign(try options.payload())
        }
    }
}

/// What a transaction says, as options of a command.
struct TransactionOptions: ParsableArguments {
    @Option(help: "The app.")
    var bundleId = "com.example.game"

    @Option(help: "The product.")
    var product = "com.example.game.gems500"

    @Option(help: "The transaction's id. Default: one made from the time")
    var transactionId: String?

    @Option(help: "Units bought.")
    var quantity: Int64 = 1

    @Option(help: "The appAccountToken: the UUID of the account that the app named.")
    var accountToken: String?

    @Option(help: "When it was bought, in milliseconds since 1970. Default: now")
    var purchaseDate: Int64?

    @Option(help: "When this was signed, in milliseconds since 1970. Default: now")
    var signedDate: Int64?

    @Option(help: "The price in thousandths of its currency.")
    var price: Int64?

    @Option(help: "The price's currency, as USD.")
    var priceCurrency: String?

    @Option(
        help:
            """
            When it was revoked, in milliseconds since 1970: makes it a revocation, of the whole unless \
            --revocation-percentage is given.
            """
    )
    var revocationDate: Int64?

    @Option(help: "How much is revoked, in thousandths of a percent of the full quantity: 0 to 100000.")
    var revocationPercentage: Int64?

    @Option(help: "Apple's revocationReason: 0 or 1.")
    var revocationReason: Int64?

    @Option(help: "Consumable, Non-Consumable, Auto-Renewable Subscription or Non-Renewing Subscription.")
    var type = "Consumable"

    @Option(help: "Sandbox, Production, Xcode or LocalTesting.")
    var environment = "Sandbox"

    func payload() throws -> TransactionPayload {
        let now = Clock.now()
        var payload = TransactionPayload(
            transactionID: transactionId ?? String(now), bundleID: bundleId, productID: product,
            purchaseDate: purchaseDate ?? now, quantity: quantity, type: .init(rawValue: type),
            appAccountToken: accountToken, signedDate: signedDate ?? now,
            environment: AppStore.Environment(rawValue: environment))
        payload.originalTransactionID = payload.transactionID
        payload.originalPurchaseDate = payload.purchaseDate
        payload.inAppOwnershipType = .purchased
        payload.transactionReason = .purchase
        payload.price = price
        payload.currency = priceCurrency
        if revocationPercentage != nil || revocationReason != nil || revocationDate != nil {
            payload.revocationDate = revocationDate ?? now
            payload.revocationPercentage = revocationPercentage
            payload.revocationReason = .init(rawValue: revocationReason ?? 0)
        }
        return payload
    }
}

/// A chain's files.
struct ChainFolder {
    private let folder: URL

    init(_ path: String) { folder = URL(fileURLWithPath: path, isDirectory: true) }

    func write(_ chain: SandboxChain) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        guard !FileManager.default.fileExists(atPath: path("root.der")) else {
            throw Failure("\(folder.path) holds a chain already; it is left as it is")
        }
        let parts = try chain.parts()
        try File.write(parts.rootCertificate, to: path("root.pem"))
        try File.write(parts.rootKey, to: path("root.key.pem"), secret: true)
        try File.write(parts.intermediateCertificate, to: path("intermediate.pem"))
        try File.write(parts.intermediateKey, to: path("intermediate.key.pem"), secret: true)
        try File.write(parts.leafCertificate, to: path("leaf.pem"))
        try File.write(parts.leafKey, to: path("leaf.key.pem"), secret: true)
        try File.write(chain.root.der, to: path("root.der"))
    }

    func read() throws -> SandboxChain {
        do {
            return try SandboxChain(
                SandboxChain.Parts(
                    rootCertificate: try part("root.pem"), intermediateCertificate: try part("intermediate.pem"),
                    leafCertificate: try part("leaf.pem"), rootKey: try part("root.key.pem"),
                    intermediateKey: try part("intermediate.key.pem"), leafKey: try part("leaf.key.pem")))
        } catch let error as ConfigurationError {
            throw Failure(
                "\(error.description); make a chain with: currency-ledger sandbox init \(folder.relativePath)")
        }
    }

    private func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    private func part(_ name: String) throws -> [UInt8] { try File.read(path(name), bytesMax: 65_536) }
}
