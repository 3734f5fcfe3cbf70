import Ledger
import LedgerWire
import NIOCore

/// What one connection owes its client: an ordered list of answers, each given or still to come. A value without I/O;
/// the handler feeds it lines and results, and does what it hands out.
///
/// States of the list: requests that the sequencer has, or that are answered already, stand in `slots` in the order in
/// which they came. A read is a *barrier*: it is the last slot, it waits until everything before it is answered, and
/// what comes after it waits in `behind`, undecided, until it is answered itself.
struct ConnectionState {
    private struct Slot {
        enum Body {
            case beginBatch
            case endBatch
            // Apart, for most slots are `submitted`.
            indirect case answered(Reply)
            /// It waits behind the barrier.
            indirect case request(LedgerRequest, by: String?)
            /// The sequencer has it; results come in the order of these slots.
            case submitted
            case barrier
        }

        /// `nil` for what is not answered.
        var id: RequestID?
        /// Of the line, at the last slot of it.
        var bytes: Int
        var body: Body
    }

    private enum Barrier {
        /// The sequencer fixes what it sees.
        case preparing
        case ready(Query)
        case reading
    }

    private let tokens: TokenTable
    private let info: ServerInfo
    private let requestsMax: Int
    private let bytesMax: Int

    private var role: Role?
    /// The name of the token that gave the role: entries keep it. Without tokens nobody is known.
    private var actor: String?
    private(set) var isDraining = false
    private var slots = CircularBuffer<Slot>()
    private var behind = CircularBuffer<Slot>()
    private var barrier: Barrier?
    private var operations: [Operation] = []
    /// Whether the replies written last are the beginning of a batch's line.
    private(set) var isInBatch = false
    private(set) var requestsInFlight = 0
    private(set) var bytesInFlight = 0

    init(tokens: TokenTable, info: ServerInfo, limits: ServerLimits) {
        self.tokens = tokens
        self.info = info
        requestsMax = limits.requestsInFlightMax
        bytesMax = limits.bytesInFlightMax
        role = tokens.roleWithoutToken
    }

    /// Whether no further line may be accepted before something is answered.
    var isFull: Bool { requestsInFlight >= requestsMax || bytesInFlight >= bytesMax }

    /// Whether everything accepted is answered.
    var isIdle: Bool { slots.isEmpty && behind.isEmpty }

    /// From now on new requests are answered `shutting_down`; what was accepted before is carried out.
    mutating func drain() { isDraining = true }

    // MARK: Lines in

    mutating func accept(_ line: Line, bytes: Int) {
        bytesInFlight += bytes
        switch line {
        case .single(let message):
            accept(message, bytes: bytes)
        case .batch(let messages):
            // JSON-RPC 2.0 §6: "If there are no Response objects contained within the Response array as it is to be
            // sent to the client, the server MUST NOT return an empty Array and should return nothing at all."
            let isAnswered = messages.contains { $0.id != nil }
            if isAnswered { place(Slot(id: nil, bytes: 0, body: .beginBatch)) }
            for message in messages { accept(message, bytes: 0) }
            place(Slot(id: nil, bytes: bytes, body: .endBatch))
        case .invalid(let error):
            requestsInFlight += 1
            place(Slot(id: .null, bytes: bytes, body: .answered(.error(error))))
        }
    }

    private mutating func accept(_ message: Message, bytes: Int) {
        requestsInFlight += 1
        var slot = Slot(id: message.id, bytes: bytes, body: .submitted)
        switch message.body {
        case .failure(let error):
            slot.body = .answered(.error(error))
        case .success(let asked):
            switch answer(asked) {
            case .reply(let reply):
                slot.body = .answered(reply)
            case .ledger(let request):
                if barrier == nil {
                    slot.body = submit(request, by: actor)
                    slots.append(slot)
                    return
                }
                slot.body = .request(request, by: actor)
            }
        }
        place(slot)
    }

    /// Who answers a request.
    private enum Answerer {
        case reply(Reply)
        case ledger(LedgerRequest)
    }

