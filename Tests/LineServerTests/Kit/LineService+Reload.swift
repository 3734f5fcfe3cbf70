@testable import LineServer

extension LineService {
    /// As SIGHUP does where the settings have these tokens (which are left out where none are needed), and name the
    /// files for TLS that they named at the start.
    func reload(tokens: [Token]) { reload { renewal(tokens, configuration.tls) } }

    /// As SIGHUP does where the settings cannot be read.
    func reload(failing error: any Error) { reload { throw error } }

    func renewal(_ tokens: [Token], _ tls: ServerConfiguration.TLS?) -> ServerConfiguration.Renewal {
        ServerConfiguration.Renewal(access: needsTokens ? .tokens(tokens) : .everyoneOnThisMachine, tls: tls)
    }
}
