internal import StrictJSON

/// One-time purchases: the transactions that Apple knows, and what it is told of them.
///
/// All throw ``AppStoreServerError`` and `CancellationError`.
extension AppStoreServerClient {
    /// One transaction, newly signed ("Get Transaction Info").
    /// - Parameter transactionID: of any kind of purchase, finished or not.
    /// - Returns: the signed transaction, a JWS that is not verified yet.
    public func transactionInfo(transactionID: String) async throws -> String {
        let request = try APIRequest(.transactionInfo, id: transactionID, called: "the transaction id")
        return try await send(request) { (reader) throws(JSONError) in
            try reader.signed("signedTransactionInfo")
        }
    }

    /// A customer's purchase of the app itself ("Get App Transaction Info").
    /// - Parameter transactionID: any transaction of the customer's, or their `appTransactionID`.
    /// - Returns: the signed app transaction, a JWS that is not verified yet.
    public func appTransactionInfo(transactionID: String) async throws -> String {
        let request = try APIRequest(.appTransactionInfo, id: transactionID, called: "the transaction id")
        return try await send(request) { (reader) throws(JSONError) in
            try reader.signed("signedAppTransactionInfo")
        }
    }

    /// A customer's purchases, page by page, finished consumables and refunded ones included ("Get Transaction
    /// History", V2).
    /// - Parameters:
    ///   - transactionID: any transaction of the customer's, or their `appTransactionID`.
    ///   - query: which of them, and in which order; the same for each page.
    ///   - revision: the ``TransactionPage/revision`` of the page after which to go on; `nil` for the beginning.
    public func transactionHistory(
        transactionID: String, query: TransactionHistoryQuery = TransactionHistoryQuery(), after revision: String? = nil
    ) -> Pages<TransactionPage> {
        Pages(after: revision) { revision in
            var request = try APIRequest(.transactionHistory, id: transactionID, called: "the transaction id")
            request.add("revision", revision)
            try query.add(to: &request)
            return try await self.send(request, TransactionPage.init)
        }
    }

    /// A customer's refunded purchases, page by page, in the order of their refunds ("Get Refund History").
    /// - Parameters:
    ///   - transactionID: any transaction of the customer's, or their `appTransactionID`.
    ///   - revision: the ``TransactionPage/revision`` of the page after which to go on, which may be the last one of an
    ///     earlier time; `nil` for the beginning.
    public func refundHistory(transactionID: String, after revision: String? = nil) -> Pages<TransactionPage> {
        Pages(after: revision) { revision in
            var request = try APIRequest(.refundHistory, id: transactionID, called: "the transaction id")
            request.add("revision", revision)
            return try await self.send(request, TransactionPage.init)
        }
    }

    /// The purchases of one order ("Look Up Order ID"). The sandbox does not have it.
    /// - Parameter orderID: as in the customer's receipt.
    public func lookUpOrder(orderID: String) async throws -> OrderLookup {
        let request = try APIRequest(.orderLookup, id: orderID, called: "the order id")
        return try await send(request, OrderLookup.init)
    }

    /// Says that a purchase was delivered: as if the app had called `Transaction.finish()` ("Finish Transaction").
    /// - Parameter retries: what is sent again, and when; `nil` for what the client does.
    public func finishTransaction(transactionID: String, retries: RetryPolicy? = nil) async throws {
        let request = try APIRequest(.finishTransaction, id: transactionID, called: "the transaction id")
        _ = try await send(request, retries: retries)
    }

    /// Says whose a purchase is ("Set App Account Token"): from then on, what Apple signs of it has the token.
    /// - Parameters:
    ///   - token: a UUID.
    ///   - originalTransactionID: of a purchase of the customer's own, not one that a family shares.
    ///   - retries: what is sent again, and when; `nil` for what the client does.
    public func setAppAccountToken(
        _ token: String, originalTransactionID: String, retries: RetryPolicy? = nil
    ) async throws {
        var body = JSONWriter()
        body.beginObject()
        body.member("appAccountToken", token)
        body.endObject()
        let request = try APIRequest(
            .setAppAccountToken, id: originalTransactionID, called: "the original transaction id", body: body.bytes)
        _ = try await send(request, retries: retries)
    }

    /// Answers a `CONSUMPTION_REQUEST`, within 12 hours ("Send Consumption Information", V2). Only with the customer's
    /// consent.
    /// - Parameters:
    ///   - transactionID: of the transaction in the notification. Purchases of the Advanced Commerce API are refused.
    ///   - retries: what is sent again, and when; `nil` for what the client does.
    public func sendConsumption(
        _ information: ConsumptionInformation, transactionID: String, retries: RetryPolicy? = nil
    ) async throws {
        let request = try APIRequest(
            .sendConsumption, id: transactionID, called: "the transaction id", body: information.json())
        _ = try await send(request, retries: retries)
    }
}

extension JSONReader {
    /// An object's one member that is wanted, a text.
    fileprivate mutating func signed(_ name: StaticString) throws(JSONError) -> String {
        var value: String?
        try object { (reader, key) throws(JSONError) in
            if key == name { value = try reader.string() } else { try reader.skip() }
        }
        guard let value else { throw missing(name) }
        return value
    }
}
