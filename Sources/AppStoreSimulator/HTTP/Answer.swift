internal import AppStoreServer
internal import NIOHTTP1
internal import StrictJSON

/// A request of HTTP, whole.
struct Request: Sendable {
    let method: HTTPMethod
    /// Path and query.
    let target: String
    let headers: HTTPHeaders
    let body: [UInt8]
    /// Whether the connection is closed when it was carried out, instead of an answer.
    var isReplyLost = false

    var path: Substring { target.prefix { $0 != "?" } }
    var query: Query? { Query(target.dropFirst(path.count + 1)) }
}

/// What is answered.
struct Answer: Sendable {
    var status: HTTPResponseStatus
    var headers: [(String, String)] = []
    var body: [UInt8] = []

    /// An object of JSON.
    static func json(_ status: HTTPResponseStatus = .ok, _ members: (inout JSONWriter) -> Void) -> Answer {
        var writer = JSONWriter(capacity: 8_192)
        writer.beginObject()
        members(&writer)
        writer.endObject()
        return Answer(status: status, body: writer.bytes)
    }

    /// A refusal of a command.
    static func refusal(_ status: HTTPResponseStatus, _ message: String) -> Answer {
        json(status) { $0.member("error", message) }
    }
}

/// A refusal of the App Store Server API: Apple's number, and a sentence.
struct APIRefusal: Error {
    let code: APIErrorCode
    let message: String
    var headers: [(String, String)] = []

    init(_ number: Int64, _ message: String) {
        code = APIErrorCode(rawValue: number)
        self.message = message
    }

    init(_ code: APIErrorCode, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The first three digits of the number are the status.
    var answer: Answer {
        var answer = Answer.json(HTTPResponseStatus(statusCode: Int(code.rawValue / 10_000))) { writer in
            writer.member("errorCode", code.rawValue)
            writer.member("errorMessage", message)
        }
        answer.headers = headers
        return answer
    }
}
