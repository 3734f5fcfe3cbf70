import Foundation
import LedgerTypes
import LedgerWire
import StrictJSON

/// Lines are cut alike however their bytes come. What is on one is read as JSON where Foundation reads JSON; a request
/// that is read, written and read again is the same; each request has one answer, which can be read.
enum LineProperty {
    static func check(_ bytes: [UInt8]) -> Bool {
        checkCut(bytes, lineBytesMax: WireLimits.lineBytesMax)
        checkCut(bytes, lineBytesMax: 40)
        var isAccepted = false
        for line in bytes.split(separator: UInt8(ascii: "\n")) where checkLine(Array(line)) { isAccepted = true }
        return isAccepted
    }

    // MARK: Cutting

    /// The lines at the front of what came, and whether one was too long.
    private struct Cut: Hashable {
        var lines: [ArraySlice<UInt8>] = []
        var isTooLong = false
    }

    private static func checkCut(_ bytes: [UInt8], lineBytesMax: Int) {
        var expected = Cut()
        let parts = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for part in parts.dropLast() where !expected.isTooLong {
            let line = part.last == UInt8(ascii: "\r") ? part.dropLast() : part
            expected.isTooLong = line.count > lineBytesMax
            if !expected.isTooLong, !line.isEmpty { expected.lines.append(line) }
        }
        if let last = parts.last, last.count > lineBytesMax + 1 { expected.isTooLong = true }
        for step in [bytes.count, 1, 7] {
            require(cut(bytes, lineBytesMax, step: step) == expected, "lines are cut alike, \(step) bytes at a time")
        }
    }

    private static func cut(_ bytes: [UInt8], _ lineBytesMax: Int, step: Int) -> Cut {
        var cutter = LineCutter(lineBytesMax: lineBytesMax)
        var cut = Cut()
        var start = 0
        for end in stride(from: step, through: bytes.count + step - 1, by: max(step, 1)) {
            while true {
                let front = bytes[start..<min(end, bytes.count)].withUnsafeBytes { cutter.front(of: $0) }
                let used: Int
                switch front {
                case .line(let range, let end):
                    cut.lines.append(bytes[start + range.lowerBound..<start + range.upperBound])
                    used = end
                case .tooLong:
                    cut.isTooLong = true
                    return cut
                case .unfinished(let empty): used = empty
                }
                cutter.dropped(used)
                start += used
                guard case .line = front else { break }
            }
        }
        return cut
    }

    // MARK: One line

    private static func checkLine(_ bytes: [UInt8]) -> Bool {
        let line = bytes.withUnsafeBufferPointer { LineParser.parse($0) }
        checkGoes(bytes, line)
        let fault = JSONComparison.check(bytes)
        let messages: [Message]
        switch line {
        case .single(let message): messages = [message]
        case .batch(let all): messages = all
        case .invalid(let error):
            messages = []
            require((error.reason == "parse_error") == (fault != nil), "a line is refused as no JSON where it is none")
        }
        if !messages.isEmpty { require(fault == nil, "what requests are read of is JSON") }
        var isAccepted = false
        for message in messages {
            guard case .success(let asked) = message.body else { continue }
            checkWrittenAgain(message, asked)
            isAccepted = true
        }
        checkAnswer(line, messages)
        return isAccepted
    }

    /// Read in several goes a line is the same.
    private static func checkGoes(_ bytes: [UInt8], _ whole: Line) {
        var parser = LineParser()
        var line: Line?
        // Of an endless reading this would not end.
        for _ in 0...bytes.count where line == nil {
            line = bytes.withUnsafeBufferPointer { parser.parse($0, requestsMax: 1 + Int($0.first ?? 0) % 2) }
        }
        require(line == whole, "a line that is read in several goes is the same")
    }

    private static func checkWrittenAgain(_ message: Message, _ asked: Message.Asked) {
        var writer = RequestWriter()
        writer.write(asked.request, id: message.id)
        let written = writer.bytes
        require(written.last == UInt8(ascii: "\n") && !written.dropLast().contains(UInt8(ascii: "\n")), "it is a line")
        let again = written.dropLast().withUnsafeBufferPointer { LineParser.parse($0) }
        require(again == .single(message), "a request that is written and read again is the same")
    }

    private static func checkAnswer(_ line: Line, _ messages: [Message]) {
        var writer = ReplyWriter()
        let answered = messages.filter { $0.id != nil }
        let isBatch = if case .batch = line { !answered.isEmpty } else { false }
        if isBatch { writer.beginBatch() }
        for message in answered {
            switch message.body {
            case .success: writer.write(.pong, id: message.id ?? .null)
            case .failure(let error): writer.write(.error(error), id: message.id ?? .null)
            }
        }
        if isBatch { writer.endBatch() }
        var ids = answered.map { $0.id ?? .null }
        if case .invalid(let error) = line {
            writer.write(.error(error), id: .null)
            ids = [.null]
        }
        let reply = writer.bytes
        if ids.isEmpty { return require(reply.isEmpty, "what has no id has no answer") }
        require(reply.last == UInt8(ascii: "\n"), "an answer is a line")
        require(!reply.dropLast().contains(UInt8(ascii: "\n")), "an answer is one line")
        require(JSONComparison.check(Array(reply.dropLast())) == nil, "an answer is JSON")
        let read = certain("reading an answer") { try reply.dropLast().withUnsafeBufferPointer { try ReplyLine($0) } }
        let replies =
            switch read {
            case .single(let message): [message]
            case .batch(let messages): messages
            }
        require(replies.map(\.id) == ids, "each request has its answer, in their order")
    }
}

