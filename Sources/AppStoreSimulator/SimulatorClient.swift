internal import AppStoreServer
internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import StrictJSON

/// Gives commands to a simulator that runs.
package struct SimulatorClient: Sendable {
    private let address: String

    /// - Parameter address: `http://127.0.0.1:7120`.
    package init(address: String) { self.address = address.hasSuffix("/") ? String(address.dropLast()) : address }

    /// What a command did.
    package struct Outcome: Sendable {
        /// The simulator's whole answer, an object of JSON.
        package let json: [UInt8]
        package let transactionID: String
        /// The transaction as it stands, a JWS.
        package let signedTransaction: String
    }

    /// Has a command carried out.
    /// - Throws: ``SimulatorError``: what the simulator refused, and why; or that there is none.
    @discardableResult
    package func perform(_ command: SimulatorCommand) async throws(SimulatorError) -> Outcome {
        var request = HTTPClientRequest(url: address + Simulator.commandPath + command.name)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        request.body = .bytes(ByteBuffer(bytes: command.json()))
        let json = try await send(request)
        do throws(JSONError) {
            return try JSONBody.read(json) { (reader) throws(JSONError) in
                var id: String?, signed: String?
                try reader.object { (reader, key) throws(JSONError) in
                    switch key {
                    case "transactionId": id = try reader.string()
                    case "signedTransaction": signed = try reader.string()
                    default: try reader.skip()
                    }
                }
                guard let id else { throw reader.missing("transactionId") }
                guard let signed else { throw reader.missing("signedTransaction") }
                return Outcome(json: json, transactionID: id, signedTransaction: signed)
            }
        } catch { throw SimulatorError(.unavailable, "\(address) is no simulator: \(error)") }
    }

    /// What the simulator holds: a line of JSON for each transaction.
    /// - Parameter transactionID: of the only one that is wanted; `nil` for all.
    package func state(of transactionID: String? = nil) async throws(SimulatorError) -> [UInt8] {
        if let transactionID, !transactionID.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) {
            throw SimulatorError(.invalid, "a transaction id has digits alone, not \(transactionID)")
        }
        let query = transactionID.map { "?transactionId=\($0)" } ?? ""
        return try await send(HTTPClientRequest(url: address + Simulator.commandPath + "state" + query))
    }

    /// Reports of what the simulator sold and refunded.
    package func reports(_ order: ReportOrder) async throws(SimulatorError) -> SimulatedReports {
        let lines = try await send(
            HTTPClientRequest(url: address + Simulator.commandPath + "reports?" + order.query))
        do throws(JSONError) {
            return try SimulatedReports(lines: lines)
        } catch { throw SimulatorError(.unavailable, "\(address) is no simulator: \(error)") }
    }

    private func send(_ request: HTTPClientRequest) async throws(SimulatorError) -> [UInt8] {
        let status: HTTPResponseStatus
        let body: [UInt8]
        do {
            (status, body) = try await HTTPClient.withSingleAttempts(
                timeoutMilliseconds: SimulatorLimits.commandMilliseconds, connectionsMax: 1
            ) { http in
                let response = try await http.execute(
                    request, timeout: .milliseconds(SimulatorLimits.commandMilliseconds))
                let body = try await response.body.collect(upTo: SimulatorLimits.answerBytesMax)
                return (response.status, Array(body.readableBytesView))
            }
        } catch {
            throw SimulatorError(.unavailable, "no simulator at \(address): \(NetworkFault.words(error))")
        }
        if status == .ok { return body }
        let kind: SimulatorError.Kind =
            switch status {
            case .badRequest: .invalid
            case .notFound: .notFound
            case .conflict: .conflict
            default: .unavailable
            }
        throw SimulatorError(kind, SimulatorClient.message(body) ?? "the simulator answered \(status)")
    }

    /// The simulator's sentence; `nil` where there is none.
    private static func message(_ body: [UInt8]) -> String? {
        let read = try? JSONBody.read(body) { (reader) throws(JSONError) in
            var message: String?
            try reader.object { (reader, key) throws(JSONError) in
                if key == "error" { message = try reader.string() } else { try reader.skip() }
            }
            return message
        }
        return read ?? nil
    }
}
