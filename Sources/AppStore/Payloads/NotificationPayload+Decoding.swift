internal import StrictJSON

extension NotificationPayload {
    /// Reads a notification's JSON and checks it against what is documented.
    init(json: UnsafeBufferPointer<UInt8>) throws(JSONError) {
        var reader = JSONReader(json)
        var type: NotificationType?, uuid: String?, date: Int64?
        var payload = NotificationPayload(
            notificationType: NotificationType(rawValue: ""), notificationUUID: "", version: nil, signedDate: 0)
        try reader.object { reader, key throws(JSONError) in
            switch key {
            case "notificationType": type = NotificationType(rawValue: try reader.identifier())
            case "subtype": payload.subtype = try reader.optionalString().map { Subtype(rawValue: $0) }
            case "notificationUUID": uuid = try reader.identifier()
            case "version": payload.version = try reader.optionalString()
            case "signedDate": date = try reader.milliseconds()
            case "data": payload.data = try AppMetadata(&reader)
            case "appData": payload.appData = try AppTransactionMetadata(&reader)
            case "summary": payload.summary = try Summary(&reader)
            case "externalPurchaseToken": payload.externalPurchaseToken = try ExternalPurchaseToken(&reader)
            case "transactionId":
                throw reader.failAtNext("must not be there: this is a transaction, not a notification")
            default: try reader.skip()
            }
        }
        try reader.end()
        guard let type else { throw reader.missing("notificationType") }
        guard let uuid else { throw reader.missing("notificationUUID") }
        guard let date else { throw reader.missing("signedDate") }
        (payload.notificationType, payload.notificationUUID, payload.signedDate) = (type, uuid, date)
        // "The payload can contain only one of the following four fields", and it is what says whose notification it
        // is.
        guard payload.apps.count == 1 else {
            throw reader.fail("must have just one of data, appData, summary, externalPurchaseToken")
        }
        self = payload
    }

    /// The app that each part of the notification names.
    var apps: [(bundleID: String, appAppleID: Int64?, environment: Environment)] {
        var apps: [(bundleID: String, appAppleID: Int64?, environment: Environment)] = []
        if let data { apps.append((data.bundleID, data.appAppleID, data.environment)) }
        if let appData { apps.append((appData.bundleID, appData.appAppleID, appData.environment)) }
        if let summary { apps.append((summary.bundleID, summary.appAppleID, summary.environment)) }
        if let token = externalPurchaseToken { apps.append((token.bundleID, token.appAppleID, token.environment)) }
        return apps
    }
}

/// The members that all parts of a notification share.
private struct AppMembers {
    var appAppleID: Int64?
    var bundleID: String?
    var environment: Environment?

    mutating func read(_ key: JSONText, _ reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "appAppleId": appAppleID = try reader.optionalInteger()
        case "bundleId": bundleID = try reader.identifier()
        case "environment": environment = Environment(rawValue: try reader.string())
        default: try reader.skip()
        }
    }

    func required(_ reader: JSONReader) throws(JSONError) -> (bundleID: String, environment: Environment) {
        guard let bundleID else { throw reader.missing("bundleId") }
        guard let environment else { throw reader.missing("environment") }
        return (bundleID, environment)
    }
}

extension NotificationPayload.AppMetadata {
    init(_ reader: inout JSONReader) throws(JSONError) {
        var app = AppMembers()
        var data = Self(bundleID: "", environment: Environment(rawValue: ""))
        try reader.object { reader, key throws(JSONError) in
            switch key {
            case "bundleVersion": data.bundleVersion = try reader.optionalString()
            case "signedTransactionInfo": data.signedTransactionInfo = try reader.optionalString()
            case "signedRenewalInfo": data.signedRenewalInfo = try reader.optionalString()
            case "status": data.status = try reader.optionalInteger()
            case "consumptionRequestReason":
                data.consumptionRequestReason = try reader.optionalString()
                    .map { NotificationPayload.ConsumptionRequestReason(rawValue: $0) }
            default: try app.read(key, &reader)
            }
        }
        (data.bundleID, data.environment) = try app.required(reader)
        data.appAppleID = app.appAppleID
        self = data
    }
}

extension NotificationPayload.AppTransactionMetadata {
    init(_ reader: inout JSONReader) throws(JSONError) {
        var app = AppMembers()
        var signed: String?
        try reader.object { reader, key throws(JSONError) in
            switch key {
            case "signedAppTransactionInfo": signed = try reader.optionalString()
            default: try app.read(key, &reader)
            }
        }
        let (bundleID, environment) = try app.required(reader)
        self.init(
            appAppleID: app.appAppleID, bundleID: bundleID, environment: environment, signedAppTransactionInfo: signed)
    }
}

extension NotificationPayload.Summary {
    init(_ reader: inout JSONReader) throws(JSONError) {
        var app = AppMembers()
        var summary = Self(bundleID: "", environment: Environment(rawValue: ""))
        try reader.object { reader, key throws(JSONError) in
            switch key {
            case "productId": summary.productID = try reader.optionalString()
            case "requestIdentifier": summary.requestIdentifier = try reader.optionalString()
            case "storefrontCountryCodes":
                var codes: [String] = []
                try reader.array { reader, _ throws(JSONError) in codes.append(try reader.string()) }
                summary.storefrontCountryCodes = codes
            case "succeededCount": summary.succeededCount = try reader.optionalInteger()
            case "failedCount": summary.failedCount = try reader.optionalInteger()
            default: try app.read(key, &reader)
            }
        }
        (summary.bundleID, summary.environment) = try app.required(reader)
        summary.appAppleID = app.appAppleID
        self = summary
    }
}

extension NotificationPayload.ExternalPurchaseToken {
    init(_ reader: inout JSONReader) throws(JSONError) {
        var bundleID: String?, tokenID: String?
        var token = Self(externalPurchaseID: "", bundleID: "")
        try reader.object { reader, key throws(JSONError) in
            switch key {
            case "externalPurchaseId": tokenID = try reader.identifier()
            case "tokenCreationDate": token.tokenCreationDate = try reader.optionalMilliseconds()
            case "appAppleId": token.appAppleID = try reader.optionalInteger()
            case "bundleId": bundleID = try reader.identifier()
            case "tokenType": token.tokenType = try reader.optionalString()
            default: try reader.skip()
            }
        }
        guard let bundleID else { throw reader.missing("bundleId") }
        guard let tokenID else { throw reader.missing("externalPurchaseId") }
        (token.bundleID, token.externalPurchaseID) = (bundleID, tokenID)
        self = token
    }
}