extension RequestWriter {
    /// A request as a client writes it.
    fileprivate mutating func write(_ request: Request, id: RequestID?) {
        switch request {
        case .ping: write(Methods.ping, NoParams(), id: id)
        case .authenticate(let authentication): write(Methods.authenticate, authentication, id: id)
        case .info: write(Methods.info, NoParams(), id: id)
        case .reload: write(Methods.reload, NoParams(), id: id)
        case .ledger(let request): write(request, id: id)
        }
    }
}

// MARK: - Seeds

extension LineProperty {
    static let seeds: [[UInt8]] =
        requests.map { Array("\($0)\n".utf8) } + [
            Array("[\(requests.joined(separator: ","))]\r\n\n\(requests[0])\n".utf8)
        ]

    private static func request(_ method: String, _ params: String, id: String = "7") -> String {
        #"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)","params":{\#(params)}}"#
    }

    private static let requests = [
        #"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        #"{"jsonrpc":"2.0","method":"info","params":{}}"#,
        request("authenticate", #""token":"t\u00e4ken""#, id: #""a\u0001""#),
        request("credit", #""signedTransaction":"a.b.c","account":"player-1""#, id: "null"),
        request("notify", #""signedPayload":"a.b.c""#, id: "-1.5e3"),
        request("purchase", #""transactionId":"2000000849195831","limit":3,"before":9"#),
        request(
            "consumption",
            #""transactionId":"7","customerConsented":true,"sampleContentProvided":false,"deliveryStatus":"DELIVERED","#
                + #""refundPreference":"DECLINE""#),
        request(
            "spend",
            #""key":"k","account":"player-1","debits":[{"currency":"gems","amount":50}],"note":"a\n\ud83d\ude00","#
                + #""funds":"paid","expectedVersion":0,"minimumRemaining":9007199254740991"#),
        request("reverse", #""key":"k","spendKey":"s","operation":63,"debits":[{"currency":"gems","amount":1}]"#),
        request(
            "hold",
            #""key":"k","account":"7E3FB204-14E0-4D0B-9D0E-C6E3E2A1B0AF","currency":"gems","amount":1,"#
                + #""timeoutMilliseconds":1000"#),
        request("capture", #""key":"k","holdKey":"h","amount":3"#),
        request("release", #""key":"k","holdKey":"h","operation":0"#),
        request("grant", #""key":"k","account":"p","currency":"gems","amount":5,"note":"","expiresAt":1767225600000"#),
        request(
            "atomic",
            #""key":"k","operations":[{"method":"release","params":{"holdKey":"h"}},{"method":"grant","params":"#
                + #"{"account":"p","currency":"gems","amount":5}}]"#),
        request("balance", #""account":"p","currency":"gems","asOf":1"#),
        request("history", #""account":"p","limit":1000,"before":3"#),
        request("lots", #""account":"p","currency":"gems","limit":1000,"before":3"#),
        request("holds", #""account":"p","limit":1"#),
        request("report", #""kind":"trial","asOf":1767225600000,"limit":10"#),
        request("report", #""kind":"rollforward","from":1,"to":2,"currency":"gems""#),
        request("journal", #""after":0,"limit":5,"waitMilliseconds":30000"#),
        request("find", #""key":"k""#), request("find", #""transactionId":"7""#), request("head", ""),
        request(
            "external",
            #""source":"shop","transactionId":"o-1","account":"p","product":"gems","quantity":2,"price":4990,"#
                + #""priceCurrency":"EUR","purchaseDate":1767225600000,"revoked":100000"#),
        request(
            "adjust",
            #""key":"k","account":"p","currency":"gems","class":"paid","amount":-5,"reason":"r","approval":"t""#),
        request(
            "import",
            #""key":"k","account":"p","lots":[{"currency":"gems","amount":5},{"currency":"gems","amount":7,"#
                + #""transactionId":"1","product":"gems","price":990,"priceCurrency":"EUR","purchaseDate":1}]"#),
        request("close", #""through":1767225600000"#),
        request("forget", #""account":"p""#), request("promote", ""),
        request(
            "blocks",
            #""standby":"b","after":0,"hash":"\#(String(repeating: "0", count: 64))","waitMilliseconds":1,"#
                + #""bytesMax":4096"#),
    ]

    static let words: [String] =
        Methods.all.map { "\"\($0)\"" } + [
            #""jsonrpc":"2.0""#, #""id":"#, #""method":"#, #""params":{"#, #""operations":["#, #""debits":["#,
            #""currency":"#, #""amount":"#, #""key":"#, #""spendKey":"#, #""holdKey":"#, #""account":"#, "null", "true",
            "false", #"\u0000"#, #"\ud83d\ude00"#, "9007199254740991", "9007199254740992", "1e5", "-0", "\r\n",
            #"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        ]
}
