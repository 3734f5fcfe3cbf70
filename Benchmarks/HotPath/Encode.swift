import Foundation
import Ledger
import LedgerWire

/// The reply to a credit as a line.
final class EncodeReply: HotPathWorkload {
    private let receipt: PurchaseReceipt
    private var writer = ReplyWriter()

    init() throws {
        let studio = try Studio()
        receipt = PurchaseReceipt(
            outcome: .credited, transaction: TransactionID(number: 2_000_000_000_000_001),
            account: studio.accounts[1], posted: [PostedAmount(currency: studio.currency, units: Studio.units)],
            balances: [
                CurrencyBalance(currency: studio.currency, balance: Balance(available: 500, paid: 500, version: 1))
            ], entry: 42, finish: true)
    }

    func run(_ count: Int) -> Int {
        var good = 0
        for number in 0..<count {
            writer.take(writer.wholeLineBytes) { _ in }
            writer.write(.outcome(.purchase(receipt)), id: .integer(Int64(number)))
            if writer.bytes.last == UInt8(ascii: "\n") { good += 1 }
        }
        return good
    }

    /// The last line.
    var line: [UInt8] { writer.bytes }
}

/// The same with Foundation's `JSONEncoder`.
final class FoundationEncode: HotPathWorkload {
    private struct Reply: Encodable {
        struct Posted: Encodable {
            var currency: String
            var amount: Int64
        }
        struct Balance: Encodable {
            var available, held, debt, paid, free, version: Int64
        }
        struct Receipt: Encodable {
            var outcome, transactionId, account: String
            var posted: [Posted]
            var balances: [String: Balance]
            var entry: Int64
            var finish: Bool
        }
        var jsonrpc = "2.0"
        var id: Int64
        var result: Receipt
    }

    private let encoder = JSONEncoder()
    private let receipt: Reply.Receipt
    private(set) var line = Data()

    init() throws {
        receipt = Reply.Receipt(
            outcome: "credited", transactionId: "2000000000000001", account: "player-1",
            posted: [Reply.Posted(currency: "gems", amount: 500)],
            balances: ["gems": Reply.Balance(available: 500, held: 0, debt: 0, paid: 500, free: 0, version: 1)],
            entry: 42, finish: true)
    }

    func run(_ count: Int) throws -> Int {
        var good = 0
        for number in 0..<count {
            line = try encoder.encode(Reply(id: Int64(number), result: receipt))
            line.append(UInt8(ascii: "\n"))
            if line.last == UInt8(ascii: "\n") { good += 1 }
        }
        return good
    }
}
