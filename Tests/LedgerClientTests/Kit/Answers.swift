import Ledger
import LedgerWire
import Testing

/// What a server answers to one line, where `reply` answers each request.
func answer(_ line: [UInt8], _ reply: (Request) -> Reply) -> [UInt8] {
    var writer = ReplyWriter()
    func write(_ message: Message) {
        guard let id = message.id else { return }
        switch message.body {
        case .success(let request): writer.write(reply(request), id: id)
        case .failure(let error): writer.write(.error(error), id: id)
        }
    }
    switch line.withUnsafeBufferPointer({ LineParser.parse($0) }) {
    case .single(let message): write(message)
    case .invalid(let error): writer.write(.error(error), id: .null)
    case .batch(let messages):
        writer.beginBatch()
        for message in messages { write(message) }
        writer.endBatch()
    }
    return writer.bytes
}

/// Answers each line at once.
func answering(_ reply: @escaping @Sendable (Request) -> Reply) -> Peer.Script {
    { _, line in line.map { [.send(answer($0, reply))] } ?? [] }
}

/// `balance` with the account that was asked for; `pong` to whatever else.
@Sendable func echo(_ request: Request) -> Reply {
    switch request {
    case .balance(let account, _, _): .outcome(.balance(AccountBalances(account: account, balances: [])))
    case .ping, .authenticate, .info, .credit, .notify, .purchase, .consumption, .spend, .reverse, .hold, .capture,
        .release, .grant, .atomic, .history, .report, .journal, .forget:
        .pong
    }
}

func account(_ text: String) throws -> AccountName { try #require(AccountName(text)) }
func currency(_ text: String) throws -> CurrencyCode { try #require(CurrencyCode(text)) }
func key(_ text: String) throws -> RequestKey { try #require(RequestKey(text)) }
