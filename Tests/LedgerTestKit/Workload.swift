import AppStore
import Foundation
package import Ledger

/// Random commands over few players and purchases, so that they meet.
package struct Workload {
    package var generator: SplitMix64
    package var players = 12
    /// Of these so many, the last, are never given anything and hold nothing: a credit can do without their lots.
    private let buyers = 4
    package var purchases = 60
    private var issued = 0
    private var spends: [Command] = []
    /// Keyed commands of the other kinds, to be sent again.
    private var others: [Command] = []
    private var spendKeys: [RequestKey] = []
    private var holdKeys: [RequestKey] = []
    private var imports: [Command] = []
    /// What Apple may have asked: some were refused, or had a uuid that was used before.
    private var requests: [(uuid: String, transaction: TransactionID)] = []
    /// The time of the batch, from which expiries are chosen.
    package var now: Timestamp = 0

    private let ownHash: HashFunction

    /// - Parameter hash: by which purchases of other stores get their numbers.
    package init(seed: UInt64, hash: @escaping HashFunction = Workload.hash) {
        generator = SplitMix64(seed: seed)
        ownHash = hash
    }

    package static let catalog = Catalog(
        currencies: [
            CurrencyCode("gems")!: CurrencySettings(),
            CurrencyCode("gold")!: CurrencySettings(spendOrder: .oldest, refundShortfall: .writtenOff),
        ],
        products: [
            "gems500": [Catalog.Offer(from: 0, grants: [.init(currency: CurrencyCode("gems")!, amount: Amount(500)!)])],
            "bundle": [
                Catalog.Offer(
                    from: 0,
                    grants: [
                        .init(currency: CurrencyCode("gems")!, amount: Amount(1_000)!),
                        .init(currency: CurrencyCode("gold")!, amount: Amount(7)!),
                    ])
            ],
        ])

    /// FNV-1a spread over 32 bytes: these tests check the chain's form, not the hash function.
    package static let hash: HashFunction = { bytes, digest in
        for lane in 0..<4 {
            var value: UInt64 = 0xCBF2_9CE4_8422_2325 &+ UInt64(lane)
            for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01B3 }
            digest.storeBytes(of: value.bigEndian, toByteOffset: lane * 8, as: UInt64.self)
        }
    }

    package static func account(_ number: Int) -> AccountName { AccountName("player-\(number)")! }

    /// Players who have not told yet who they are: each buys as a token, and is linked to an account at some time.
    package static let guests = 6
    package static func token(_ number: Int) -> AppAccountToken {
        AppAccountToken("a0000000-0000-4000-8000-00000000000\(number)")!
    }

    package static func transaction(_ number: Int) -> TransactionID {
        TransactionID(number: Int64(2_000_000_000 + number))
    }

    package static func purchase(
        _ number: Int, signedDate: Timestamp, revoked: Int64 = 0, token: AccountName? = nil, product: String? = nil
    ) -> SignedPurchase {
        let header = Array("header-\(number % 3)".utf8)
        var payload = Array("payload of \(number) at \(signedDate)".utf8)
        if let date = revocationDate(signedDate: signedDate, revoked: revoked) {
            var signed = TransactionPayload(
                transactionID: transaction(number).description, bundleID: "com.example.game", productID: "gems500",
                purchaseDate: 1, signedDate: signedDate, environment: .sandbox)
            signed.revocationDate = date
            payload = signed.json()
        }
        return SignedPurchase(
            facts: PurchaseFacts(
                transaction: transaction(number),
                product: product ?? (number % 3 == 0 ? "bundle" : "gems500"), quantity: Int64(number % 2 + 1),
                purchaseDate: 700 + Int64(number % 97) * 11, price: number % 7 == 5 ? 0 : 4_990, priceCurrency: "USD",
                token: token),
            signedDate: signedDate, revoked: revoked,
            evidence: JWSParts(
                headerDigest: Digest(of: header, hash), header: header,
                payload: payload, signature: [UInt8](repeating: UInt8(number & 0xFF), count: 64)))
    }

    /// The `revocationDate` of a JWS of ``purchase(_:signedDate:revoked:token:product:)``.
    package static func revocationDate(signedDate: Timestamp, revoked: Int64) -> Timestamp? {
        revoked > 0 && signedDate % 3 > 0 ? signedDate * 31 : nil
    }

    package mutating func next() -> Command {
        let player = Workload.account(Int.random(in: 0..<players, using: &generator))
        let gamer = self.gamer()
        switch Int.random(in: 0..<20, using: &generator) {
        case 19: return carried()
        case 18: return generator.chance(60) ? stated() : adjustment(gamer)
        case 10..<15: return game(gamer)
        case 15: return .expire
        case 16: return ofAccount(gamer)
        case 17: return call()
        case 0..<4:
            let number = Int.random(in: 0..<purchases, using: &generator)
            let owner =
                number % 5 == 4
                ? nil
                : number % 6 == 2
                    ? Workload.token(number % Workload.guests).account : Workload.account(number % players)
            let share: [Int64] = [0, 0, 0, 100_000, 33_333]
            let signed = Workload.purchase(
                number, signedDate: Int64.random(in: 1...40, using: &generator),
                revoked: share.randomElement(using: &generator)!, token: number % 2 == 0 ? owner : nil)
            if Bool.random(using: &generator) { return .credit(signed, account: owner ?? player) }
            issued += 1
            let uuid = "uuid-\(Int.random(in: 0..<max(issued, 20), using: &generator))"
            let type = ["REFUND", "CONSUMPTION_REQUEST", "REFUND_DECLINED"].randomElement(using: &generator) ?? "TEST"
            let evidence = signed.evidence.with(
                payload: Array("{\"signedTransactionInfo\":\"".utf8) + signed.evidence.jws + Array("\"}".utf8))
            if generator.chance(10) {
                // Of a product that grants nothing.
                return .notify(
                    SignedNotification(
                        uuid: uuid, type: "REVOKE", subtype: nil, signedDate: signed.signedDate, evidence: evidence,
                        purchase: nil, subject: signed.facts.transaction), account: nil)
            }
            if type == "CONSUMPTION_REQUEST" { requests.append((uuid, signed.facts.transaction)) }
            return .notify(
                SignedNotification(
                    uuid: uuid, type: type, subtype: nil, signedDate: signed.signedDate,
                    reason: type == "CONSUMPTION_REQUEST" ? "OTHER" : nil, evidence: evidence,
                    purchase: signed), account: nil)
        case 4..<8:
            if let old = spends.randomElement(using: &generator), Int.random(in: 0..<5, using: &generator) == 0 {
                return old
            }
            issued += 1
            var debits = [
                CurrencyAmount(
                    currency: CurrencyCode("gems")!, amount: Amount(Int64.random(in: 1...400, using: &generator))!)
            ]
            if Bool.random(using: &generator) {
                debits.append(CurrencyAmount(currency: CurrencyCode("gold")!, amount: Amount(1)!))
            }
            let spend = Command.spend(Spend(key: RequestKey("spend-\(issued)")!, account: player, debits: debits))
            spends.append(spend)
            spendKeys.append(RequestKey("spend-\(issued)")!)
            return spend
        case 8:
            issued += 1
            return .grant(
                Grant(
                    key: RequestKey("grant-\(issued)")!, account: gamer, currency: CurrencyCode("gems")!,
                    amount: Amount(Int64.random(in: 1...50, using: &generator))!, note: "a reward",
                    expiresAt: generator.chance(50) ? now + Int64.random(in: -5...200, using: &generator) : nil))
        default:
            if Bool.random(using: &generator) { return .balance(account: player, currency: nil) }
            let number = Int.random(in: 0..<purchases, using: &generator)
            return .consumption(ConsumptionQuery(transaction: Workload.transaction(number)))
        }
    }

    /// A purchase of another store, or what became of it; sometimes of an account, or with a price, that it does not
    /// have.
    private mutating func stated() -> Command {
        let number = Int.random(in: 0..<20, using: &generator)
        let shares: [Int64?] = [nil, nil, 0, 100_000, 33_333]
        let purchase = ExternalPurchase(
            identity: ExternalIdentity(source: number % 2 == 0 ? "shop" : "play", identifier: "order \(number)")!,
            account: Workload.account(generator.chance(95) ? number % players : 0),
            product: number % 3 == 0 ? "bundle" : "gems500", quantity: Int64(number % 2 + 1),
            price: generator.chance(95) ? number % 7 == 5 ? 0 : 4_990 : 1, priceCurrency: "EUR",
            purchaseDate: 700 + Int64(number) * 11,
            revoked: shares.randomElement(using: &generator)!)
        return .external(StatedPurchase(purchase, ownHash))
    }

    /// What an account had by other books, perhaps once more, or with a purchase that is known by now. The App Store
    /// signs some of these purchases anew.
    private mutating func carried() -> Command {
        if generator.chance(20), let old = imports.randomElement(using: &generator) { return old }
        issued += 1
        let number = Int.random(in: 0..<purchases, using: &generator)
        let account =
            number % 6 == 2 ? Workload.token(number % Workload.guests).account : Workload.account(number % players)
        let purchase = { (price: Int64) in
            ImportedPurchase(
                transaction: Workload.transaction(number), product: number % 3 == 0 ? "bundle" : "gems500",
                price: price, priceCurrency: "USD", purchaseDate: Int64(number % 30))
        }
        var lots = [
            ImportedLot(
                currency: CurrencyCode("gems")!, amount: Amount(Int64.random(in: 1...400, using: &generator))!,
                purchase: purchase(number % 7 == 5 ? 0 : Int64.random(in: 0...3_000, using: &generator)))
        ]
        if number % 3 == 0 {
            lots.append(
                ImportedLot(
                    currency: CurrencyCode("gold")!, amount: Amount(3)!, purchase: purchase(number % 7 == 5 ? 0 : 37)))
        }
        if generator.chance(50) {
            lots.insert(
                ImportedLot(
                    currency: CurrencyCode("gems")!, amount: Amount(Int64.random(in: 1...30, using: &generator))!),
                at: 0)
        }
        // Of some nothing is left, at times beside what is left of others.
        var usedUp: [UsedUpPurchase] = []
        if generator.chance(30) {
            let other = Int.random(in: 0..<purchases, using: &generator)
            if other != number {
                usedUp.append(
                    UsedUpPurchase(
                        transaction: Workload.transaction(other), product: "gems500", purchaseDate: Int64(other % 30)))
                if generator.chance(50) { lots = [] }
            }
        }
        let command = Command.importLots(
            LotImport(key: RequestKey("import-\(issued)")!, account: account, lots: lots, usedUp: usedUp))
        imports.append(command)
        return command
    }

    /// A correction by hand, perhaps once more.
    private mutating func adjustment(_ account: AccountName) -> Command {
        issued += 1
        let units = Int64.random(in: 1...60, using: &generator)
        let command = Command.adjust(
            Adjustment(
                key: RequestKey("adjustment-\(issued)")!, account: account, currency: CurrencyCode("gems")!,
                lotClass: generator.chance(50) ? .paid : .free, units: generator.chance(50) ? units : -units,
                reason: "a mistake"), approvedBy: "approver")
        others.append(command)
        return command
    }

    /// What Apple was told, perhaps once more, or of what nobody knows.
    private mutating func call() -> Command {
        let transaction = Workload.transaction(Int.random(in: 0..<purchases, using: &generator))
        let ends: [AppStoreCall.End] = [.accepted, .refused(code: 4_000_006), .refused(code: 500), .expired]
        let end = ends.randomElement(using: &generator)!
        if generator.chance(60), let request = requests.suffix(10).randomElement(using: &generator) {
            return .record(
                AppStoreCall(
                    transaction: generator.chance(90) ? request.transaction : transaction, kind: .consumption,
                    notificationUUID: request.uuid, body: Array(#"{"customerConsented":true}"#.utf8), end: end))
        }
        let isFinish = generator.chance(50)
        return .record(
            AppStoreCall(
                transaction: transaction, kind: isFinish ? .finish : .accountToken,
                body: isFinish ? [] : Array(#"{"appAccountToken":"é"}"#.utf8), end: end))
    }

    /// Somebody who spends, holds and is given something.
    private mutating func gamer() -> AccountName {
        if generator.chance(25) {
            return Workload.token(Int.random(in: 0..<Workload.guests, using: &generator)).account
        }
        return Workload.account(Int.random(in: 0..<players - buyers, using: &generator))
    }

    /// A link, seldom, so that guests live for a while, or a consent.
    private mutating func ofAccount(_ account: AccountName) -> Command {
        if generator.chance(25) {
            let token = Workload.token(Int.random(in: 0..<Workload.guests, using: &generator))
            // Now and then to what may be another token, or be linked itself.
            let other = Workload.token(Int.random(in: 0..<Workload.guests, using: &generator)).account
            return .link(
                Link(token: token, account: generator.chance(20) ? other : account, moves: generator.chance(20)))
        }
        issued += 1
        let consent = Command.consent(
            Consent(key: RequestKey("consent-\(issued)")!, account: account, consumption: generator.chance(50)))
        others.append(consent)
        return consent
    }

    /// A hold, a capture, a release, a reversal, or several operations together; sometimes one that was sent before.
    private mutating func game(_ player: AccountName) -> Command {
        if generator.chance(15), let old = others.randomElement(using: &generator) { return old }
        issued += 1
        let key = RequestKey("game-\(issued)")!
        let command: Command
        if generator.chance(25) {
            let count = Int.random(in: 2...5, using: &generator)
            let operations = (0..<count).map { _ in
                operation(key, gamer())
            }
            command = .atomic(Atomic(key: key, operations: operations))
            spendKeys.append(key)
            holdKeys.append(key)
        } else {
            let operation = operation(key, player)
            command = .keyed(operation)
            switch operation {
            case .spend, .capture: spendKeys.append(key)
            case .hold: holdKeys.append(key)
            case .grant, .reverse, .release: break
            }
        }
        others.append(command)
        return command
    }

    private mutating func operation(_ key: RequestKey, _ player: AccountName) -> KeyedOperation {
        func amount(_ most: Int64) -> Amount { Amount(Int64.random(in: 1...most, using: &generator))! }
        let gems = CurrencyCode("gems")!
        let index = generator.chance(20) ? Int.random(in: 0..<4, using: &generator) : nil
        let holdKey = recent(holdKeys)
        let spendKey = recent(spendKeys)
        switch Int.random(in: 0..<12, using: &generator) {
        case 0:
            return .spend(
                Spend(key: key, account: player, debits: [CurrencyAmount(currency: gems, amount: amount(200))]))
        case 1:
            return .grant(
                Grant(key: key, account: player, currency: gems, amount: amount(80), expiresAt: now + amount(300).units)
            )
        case 2..<5:
            return .hold(
                Hold(
                    key: key, account: player, currency: generator.chance(80) ? gems : CurrencyCode("gold")!,
                    amount: amount(generator.chance(80) ? 150 : 3), timeoutMilliseconds: amount(600).units))
        case 5, 6:
            return .capture(
                Capture(key: key, holdKey: holdKey, operation: index, amount: generator.chance(50) ? amount(100) : nil))
        case 7, 8: return .release(Release(key: key, holdKey: holdKey, operation: index))
        default:
            let debits = [CurrencyAmount(currency: gems, amount: amount(100))]
            return .reverse(
                Reversal(key: key, spendKey: spendKey, operation: index, debits: generator.chance(50) ? debits : nil))
        }
    }

    /// Mostly one of the last, so that what it names is mostly there.
    private mutating func recent(_ keys: [RequestKey]) -> RequestKey {
        let some = generator.chance(70) ? keys.suffix(4) : keys[...]
        return some.randomElement(using: &generator) ?? RequestKey("none")!
    }
}

extension JWSParts {
    /// The JWS as it was signed.
    package var jws: [UInt8] {
        let parts = [payload, signature].map { part in
            "."
                + Data(part).base64EncodedString().replacingOccurrences(of: "+", with: "-")
                .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
        }
        return header + Array(parts.joined().utf8)
    }

    /// The same of another payload.
    package func with(payload: [UInt8]) -> JWSParts {
        JWSParts(
            headerDigest: headerDigest, header: header, payload: payload, signature: signature)
    }
}
