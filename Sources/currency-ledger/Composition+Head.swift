import AppStore
import HeadSigning
import Ledger
import LedgerEngine

/// What signs the ledger's head, and what verifies it.
extension Composition {
    /// The signer of heads; `nil` where no key is configured.
    static func headSigner(_ settings: LedgerSettings) throws(ConfigurationError) -> HeadSigner? {
        guard let path = settings.headKey else { return nil }
        let key: Ed25519PrivateKey
        do {
            key = try Ed25519PrivateKey(pem: try File.readSecret(path, bytesMax: Settings.keyBytesMax))
        } catch let error as KeyFault {
            throw ConfigurationError(["\(path): \(error) (it is named by head.key)"])
        } catch {
            throw ConfigurationError(["\(error) (it is named by head.key)"])
        }
        if let path = settings.headPublicKey, try headPublicKey(path) != key.publicKey {
            throw ConfigurationError([
                "\(path): is not the public key of head.key, so auditors would refuse every head "
                    + "(it is named by head.publicKey)"
            ])
        }
        let ledger = ledger(settings)
        return HeadSigner(key, ledger: ledger, identity: Digest(of: ledger, sha256), now: Clock.now)
    }

    /// The key that verifies heads.
    static func headPublicKey(_ path: String) throws(ConfigurationError) -> Ed25519PublicKey {
        do {
            return try Ed25519PublicKey(pem: try File.read(path, bytesMax: Settings.keyBytesMax))
        } catch let error as KeyFault {
            throw ConfigurationError(["\(path): \(error) (it is named by head.publicKey)"])
        } catch {
            throw ConfigurationError(["\(error) (it is named by head.publicKey)"])
        }
    }

    static func publication(_ settings: LedgerSettings) -> HeadPublication? {
        settings.headFile.map { path in
            HeadPublication(intervalMilliseconds: UInt64(settings.headSeconds) * 1_000) {
                try File.replace(path, with: Array("\($0)\n".utf8))
            }
        }
    }
}
