/// The second half of verifying a batch: the guards from the signature on, in the order of precedence.
struct Judge {
    let app: App
    let now: Int64
    /// For each claim whether its signature is good, where that is known.
    let isGood: [Bool?]

    /// `nil` where it hangs on a signature of which that is not known.
    func verdict(_ candidate: Candidate) throws(VerificationFailure) -> Verified? {
        switch candidate {
        case .transaction(let unchecked):
            return try transaction(unchecked).map { .transaction($0) }
        case .notification(let unchecked, let nested):
            return try notification(unchecked, nested).map { .notification($0) }
        }
    }

    private func transaction(
        _ unchecked: UncheckedJWS<TransactionPayload>
    ) throws(VerificationFailure) -> VerifiedTransaction? {
        guard let content = try content(unchecked) else { return nil }
        // Of what is no consumable, whoever credits it looks at the rule: a notification is acknowledged all the same.
        if content.payload.type == .consumable, let rule = content.payload.brokenRule {
            throw VerificationFailure(.invalidPayload, rule)
        }
        try checkDate(content.payload.signedDate)
        try checkApp(bundleID: content.payload.bundleID)
        try checkEnvironment(content.payload.environment)
        return VerifiedTransaction(content)
    }

    private func notification(
        _ unchecked: UncheckedJWS<NotificationPayload>,
        _ nested: Result<UncheckedJWS<TransactionPayload>, VerificationFailure>?
    ) throws(VerificationFailure) -> VerifiedNotification? {
        guard let content = try content(unchecked) else { return nil }
        try checkDate(content.payload.signedDate)
        for named in content.payload.apps {
            try checkApp(bundleID: named.bundleID)
            try checkNumber(named.appAppleID)
        }
        for named in content.payload.apps { try checkEnvironment(named.environment) }
        var carried: VerifiedTransaction?
        if let nested {
            do throws(VerificationFailure) {
                guard let transaction = try transaction(try nested.get()) else { return nil }
                carried = transaction
            } catch {
                throw error.ofNestedTransaction
            }
        }
        return VerifiedNotification(content, transaction: carried)
    }

    /// What the JWS says, now that its signature is known to be good; `nil` where that is not known.
    private func content<Payload>(
        _ unchecked: UncheckedJWS<Payload>
    ) throws(VerificationFailure) -> SignedContent<Payload>? {
        guard let isGood = isGood[unchecked.claim] else { return nil }
        guard isGood else {
            throw VerificationFailure(
                .invalidSignature, "the signature is not the leaf key's over this header and payload")
        }
        return try unchecked.content.get()
    }

    private func checkDate(_ signedDate: Int64) throws(VerificationFailure) {
        // The sum cannot overflow for any clock; the date may be any integer.
        guard signedDate <= now + AppStoreLimits.signedDateAheadMillisecondsMax else {
            throw VerificationFailure(.invalidPayload, "signedDate is more than five minutes in the future")
        }
    }

    private func checkApp(bundleID: String) throws(VerificationFailure) {
        // By bytes: by Unicode's canonical equivalence the Kelvin sign would be K.
        guard bundleID.utf8.elementsEqual(app.bundleID.utf8) else {
            throw VerificationFailure(.wrongApp, "bundleId is not \(app.bundleID)")
        }
    }

    /// Apple gives an app's number in all Production notifications and in most others.
    private func checkNumber(_ appAppleID: Int64?) throws(VerificationFailure) {
        guard let expected = app.appAppleID else { return }
        if appAppleID == nil && app.environment != .production { return }
        guard appAppleID == expected else {
            throw VerificationFailure(.wrongApp, "appAppleId is not \(expected)")
        }
    }

    private func checkEnvironment(_ environment: Environment) throws(VerificationFailure) {
        guard environment == app.environment else {
            throw VerificationFailure(.wrongEnvironment, "environment is not \(app.environment.rawValue)")
        }
    }
}
