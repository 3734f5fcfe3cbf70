import LedgerMetrics
import NIOCore
import NIOHTTP1

/// What an operator's programs ask by GET.
enum WatchPage: String, CaseIterable {
    /// Whether the process answers.
    case live = "/health/live"
    /// Whether the service can do what it is asked.
    case ready = "/health/ready"
    case metrics = "/metrics"

    /// Those that tell nothing that not everybody may know.
    var isHealth: Bool {
        switch self {
        case .live, .ready: true
        case .metrics: false
        }
    }

    /// The page at a path; `nil` where none is.
    /// - Parameter path: without a query.
    static func at(_ path: String, isHealthOnly: Bool) -> WatchPage? {
        allCases.first { $0.rawValue == path && ($0.isHealth || !isHealthOnly) }
    }

    /// - Throws: a refusal of what does not only read.
    func check(_ method: HTTPMethod) throws(HTTPRefusal) {
        guard method == .GET || method == .HEAD else {
            throw HTTPRefusal(.methodNotAllowed, "this path takes GET alone", [("allow", "GET, HEAD")])
        }
    }

    /// What can be told at once, on an event loop: that the process answers, whatever its disks and threads wait for.
    /// `nil` where it must be looked for.
    var instantContent: Content? {
        switch self {
        case .live: Content(status: .ok, body: Array("{\"live\":true}\n".utf8))
        case .ready, .metrics: nil
        }
    }

    /// May block.
    func content(of watch: Watch) -> Content {
        if let instantContent { return instantContent }
        switch self {
        case .live: preconditionFailure("it is told at once")
        case .ready:
            let readiness = watch.currentReadiness()
            return Content(status: readiness.isReady ? .ok : .serviceUnavailable, body: readiness.json)
        case .metrics:
            return Content(status: .ok, body: watch.exposition().bytes, type: Exposition.contentType)
        }
    }

    struct Content: Sendable {
        var status: HTTPResponseStatus
        var body: [UInt8]
        var type = HTTPResponse.json

        func response(to method: HTTPMethod, isKeptAlive: Bool) -> HTTPResponse {
            var response = HTTPResponse(
                status, ByteBuffer(bytes: body), [("cache-control", "no-store")], type: type, isKeptAlive: isKeptAlive)
            if method == .HEAD { response.leaveOutBody() }
            return response
        }
    }
}
