import AppStore
import AppStoreSimulator
import Foundation
import StrictJSON

/// The files of a simulator: its chain, the key of the API with the issuer's id, and what it sold.
struct SimulatorFolder {
    let chain: SandboxChain
    let key: CallerKey
    /// What it sold.
    let journal: String
    /// The private half of the API's key (`.p8`).
    let keyFile: String
    private let folder: URL

    private static let keyPrefix = "AuthKey_"
    private static let keySuffix = ".p8"
    private static let issuerFile = "issuer-id"

    /// Takes the files up, and makes those that are missing.
    init(_ path: String) throws {
        folder = URL(fileURLWithPath: path, isDirectory: true)
        if !FileManager.default.fileExists(atPath: folder.appendingPathComponent("root.der").path) {
            try ChainFolder(path).make(days: ChainFolder.usualDays)
        }
        chain = try ChainFolder(path).read()
        let found = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter {
            $0.hasPrefix(SimulatorFolder.keyPrefix) && $0.hasSuffix(SimulatorFolder.keySuffix)
        }
        guard found.count <= 1 else {
            throw Failure("\(path) has several keys (\(found.sorted().joined(separator: ", "))): leave one there")
        }
        let name = try found.first ?? SimulatorFolder.makeKey(in: folder)
        keyFile = folder.appendingPathComponent(name).path
        let pem = try File.readSecret(keyFile, bytesMax: 65_536)
        let issuer = try SimulatorFolder.issuer(in: folder)
        do throws(KeyFault) {
            key = CallerKey(
                key: try ES256PrivateKey(pem: pem),
                keyID: String(
                    name.dropFirst(SimulatorFolder.keyPrefix.count).dropLast(SimulatorFolder.keySuffix.count)),
                issuerID: issuer)
        } catch { throw FileError(keyFile, error.description) }
        journal = folder.appendingPathComponent("simulator.jsonl").path
    }

    /// A key as App Store Connect gives it out: ten capitals and digits are its id.
    private static func makeKey(in folder: URL) throws -> String {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
        let name = keyPrefix + String((0..<10).map { _ in letters[Int.random(in: 0..<letters.count)] }) + keySuffix
        try File.write(
            try ES256PrivateKey.generate().pem(), to: folder.appendingPathComponent(name).path, secret: true)
        return name
    }

    private static func issuer(in folder: URL) throws -> String {
        let path = folder.appendingPathComponent(issuerFile).path
        if !FileManager.default.fileExists(atPath: path) {
            try File.write(Array((UUID().uuidString.lowercased() + "\n").utf8), to: path)
        }
        let text = String(decoding: try File.read(path, bytesMax: 1_024), as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        guard !text.isEmpty else { throw FileError(path, "holds no issuer id") }
        return text
    }

    /// What a client of the API is configured with, on one line.
    func introduction(_ configuration: SimulatorConfiguration, _ address: SimulatorAddress) -> String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("address", address.description)
        writer.member("issuerId", key.issuerID)
        writer.member("keyId", key.keyID)
        writer.member("keyFile", keyFile)
        writer.member("anchor", folder.appendingPathComponent("root.der").path)
        writer.member("bundleId", configuration.bundleID)
        writer.member("environment", configuration.environment.rawValue)
        writer.key("seed")
        writer.raw(Array(String(configuration.seed).utf8))
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
