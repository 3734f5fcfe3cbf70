import AppStore
import Ledger
import LedgerEngine
import LedgerWire
import NIOConcurrencyHelpers
import NIOCore

@testable import LineServer

/// A connection as a transcript: bytes and answers go in; operations, replies and the rest of its actions come out.
struct Transcript {
    var state: ConnectionState
    let memory: ReplyMemory
    let tokens: TokenTable
    /// How often it was told that there may be room.
    let wakes = NIOLockedValueBox(0)
    var isWritable = true
    /// Bytes that have come and were not read.
    var unread = 0
    /// The same, from when something is written next.
    var unreadOnceWritten: Int?
    /// The operations that were handed on since the last time.
    private var submitted: [String] = []
    /// What was passed on to the node that leads, and in whose name, since the last time.
    private var relayed: [String] = []
    /// Of each time that operations were handed on, whether all before was answered.
    private(set) var goneOn: [Bool] = []
    private var written: [UInt8] = []
    /// What it did besides, since the last time.
    private var did: [String] = []

    /// Those of several, by their places.
    private let ledgers: [LedgerName]

    /// - Parameter ledgers: where there are several: their names; each of its own app, `com.example.NAME`.
    init(
        tokens: [Token] = [], ledgers: [String] = [], limits: ServerLimits = ServerLimits(),
        memory: ReplyMemory? = nil, isLedElsewhere: (@Sendable (Int) -> Bool)? = nil,
        leadPlace: (@Sendable (Int) -> LeadPlace)? = nil,
        figures: RequestFigures? = nil
    ) {
        let names = ledgers.compactMap { LedgerName($0) }
        self.ledgers = names
        let directory = LedgerDirectory(
            names.isEmpty
                ? [(nil, App(bundleID: "b", environment: .sandbox))]
                : names.map { ($0, App(bundleID: "com.example.\($0)", environment: .sandbox)) })
        self.memory = memory ?? ReplyMemory(bytesMax: limits.replyBytesMax)
        let share = ReplyShare(of: self.memory, stepBytes: limits.replyStepBytes)
        share.wake = { [wakes] in wakes.withLockedValue { $0 += 1 } }
        let table = TokenTable(
            tokens.isEmpty ? .everyoneOnThisMachine : .tokens(tokens), ledgers: directory.count)
        self.tokens = table
        state = ConnectionState(
            tokens: table,
            directory: directory,
            info: { place, visible in
                let infos = visible.map { place in
                    LedgerInfo(
                        name: directory.name(at: place), environment: "Sandbox", bundleID: "b", engine: "e",
                        currencies: [])
                }
                return ServerInfo(
                    version: "1", ledger: infos[place.flatMap { visible.firstIndex(of: $0) } ?? 0],
                    ledgers: directory.count == 1 ? [] : infos)
            },
            limits: limits, share: share, clock: { 0 },
            leadPlace: leadPlace ?? Transcript.leadPlace(isLedElsewhere), figures: figures
        ) { _ in true }
        state.turn.begin(lines: .max)
    }

    private static func leadPlace(_ isElsewhere: (@Sendable (Int) -> Bool)?) -> (@Sendable (Int) -> LeadPlace)? {
        guard let isElsewhere else { return nil }
        return { isElsewhere($0) ? .elsewhere : .here }
    }

    /// Does all that it says.
    private mutating func turn() {
        while let action = state.next(isWritable: isWritable) {
            switch action {
            case .submit(let operations, let place, let goesOn):
                goneOn.append(goesOn)
                let ledger = ledgers.isEmpty ? "" : "\(ledgers[place]): "
                submitted += operations.map { ledger + Transcript.name($0) }
            case .relay(let requests, let place, let client):
                let ledger = ledgers.isEmpty ? "" : "\(ledgers[place]): "
                relayed += requests.map { "\(ledger)\(Transcript.name($0)) for \(client ?? "anybody")" }
            case .reload: did.append("reload")
            case .write:
                written += state.takeReplies { Array($0) }
                unread = unreadOnceWritten ?? unread
            case .look(let isAnswered): state.looked(unread: unread, isAnswered: isAnswered)
            case .flush: did.append("flush")
            case .read: did.append("read")
            case .linger: did.append("linger")
            case .close: did.append("close")
            }
        }
    }