    /// Answers what concerns only the connection, and what its role does not allow. Roles change in the order sent.
    private mutating func answer(_ asked: Message.Asked) -> Answerer {
        if let denial = asked.method.denial(to: role) { return .reply(.error(denial)) }
        switch asked.request {
        case .ping:
            return .reply(.pong)
        case .authenticate(let token):
            guard let role = tokens.role(of: token) else { return .reply(.error(.unknownToken)) }
            self.role = role
            actor = tokens.isEmpty ? nil : role.rawValue
            return .reply(.authenticated(role))
        case .info:
            return .reply(.info(info))
        case .ledger(let request):
            return isDraining ? .reply(.error(.shuttingDown)) : .ledger(request)
        }
    }

    /// Puts a request among what may take effect now; a read becomes the barrier.
    /// - Returns: what its slot holds from now on.
    private mutating func submit(_ request: LedgerRequest, by actor: String?) -> Slot.Body {
        let operation = Operation(request, by: actor)
        operations.append(operation)
        switch operation {
        case .prepare:
            barrier = .preparing
            return .barrier
        case .command, .signed, .refused:
            return .submitted
        }
    }

    private mutating func place(_ slot: Slot) {
        guard barrier == nil else {
            behind.append(slot)
            return
        }
        var slot = slot
        if case .request(let request, let actor) = slot.body { slot.body = submit(request, by: actor) }
        slots.append(slot)
    }

    // MARK: Work out

    /// Everything that may take effect now, in order.
    mutating func takeOperations() -> [Operation] {
        defer { operations = [] }
        return operations
    }

    /// The read that may begin, once.
    mutating func takeRead() -> Query? {
        guard case .ready(let query) = barrier else { return nil }
        barrier = .reading
        return query
    }

    // MARK: Results in, replies out

    /// Writes every reply that can be given, in order, with the sequencer's next results.
    mutating func settle(_ results: [OperationResult] = [], into writer: inout ReplyWriter) {
        var results = results[...]
        while let slot = slots.first {
            switch slot.body {
            case .beginBatch:
                writer.beginBatch()
                isInBatch = true
            case .endBatch:
                if isInBatch { writer.endBatch() }
                isInBatch = false
            case .answered(let reply):
                write(reply, slot, into: &writer)
            case .submitted:
                guard let result = results.popFirst() else { return }
                switch result {
                case .outcome(let outcome): write(.outcome(outcome), slot, into: &writer)
                case .error(let error): write(.error(error), slot, into: &writer)
                case .prepared: preconditionFailure("a read was prepared that nobody asked for")
                }
            case .barrier:
                guard case .preparing = barrier, let result = results.popFirst() else {
                    precondition(results.isEmpty, "results came past a read")
                    return
                }
                switch result {
                case .prepared(let query):
                    barrier = .ready(query)
                    return
                case .outcome(let outcome): write(.outcome(outcome), slot, into: &writer)
                case .error(let error): write(.error(error), slot, into: &writer)
                }
                remove(slot)
                passBarrier()
                continue
            case .request:
                preconditionFailure("a request stands before the barrier undecided")
            }
            remove(slot)
        }
        precondition(results.isEmpty, "more results than requests")
    }

    /// Writes the answer of the read that was handed out, and lets what waited behind it go on.
    mutating func finishRead(_ reply: Reply, into writer: inout ReplyWriter) {
        guard case .reading = barrier, let slot = slots.first else {
            preconditionFailure("no read was handed out")
        }
        write(reply, slot, into: &writer)
        remove(slot)
        passBarrier()
        settle(into: &writer)
    }

    private mutating func passBarrier() {
        barrier = nil
        while barrier == nil, let next = behind.popFirst() { place(next) }
    }

    private mutating func remove(_ slot: Slot) {
        slots.removeFirst()
        bytesInFlight -= slot.bytes
        switch slot.body {
        case .beginBatch, .endBatch: break
        case .answered, .request, .submitted, .barrier: requestsInFlight -= 1
        }
    }

    private func write(_ reply: Reply, _ slot: Slot, into writer: inout ReplyWriter) {
        guard let id = slot.id else { return }
        writer.write(reply, id: id)
    }
}
