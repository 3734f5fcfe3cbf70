internal import StrictJSON

extension NotificationPayload {
    /// The payload as JSON, in Apple's order of members; what is nil is left out.
    public func json() -> [UInt8] {
        var writer = JSONWriter(capacity: 8_192)
        writer.beginObject()
        writer.member("notificationType", notificationType.rawValue)
        writer.member("subtype", subtype?.rawValue)
        writer.member("notificationUUID", notificationUUID)
        data?.write(&writer)
        appData?.write(&writer)
        summary?.write(&writer)
        externalPurchaseToken?.write(&writer)
        writer.member("version", version)
        writer.member("signedDate", signedDate)
        writer.endObject()
        return writer.bytes
    }
}

extension NotificationPayload.AppMetadata {
    fileprivate func write(_ writer: inout JSONWriter) {
        writer.key("data")
        writer.beginObject()
        writer.member("appAppleId", appAppleID)
        writer.member("bundleId", bundleID)
        writer.member("bundleVersion", bundleVersion)
        writer.member("environment", environment.rawValue)
        writer.member("signedTransactionInfo", signedTransactionInfo)
        writer.member("signedRenewalInfo", signedRenewalInfo)
        writer.member("status", status)
        writer.member("consumptionRequestReason", consumptionRequestReason?.rawValue)
        writer.endObject()
    }
}

extension NotificationPayload.AppTransactionMetadata {
    fileprivate func write(_ writer: inout JSONWriter) {
        writer.key("appData")
        writer.beginObject()
        writer.member("appAppleId", appAppleID)
        writer.member("bundleId", bundleID)
        writer.member("environment", environment.rawValue)
        writer.member("signedAppTransactionInfo", signedAppTransactionInfo)
        writer.endObject()
    }
}

extension NotificationPayload.Summary {
    fileprivate func write(_ writer: inout JSONWriter) {
        writer.key("summary")
        writer.beginObject()
        writer.member("requestIdentifier", requestIdentifier)
        writer.member("environment", environment.rawValue)
        writer.member("appAppleId", appAppleID)
        writer.member("bundleId", bundleID)
        writer.member("productId", productID)
        if let storefrontCountryCodes {
            writer.key("storefrontCountryCodes")
            writer.beginArray()
            for code in storefrontCountryCodes { writer.string(code) }
            writer.endArray()
        }
        writer.member("succeededCount", succeededCount)
        writer.member("failedCount", failedCount)
        writer.endObject()
    }
}

extension NotificationPayload.ExternalPurchaseToken {
    fileprivate func write(_ writer: inout JSONWriter) {
        writer.key("externalPurchaseToken")
        writer.beginObject()
        writer.member("externalPurchaseId", externalPurchaseID)
        writer.member("tokenCreationDate", tokenCreationDate)
        writer.member("appAppleId", appAppleID)
        writer.member("bundleId", bundleID)
        writer.member("tokenType", tokenType)
        writer.endObject()
    }
}
