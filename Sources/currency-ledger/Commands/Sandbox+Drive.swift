import AppStore
import AppStoreSimulator
import ArgumentParser
import Foundation
import StrictJSON

/// How a command finds the simulator.
struct SimulatorPlace: ParsableArguments {
    @Option(help: "The address of the simulator.")
    var simulator = "http://\(SimulatorAddress.usual)"

    var client: SimulatorClient { SimulatorClient(address: simulator) }

    func validate() throws {
        guard let url = URL(string: simulator), url.scheme == "http", url.host?.isEmpty == false else {
            throw ValidationError("--simulator must be http://host:port, not '\(simulator)'.")
        }
    }
}

/// How a command finds the simulator, and what it prints.
struct SimulatorOptions: ParsableArguments {
    @OptionGroup var place: SimulatorPlace

    @Flag(help: "Print a line of JSON: transactionId, orderId, notificationUUID, signedTransaction.")
    var json = false

    /// Has a command carried out, and prints the transaction (a JWS).
    func perform(_ command: SimulatorCommand) async throws {
        do throws(SimulatorError) {
            let outcome = try await place.client.perform(command)
            Console.print(json ? String(decoding: outcome.json, as: UTF8.self) : outcome.signedTransaction)
        } catch { throw Failure("\(error)") }
    }
}

/// A transaction that the simulator sold.
struct SoldTransaction: ParsableArguments {
    @Argument(help: "The transaction's id.")
    var transactionId: String

    func validate() throws { try Rule.number("The transaction's id", transactionId) }
}

extension Sandbox {
    struct Buy: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Buys from a simulator that runs, and prints the signed transaction (a JWS).",
            discussion: """
                The simulator posts ONE_TIME_CHARGE, or SUBSCRIBED for a subscription that renews.
                """)

        @Option(help: "The product.")
        var product: String

        @Option(help: "Apple's type of product, as Non-Consumable. Default: as it is for sale, else Consumable")
        var type: String?

        @Option(help: "The appAccountToken: the UUID of the account that the app names.")
        var account: String?

        @Option(help: "Whose purchase it is, by any name. Default: the account's")
        var customer: String?

        @Option(help: "Units bought: 1 to 10.")
        var quantity: Int64 = 1

        @Option(help: "The price, as 0.99. Default: that of the product")
        var price: String?

        @Option(help: "The price's currency, as EUR. Default: the simulator's")
        var currency: String?

        @Flag(help: "The app has finished the transaction already.")
        var finished = false

        @Flag(help: "Another member of the family bought it.")
        var familyShared = false

        @OptionGroup var options: SimulatorOptions

        func validate() throws {
            try Rule.identifier("--product", product)
            try Rule.oneOf("--type", type, TransactionPayload.ProductType.known.map(\.rawValue))
            try Rule.uuid("--account", account)
            try Rule.range("--quantity", quantity, 1...AppStoreLimits.quantityMax)
            try Rule.letters("--currency", currency)
            if let price, Decimals.thousandths(price) == nil {
                throw ValidationError("--price must be as 0.99, with at most three digits behind the point.")
            }
        }

        func run() async throws {
            var order = SimulatorCommand.PurchaseOrder(productID: product)
            order.type = type.map { .init(rawValue: $0) }
            order.quantity = quantity
            order.appAccountToken = account
            order.customer = customer
            order.price = price.flatMap(Decimals.thousandths)
            order.currency = currency
            order.isFinished = finished
            order.isFamilyShared = familyShared
            try await options.perform(.buy(order))
        }
    }

    struct Refund: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Has a simulator refund a purchase: it posts REFUND.")

        @OptionGroup var transaction: SoldTransaction

        @Option(help: "How much is refunded, in thousandths of a percent of the full quantity. Default: all of it")
        var revocationPercentage: Int64?

        @Option(help: "0 for any reason, 1 for an issue within the app.")
        var revocationReason: Int64 = 0

        @OptionGroup var options: SimulatorOptions

        func validate() throws {
            try Rule.range("--revocation-percentage", revocationPercentage, 1...AppStoreLimits.wholeShare)
            try Rule.range("--revocation-reason", revocationReason, 0...1)
        }

        func run() async throws {
            var order = SimulatorCommand.RefundOrder(transactionID: transaction.transactionId)
            order.percentage = revocationPercentage
            order.reason = .init(rawValue: revocationReason)
            try await options.perform(.refund(order))
        }
    }

    struct Decline: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Has a simulator decline a refund: it posts REFUND_DECLINED.")

        @OptionGroup var transaction: SoldTransaction
        @OptionGroup var options: SimulatorOptions

        func run() async throws {
            try await options.perform(.decline(transactionID: transaction.transactionId))
        }
    }

    struct Reverse: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Has a simulator take a refund back: it posts REFUND_REVERSED.")

        @OptionGroup var transaction: SoldTransaction
        @OptionGroup var options: SimulatorOptions

        func run() async throws {
            try await options.perform(.reverse(transactionID: transaction.transactionId))
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Has a simulator end the Family Sharing of a purchase: it posts REVOKE.")

        @OptionGroup var transaction: SoldTransaction
        @OptionGroup var options: SimulatorOptions

        func run() async throws {
            try await options.perform(.revoke(transactionID: transaction.transactionId))
        }
    }

    struct Renew: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Has a simulator renew a subscription: it posts DID_RENEW, and prints the new transaction.")

        @OptionGroup var transaction: SoldTransaction
        @OptionGroup var options: SimulatorOptions

        func run() async throws {
            try await options.perform(.renew(transactionID: transaction.transactionId))
        }
    }

    struct RequestConsumption: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Has a simulator ask how much of a purchase was consumed: it posts CONSUMPTION_REQUEST.")

        @OptionGroup var transaction: SoldTransaction

        @Option(help: "Apple's consumptionRequestReason.")
        var reason = NotificationPayload.ConsumptionRequestReason.unintendedPurchase.rawValue

        @OptionGroup var options: SimulatorOptions

        func validate() throws {
            try Rule.oneOf("--reason", reason, NotificationPayload.ConsumptionRequestReason.known.map(\.rawValue))
        }

        func run() async throws {
            try await options.perform(
                .requestConsumption(transactionID: transaction.transactionId, reason: .init(rawValue: reason)))
        }
    }

    struct State: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints what a simulator holds: a line of JSON for each transaction, to compare the books with.")

        @Argument(help: "The id of the only transaction that is wanted. Default: all")
        var transactionId: String?

        @OptionGroup var place: SimulatorPlace

        func validate() throws { try Rule.number("The transaction's id", transactionId) }

        func run() async throws {
            do throws(SimulatorError) {
                let lines = try await place.client.state(of: transactionId)
                if !lines.isEmpty { Console.print(String(decoding: lines.dropLast(), as: UTF8.self)) }
            } catch { throw Failure("\(error)") }
        }
    }
}
