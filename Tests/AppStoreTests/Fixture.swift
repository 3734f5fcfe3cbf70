import Foundation

@testable import AppStore

/// One sandbox chain, one app and a clock for all tests.
struct Fixture {
    /// 2026-01-01T00:00:00Z.
    static let now: Int64 = 1_767_225_600_000
    static let day: Int64 = 86_400_000
    static let validity = (now - 365 * day)...(now + 365 * day)

    let chain: SandboxChain
    let app = App(bundleID: "com.example.game", appAppleID: 1_234_567_890, environment: .sandbox)
    let verifier: Verifier

    static let shared: Result<Fixture, OpenSSLError> = {
        do throws(OpenSSLError) {
            return .success(try Fixture(chain: SandboxChain(SandboxChain.Options(validity: validity))))
        } catch {
            return .failure(error)
        }
    }()

    init(chain: SandboxChain) {
        self.chain = chain
        verifier = Verifier(app: app, anchors: [chain.root])
    }

    func transaction(id: String = "2000000000000001", _ change: (inout TransactionPayload) -> Void = { _ in })
        -> TransactionPayload
    {
        var payload = TransactionPayload(
            transactionID: id, bundleID: app.bundleID, productID: "com.example.game.gems500",
            purchaseDate: Self.now - 60_000, signedDate: Self.now - 1_000, environment: .sandbox)
        change(&payload)
        return payload
    }

    func notification(
        _ type: NotificationPayload.NotificationType = .oneTimeCharge, signedTransaction: String? = nil,
        _ change: (inout NotificationPayload) -> Void = { _ in }
    ) -> NotificationPayload {
        var payload = NotificationPayload(
            notificationType: type, notificationUUID: "002e14d5-51f5-4503-b5a8-c3a1af68eb20",
            signedDate: Self.now - 500,
            data: .init(
                appAppleID: app.appAppleID, bundleID: app.bundleID, bundleVersion: "1", environment: .sandbox,
                signedTransactionInfo: signedTransaction))
        change(&payload)
        return payload
    }

    /// The transaction's JSON with one member replaced by other JSON, or taken out.
    func json(_ member: String, _ replacement: String?) throws -> [UInt8] {
        guard var object = try JSONSerialization.jsonObject(with: Data(transaction().json())) as? [String: Any] else {
            throw CocoaError(.coderInvalidValue)
        }
        object[member] = replacement == nil ? nil : "\u{1}"
        let text = String(decoding: try JSONSerialization.data(withJSONObject: object), as: UTF8.self)
        return Array(text.replacingOccurrences(of: "\"\\u0001\"", with: replacement ?? "").utf8)
    }
}

/// The reason of a refusal; nil if there was none.
func reason(_ body: () throws(VerificationFailure) -> some Any) -> VerificationFailure.Reason? {
    do throws(VerificationFailure) {
        _ = try body()
        return nil
    } catch {
        return error.reason
    }
}
