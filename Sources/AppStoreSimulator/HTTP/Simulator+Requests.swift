internal import NIOHTTP1
internal import StrictJSON

/// What comes over HTTP.
extension Simulator {
    /// The path under which commands are given.
    static let commandPath = "/simulator/"

    /// Answers a request; `nil` where the connection is to be closed without an answer.
    func answer(_ request: Request) -> Answer? {
        // A page in somebody's browser is not to sell anything here.
        if request.headers.contains(name: "origin") {
            return .refusal(.forbidden, "pages of web sites are not answered")
        }
        if request.path.hasPrefix(Simulator.commandPath) { return commandAnswer(request) }
        if let fault = tokens.fault(request.headers.first(name: "authorization"), now: SystemTime.now()) {
            // Apple's answer is this word; RFC 6750 §3 has a place for the reason.
            let reason = "Bearer error=\"invalid_token\", error_description=\"\(fault.replacing("\"", with: "'"))\""
            return Answer(
                status: .unauthorized, headers: [("www-authenticate", reason), ("content-type", "text/plain")],
                body: Array("Unauthenticated\n".utf8))
        }
        switch faults.next() {
        case .internalError: return APIRefusal(5_000_001, "An unknown error occurred. Please try again.").answer
        case .unavailable: return Answer(status: .serviceUnavailable)
        case .droppedBefore: return nil
        case .droppedAfter:
            var unanswered = request
            unanswered.isReplyLost = true
            _ = apiAnswer(unanswered)
            return nil
        case nil: return apiAnswer(request)
        }
    }

    private func commandAnswer(_ request: Request) -> Answer {
        let name = request.path.dropFirst(Simulator.commandPath.count)
        do {
            switch (request.method, name) {
            case (.GET, "state"):
                return Answer(
                    status: .ok, headers: [("content-type", "application/jsonl")],
                    body: try stateLines(of: request.query?["transactionId"]))
            case (.GET, "reports"):
                guard let query = request.query else {
                    throw SimulatorError(.invalid, "the query cannot be read")
                }
                return Answer(
                    status: .ok, headers: [("content-type", "application/jsonl")],
                    body: try reports(ReportOrder(query)).lines())
            case (.POST, _):
                guard let command = try SimulatorCommand(name, json: request.body) else {
                    return .refusal(.notFound, "there is no command \(name)")
                }
                return Answer(status: .ok, body: try perform(command))
            default:
                return .refusal(
                    .methodNotAllowed, "commands are given by POST, but for GET /simulator/state and reports")
            }
        } catch let error as SimulatorError {
            let status: HTTPResponseStatus =
                switch error.kind {
                case .invalid: .badRequest
                case .notFound: .notFound
                case .conflict: .conflict
                case .unavailable: .serviceUnavailable
                }
            return .refusal(status, error.description)
        } catch {
            return .refusal(.internalServerError, "\(error)")
        }
    }

    private func apiAnswer(_ request: Request) -> Answer {
        guard let (endpoint, subject) = Endpoint.find(request.method, request.path) else {
            return Answer(status: .notFound)
        }
        let hour = configuration.real(SimulatorLimits.rateMilliseconds)
        if let max = configuration.requestsPerHour,
            let time = rates.count(endpoint, max: max, hour: hour, now: SystemTime.now())
        {
            var refusal = APIRefusal(.rateLimitExceeded, "Rate limit exceeded.")
            refusal.headers = [("retry-after", String(time))]
            return refusal.answer
        }
        do {
            return try answer(endpoint, subject, request)
        } catch let refusal as APIRefusal {
            return refusal.answer
        } catch {
            return APIRefusal(.generalInternal, "An unknown error occurred: \(error)").answer
        }
    }
}
