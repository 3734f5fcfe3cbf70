import LedgerWire

func parse(_ line: String) -> Line { parse(Array(line.utf8)) }

func parse(_ line: [UInt8]) -> Line { line.withUnsafeBufferPointer { LineParser.parse($0) } }

extension Line {
    /// The message of a line that holds one.
    var message: Message? {
        switch self {
        case .single(let message): message
        case .batch, .invalid: nil
        }
    }

    var request: Request? {
        switch message?.body {
        case .success(let asked): asked.request
        case .failure, nil: nil
        }
    }

    /// What is answered with an error: of the line, or of its only message.
    var error: WireError? {
        switch self {
        case .invalid(let error): return error
        case .batch: return nil
        case .single(let message):
            switch message.body {
            case .success: return nil
            case .failure(let error): return error
            }
        }
    }

    /// What a server that refuses everything else answers, as whole lines; empty where nothing is answered.
    func answer(_ reply: (Request) -> Reply) -> [UInt8] {
        var writer = ReplyWriter()
        func answer(_ message: Message) {
            guard let id = message.id else { return }
            switch message.body {
            case .success(let asked): writer.write(reply(asked.request), id: id)
            case .failure(let error): writer.write(.error(error), id: id)
            }
        }
        switch self {
        case .single(let message): answer(message)
        case .invalid(let error): writer.write(.error(error), id: .null)
        case .batch(let messages):
            guard messages.contains(where: { $0.id != nil }) else { break }
            writer.beginBatch()
            for message in messages { answer(message) }
            writer.endBatch()
        }
        return writer.bytes
    }
}

extension WireError {
    /// The member that an `invalid_params` names.
    var path: String? {
        switch self["path"] {
        case .string(let path): path
        case .integer, .bool, .null, .json, nil: nil
        }
    }
}

extension ReplyLine {
    init(line: [UInt8]) throws {
        self = try line.withUnsafeBufferPointer { try ReplyLine($0) }
    }

    var messages: [ReplyMessage] {
        switch self {
        case .single(let message): [message]
        case .batch(let messages): messages
        }
    }
}
