import AppStore
import AppStoreServer
import Ledger

/// How a ledger asks the App Store Server API, and what it does there by itself.
struct AppStoreSettings: Sendable {
    /// The file of the In-App Purchase key (`.p8`).
    var keyFile: String
    var keyID: String
    var issuerID: String
    var address: AppStoreAddress
    /// From one reading of the notification history to the next; 0 where nobody reads it.
    var historySeconds = 300
    /// From when on it is read where nothing says how far it was read; `nil`: since the ledger was made.
    var historyFrom: Timestamp?
    /// Whether Apple is told how much was consumed, where it asks and the player has consented.
    var sendsConsumption = true
    /// Whether Apple is told that a purchase is in the books, as the app's `Transaction.finish()` does.
    var finishes = false
    /// Whether Apple is told whose a purchase is, where the app did not say.
    var setsAccountTokens = false

    var tellsApple: Bool { sendsConsumption || finishes || setsAccountTokens }

    /// - Throws: ``ConfigurationError`` where it cannot be read, or is no such key.
    func readKey() throws(ConfigurationError) -> InAppPurchaseKey {
        do {
            return try InAppPurchaseKey(
                p8: try File.readSecret(keyFile, bytesMax: Settings.keyBytesMax), keyID: keyID, issuerID: issuerID)
        } catch let error as KeyFault {
            throw ConfigurationError(["\(keyFile): \(error) (it is named by appStore.key)"])
        } catch {
            throw ConfigurationError(["\(error) (it is named by appStore.key)"])
        }
    }
}