    /// Gives the operations that were handed on.
    @discardableResult
    mutating func send(_ lines: String...) -> [String] { receive(lines.map { $0 + "\n" }.joined()) }

    @discardableResult
    mutating func receive(_ text: String) -> [String] {
        receiveOnly(text)
        return operations()
    }

    /// Leaves the operations for ``operations()``.
    mutating func receiveOnly(_ text: String) {
        var bytes = ByteBuffer(string: text)
        state.received(&bytes)
        turn()
    }

    mutating func operations() -> [String] {
        defer { submitted = [] }
        return submitted
    }

    /// What was passed on, since the last time.
    mutating func passedOn() -> [String] {
        defer { relayed = [] }
        return relayed
    }

    private static func name(_ request: LedgerRequest) -> String {
        switch request {
        case .keyed(.spend(let spend)): "spend \(spend.key)"
        case .keyed(.grant(let grant)): "grant \(grant.key)"
        case .balance(let query): "balance \(query.account)"
        case .notify: "notify"
        default: "another"
        }
    }

    private static func name(_ operation: LedgerOperation) -> String {
        switch operation {
        case .signed: "signed"
        case .command(.keyed(.spend(let spend)), _): "spend \(spend.key)"
        case .command(.keyed(.grant(let grant)), _): "grant \(grant.key)"
        case .command(.balance(let account, _), _): "balance \(account)"
        case .command: "command"
        case .granting: "grant within a limit"
        case .query(.history(let query)): "history \(query.account)"
        case .query(.lots(let query, _)): "lots \(query.account)"
        case .query(.holds(let query, _)): "holds \(query.account)"
        case .query(.report): "report"
        case .query(.journal(let query)): "journal after \(query.after) for \(query.waitMilliseconds)"
        case .query(.purchase): "purchase"
        case .query(.find): "find"
        case .query(.appStoreWork): "what there is to tell Apple"
        case .query(.head): "head"
        case .query(.closing(let query)): "closing through \(query.through)"
        case .query(.balances(let query, let asOf)): "balance \(query.account) at \(asOf)"
        case .query(.blocks(let query)): "blocks after \(query.after)"
        case .query(.stepDown): "step down"
        case .promote: "promote"
        case .refused: "refused"
        }
    }

    /// Gives the replies that were written then.
    mutating func answers(_ answers: Answer...) -> [String] {
        state.answered(answers)
        turn()
        return replies()
    }

    /// Gives the replies that were written when the node that leads gave these.
    mutating func answersOfLeader(_ answers: Reply...) -> [String] {
        state.relayed(answers)
        turn()
        return replies()
    }

    mutating func shutDown() { change { $0.shutDown() } }
    mutating func inputClosed() { change { $0.inputClosed() } }
    mutating func change(_ body: (inout ConnectionState) -> Void) {
        body(&state)
        turn()
    }

    /// Gives whether the channel may read.
    mutating func asksToRead() -> Bool { state.asksToRead(isWritable: isWritable) }

    /// What it did besides writing and handing on.
    mutating func actions() -> [String] {
        defer { did = [] }
        return did
    }

    /// The lines written since the last time, and their bytes.
    mutating func lines() -> ([String], bytes: Int) {
        defer { written = [] }
        return (String(decoding: written, as: UTF8.self).split(separator: "\n").map(String.init), written.count)
    }

    /// The ids of the replies written since the last time, a batch in brackets; an error as its reason.
    mutating func replies() -> [String] {
        let text = String(decoding: written, as: UTF8.self)
        written = []
        return text.split(separator: "\n").map { line in
            guard let json = try? JSON(String(line)) else { return "not JSON: \(line)" }
            func short(_ reply: JSON) -> String {
                (reply["id"].isNull ? "null" : reply.id.map(String.init) ?? "?")
                    + (reply.reason.map { " \($0)" } ?? "")
            }
            return json.array.map { "[" + $0.map(short).joined(separator: ", ") + "]" } ?? short(json)
        }
    }
}
