import LedgerClient
import LineServer

/// The files of TLS as a server speaks it.
struct ServerTLSFiles: Sendable {
    var certificate: String
    var key: String
    /// Of the authorities whose certificates clients must have.
    var clientAuthorities: String?

    func read() throws(FileError) -> ServerConfiguration.TLS.Files {
        ServerConfiguration.TLS.Files(
            certificate: try File.read(certificate, bytesMax: Settings.fileBytesMax),
            key: try File.readSecret(key, bytesMax: Settings.keyBytesMax),
            clientAuthorities: try clientAuthorities.map { path throws(FileError) in
                try File.read(path, bytesMax: Settings.fileBytesMax)
            })
    }
}

/// The files of TLS as a client speaks it: a command, or a standby that follows its leader.
struct ClientTLSFiles: Sendable {
    var authorities: String
    var certificate: String?
    var key: String?

    /// - Throws: ``ConfigurationError`` where they cannot be read or used.
    func read() throws(ConfigurationError) -> ClientTLS {
        do {
            return try ClientTLS(
                authorities: try File.read(authorities, bytesMax: Settings.fileBytesMax),
                certificate: try certificate.map { try File.read($0, bytesMax: Settings.fileBytesMax) },
                key: try key.map { try File.readSecret($0, bytesMax: Settings.keyBytesMax) })
        } catch let error as ClientTLS.Unusable {
            throw ConfigurationError([
                "\([authorities, certificate, key].compactMap { $0 }.joined(separator: ", ")): \(error)"
            ])
        } catch {
            throw ConfigurationError(["\(error)"])
        }
    }
}
