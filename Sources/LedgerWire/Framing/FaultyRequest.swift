import StrictJSON

/// Reads a request that is not valid, as far as it can be read, and says what is wrong with it.
struct FaultyRequest {
    private struct Members {
        var versions = 0
        var isVersion2 = false
        var ids = 0
        var id: RequestID?
        var isIDValid = true
        var methods = 0
        var isMethodText = false
        var method: Method?
        var paramLists = 0
        var params: Range<Int>?
        var paramsKind: JSONKind?
        var unknown = false
    }

    let message: Message

    /// Reads one value. Throws only where it is no JSON text.
    init(_ reader: inout JSONReader) throws(JSONError) {
        guard try reader.peek() == .object else {
            _ = try reader.rawOfAnyShape()
            message = Message(id: .null, body: .failure(.invalidRequest("a request must be an object")))
            return
        }
        let members = try reader.allowingAnyMembers { (reader) throws(JSONError) in
            try FaultyRequest.members(&reader)
        }
        if let error = FaultyRequest.envelopeError(members) {
            // JSON-RPC 2.0 §5: "If there was an error in detecting the id in the Request object (e.g. Parse
            // error/Invalid Request), it MUST be Null." An id that is there and can be told is given back.
            let isKnown = members.ids == 1 && members.isIDValid
            message = Message(id: isKnown ? members.id : .null, body: .failure(error))
            return
        }
        message = Message(id: members.id, body: FaultyRequest.body(members, reader))
    }

    private static func members(_ reader: inout JSONReader) throws(JSONError) -> Members {
        var members = Members()
        try reader.object { (reader, key) throws(JSONError) in
            let kind = try reader.peek()
            switch key {
            case "jsonrpc":
                members.versions += 1
                guard kind == .string else { return _ = try reader.rawOfAnyShape() }
                members.isVersion2 = try reader.text() == "2.0"
            case "id":
                members.ids += 1
                switch kind {
                case .string, .number, .null: members.id = try reader.requestID()
                case .object, .array, .bool:
                    members.isIDValid = false
                    _ = try reader.rawOfAnyShape()
                }
            case "method":
                members.methods += 1
                members.isMethodText = kind == .string
                guard kind == .string else { return _ = try reader.rawOfAnyShape() }
                members.method = Methods.named(try reader.text())
            case "params":
                members.paramLists += 1
                members.paramsKind = kind
                members.params = try reader.rawOfAnyShape()
            default:
                members.unknown = true
                _ = try reader.rawOfAnyShape()
            }
        }
        return members
    }

    private static func envelopeError(_ members: Members) -> WireError? {
        let counts = [members.versions, members.ids, members.methods, members.paramLists]
        if counts.contains(where: { $0 > 1 }) { return .invalidRequest("a member of the request is given twice") }
        if !members.isVersion2 { return .invalidRequest("jsonrpc must be \"2.0\"") }
        if !members.isIDValid { return .invalidRequest("id must be a string, a number or null") }
        if !members.isMethodText { return .invalidRequest("method must be given, as a string") }
        switch members.paramsKind {
        case .string, .number, .bool, .null: return .invalidRequest("params must be an object")
        case .object, .array, nil: break
        }
        if members.unknown {
            return .invalidRequest("a request has no other members than jsonrpc, id, method and params")
        }
        return nil
    }

    private static func body(_ members: Members, _ reader: JSONReader) -> Result<Message.Asked, WireError> {
        guard let method = members.method else { return .failure(.methodNotFound) }
        if members.paramsKind == .array {
            return .failure(.invalidParams(path: "params", "must be an object: parameters are given by name"))
        }
        do throws(JSONError) {
            return .success(try method.request(members.params, in: reader))
        } catch {
            return .failure(.invalidParams(path: error.path.isEmpty ? "params" : error.path, error.message))
        }
    }
}
