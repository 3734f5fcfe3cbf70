import AppStore
import Foundation

/// A chain's files.
struct ChainFolder {
    private let folder: URL

    init(_ path: String) { folder = URL(fileURLWithPath: path, isDirectory: true) }

    /// Ten years.
    static let usualDays = 3_650

    /// Makes a chain that is valid for so many days, from yesterday on.
    func make(days: Int) throws {
        let now = Clock.now()
        let day: Int64 = 86_400_000
        try write(try SandboxChain(notBefore: now - day, notAfter: now + Int64(days) * day))
    }

    func write(_ chain: SandboxChain) throws {
        try File.makeFolder(folder.path)
        guard !FileManager.default.fileExists(atPath: path("root.der")) else {
            throw Failure("\(folder.path) holds a chain already; it is left as it is")
        }
        let parts = try chain.parts()
        try File.write(parts.rootCertificate, to: path("root.pem"))
        try File.write(parts.rootKey, to: path("root.key.pem"), secret: true)
        try File.write(parts.intermediateCertificate, to: path("intermediate.pem"))
        try File.write(parts.intermediateKey, to: path("intermediate.key.pem"), secret: true)
        try File.write(parts.leafCertificate, to: path("leaf.pem"))
        try File.write(parts.leafKey, to: path("leaf.key.pem"), secret: true)
        try File.write(chain.root.der, to: path("root.der"))
    }

    func read() throws -> SandboxChain {
        do {
            return try SandboxChain(
                SandboxChain.Parts(
                    rootCertificate: try part("root.pem"), intermediateCertificate: try part("intermediate.pem"),
                    leafCertificate: try part("leaf.pem"), rootKey: try part("root.key.pem"),
                    intermediateKey: try part("intermediate.key.pem"), leafKey: try part("leaf.key.pem")))
        } catch let error as OpenSSLError {
            throw Failure("\(folder.relativePath) holds no chain that can be used: \(error)")
        } catch {
            throw Failure("\(error); make a chain with: currency-ledger sandbox init \(folder.relativePath)")
        }
    }

    private func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    private func part(_ name: String) throws -> [UInt8] { try File.read(path(name), bytesMax: 65_536) }
}
