import LedgerClient
import LedgerWire

/// Requests of every kind that changes something, by number, so that what came of any set of them is known.
enum MixedLoad {
    static let gems = CurrencyCode("gems")!
    static let players = 200
    static let granted: Int64 = 1_000_000

    static func account(_ number: Int) -> AccountName { AccountName("player-\(number % players)")! }

    /// What each request adds to what is available and held; refused by none of these, in whatever order they come.
    static func effect(_ number: Int) -> (available: Int64, held: Int64) {
        switch number % 5 {
        case 0: (500, 0)
        case 1: (7, 0)
        case 2: (-2, 0)
        case 3: (-3, 3)
        default: (4 - 1, 0)
        }
    }

    static func write(
        _ number: Int, _ purchases: [[UInt8]], _ id: RequestID, to writer: inout RequestWriter
    ) {
        let key = RequestKey("r\(number)")!
        let account = account(number)
        func amounts(_ units: Int64) -> [CurrencyAmount] { [CurrencyAmount(currency: gems, amount: Amount(units)!)] }
        switch number % 5 {
        case 0:
            writer.write(
                Methods.credit, Credit(signedTransaction: purchases[number / 5], account: account), id: id)
        case 1:
            writer.write(
                Methods.grant, Grant(key: key, account: account, currency: gems, amount: Amount(7)!), id: id)
        case 2:
            writer.write(Methods.spend, Spend(key: key, account: account, debits: amounts(2)), id: id)
        case 3:
            let hold = Hold(
                key: key, account: account, currency: gems, amount: Amount(3)!, timeoutMilliseconds: 3_600_000)
            writer.write(Methods.hold, hold, id: id)
        default:
            let operations: [KeyedOperation] = [
                .grant(Grant(key: key, account: account, currency: gems, amount: Amount(4)!)),
                .spend(Spend(key: key, account: account, debits: amounts(1))),
            ]
            writer.write(Methods.atomic, Atomic(key: key, operations: operations), id: id)
        }
    }

    /// What every player is given before anything else.
    static func begin(_ client: LedgerClient) async throws {
        for number in 0..<players {
            _ = try await client.grant(
                Grant(
                    key: RequestKey("first-\(number)")!, account: account(number), currency: gems,
                    amount: Amount(granted)!))
        }
    }

    /// Players whose balances are not those after requests `0..<count`, each once.
    static func differences(_ client: LedgerClient, after count: Int) async throws -> [String] {
        var differences: [String] = []
        for player in 0..<players {
            var (available, held) = (granted, Int64(0))
            for number in stride(from: player, to: count, by: players) {
                available += effect(number).available
                held += effect(number).held
            }
            let balance = try await client.balance(account(player)).balances.first?.balance
            if balance?.available != available || balance?.held != held {
                differences.append("player \(player): \(String(describing: balance)), not \(available) and \(held)")
            }
        }
        return differences
    }

    /// Whether an answer says that the request had been carried out before.
    static func isReplay(_ text: String) -> Bool {
        text.contains(#""replayed":true"#) || text.contains(#""outcome":"already_credited""#)
    }
}
