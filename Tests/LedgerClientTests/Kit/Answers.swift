import Ledger
import LedgerWire
import Testing

/// What a server answers to one line, where `reply` answers each request.
func answer(_ line: [UInt8], _ reply: (Request) -> Reply) -> [UInt8] {
    var writer = ReplyWriter()
    func write(_ message: Message) {
        guard let id = message.id else { return }
        switch message.body {
        case .success(let asked): writer.write(reply(asked.request), id: id)
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

/// Why a server ends a connection, which is an answer to nothing.
func lastWord(_ error: WireError) -> [UInt8] {
    var writer = ReplyWriter()
    writer.write(.error(error), id: .null)
    return writer.bytes
}

/// Answers each line at once.
func answering(_ reply: @escaping @Sendable (Request) -> Reply) -> Peer.Script {
    { _, line in line.map { [.send(answer($0, reply))] } ?? [] }
}

/// `balance` with the account that was asked for; `pong` to whatever else.
@Sendable func echo(_ request: Request) -> Reply {
    guard case .ledger(.balance(let query)) = request else { return .pong }
    return .outcome(.balance(AccountBalances(account: query.account, balances: [])))
}

func account(_ text: String) throws -> AccountName { try #require(AccountName(text)) }
func currency(_ text: String) throws -> CurrencyCode { try #require(CurrencyCode(text)) }
func key(_ text: String) throws -> RequestKey { try #require(RequestKey(text)) }
