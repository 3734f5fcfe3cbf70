/// What Apple was told.
extension BlockRows {
    /// A call to the App Store Server API about a purchase, and how it ended.
    package struct CallRow: Hashable, Sendable {
        package var transaction: TransactionID
        package var kind: AppStoreCall.Kind
        /// The number of the CONSUMPTION_REQUEST that it answers; `nil` of the other kinds.
        package var notification: Int64?
        package var end: AppStoreCall.End
        /// The JSON that was sent, in UTF-8; empty where there is none.
        package var body: ArraySlice<UInt8>
        package var time: Timestamp

        package init(
            transaction: TransactionID, kind: AppStoreCall.Kind, notification: Int64?, end: AppStoreCall.End,
            body: ArraySlice<UInt8>, time: Timestamp
        ) {
            self.transaction = transaction
            self.kind = kind
            self.notification = notification
            self.end = end
            self.body = body
            self.time = time
        }
    }
}
