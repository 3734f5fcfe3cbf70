import ArgumentParser
import Foundation
import LedgerClient
import LedgerWire

/// How a command finds the service.
struct ServerOptions: ParsableArguments {
    @Option(help: "host:port or unix:/path of the service. Default: 127.0.0.1:7117")
    var server: String?

    @Option(help: "The authorities (PEM) of the service's certificate: the command speaks TLS.", completion: .file())
    var tlsCa: String?

    @Option(help: "The command's own certificate (PEM), where the service asks for one.", completion: .file())
    var tlsCertificate: String?

    @Option(help: "The key of that certificate (PEM), readable by its owner alone.", completion: .file())
    var tlsKey: String?

    @Option(help: "Which ledger of the service, where that has several.")
    var ledger: String?

    /// Read from the environment rather than a flag, which others on the machine could see.
    private var token: String? { ProcessInfo.processInfo.environment[ServerOptions.tokenVariable] }

    static let tokenVariable = "LEDGER_TOKEN"

    /// Milliseconds that one request of a command may take: a report over a large ledger reads for longer than a
    /// player would wait.
    private static let requestTimeoutMilliseconds: Int64 = 120_000

    func validate() throws {
        guard (tlsCertificate == nil) == (tlsKey == nil), tlsCa != nil || tlsKey == nil else {
            throw ValidationError("--tls-certificate and --tls-key go together, and with --tls-ca.")
        }
        if let ledger, LedgerName(ledger) == nil { throw ValidationError("--ledger: '\(ledger)' names no ledger.") }
    }

    /// Connects, works, and closes; a connection that fails ends the command with a clear message.
    func withClient<Result>(_ body: (LedgerClient) async throws -> Result) async throws -> Result {
        let address = server ?? "127.0.0.1:7117"
        let files = tlsCa.map { ClientTLSFiles(authorities: $0, certificate: tlsCertificate, key: tlsKey) }
        let tls = try files?.read()
        let client: LedgerClient
        do {
            client = try await LedgerClient.connect(
                to: try ServerAddress(address), token: token,
                configuration: ClientConfiguration(
                    requestTimeoutMilliseconds: ServerOptions.requestTimeoutMilliseconds, tls: tls,
                    ledger: ledger.flatMap { LedgerName($0) }))
        } catch let error as WireError {
            throw Failure("the service at \(address) lets nobody in who shows this token: \(error)")
        } catch {
            throw Failure("no service at \(address): \(error)")
        }
        do {
            let result = try await body(client)
            try await client.close()
            return result
        } catch {
            try? await client.close()
            if let error = error as? ClientError { throw Failure("\(error)") }
            if let error = error as? WireError { throw Failure("\(error)") }
            throw error
        }
    }
}
