import AppStore
import Ledger
import LedgerTestKit
import SQLiteProjection
import Testing

@testable import LedgerAudit
@testable import LedgerEngine

/// Each purchase and each notification is compared with what was really signed, from the root.
@Suite struct EvidenceTests {
    private static let uuid = "6f9619ff-8b86-d011-b42d-00c04fc964ff"

    /// Blocks with purchases and notifications that a chain of certificates signed, in the ways in which they come.
    private struct SignedLedger {
        let app: SandboxApp
        let blocks: [SealedBlock]
        let signed: Int

        /// - Parameter credited: the account to which the purchase is credited whose token is `Player`.
        init(credited: AccountName = AccountName("Player")!) throws {
            let app = try SandboxApp()
            let date = SandboxApp.date
            let objects: [(SignedObject, String?)] = [
                (.transaction(Array(try app.transaction(5, account: "Player").utf8)), nil),
                (.transaction(Array(try app.transaction(1).utf8)), "ann"),
                (
                    .transaction(Array(try app.transaction(2, product: "com.example.game.starter", quantity: 3).utf8)),
                    "bob"
                ),
                (.transaction(Array(try app.transaction(3, account: EvidenceTests.uuid).utf8)), nil),
                (
                    .notification(
                        Array(
                            try app.notification(
                                "n1", type: "REFUND",
                                transaction: app.transaction(
                                    2, product: "com.example.game.starter", quantity: 3, revokedAt: date,
                                    percentage: 33_333,
                                    signedDate: date + 5)
                            ).utf8)), nil
                ),
                (.notification(Array(try app.notification("n2", type: "TEST").utf8)), nil),
                // A purchase of which nobody knows yet whose it is, and then somebody does.
                (
                    .notification(
                        Array(
                            try app.notification(
                                "n3", type: "ONE_TIME_CHARGE", transaction: app.transaction(4)
                            ).utf8)), nil
                ),
                (.transaction(Array(try app.transaction(4, signedDate: date + 7).utf8)), "ann"),
                (
                    .notification(
                        Array(
                            try app.notification(
                                "n4", type: "CONSUMPTION_REQUEST", transaction: app.transaction(1, signedDate: date + 9)
                            ).utf8)), nil
                ),
                (.transaction(Array(try app.transaction(1, revokedAt: date, signedDate: date + 11).utf8)), "ann"),
                (
                    .notification(
                        Array(
                            try app.notification(
                                "n5", type: "DID_RENEW",
                                transaction: app.transaction(
                                    9, product: "monthly", type: .autoRenewableSubscription)
                            ).utf8)), nil
                ),
            ]
            let folder = try TemporaryFolder()
            let log = MemoryLog()
            let row = BlockRows.LedgerRow(bundleID: app.app.bundleID, environment: app.app.environment.rawValue)
            let engine = try Engine(
                log: log,
                projection: try SQLiteProjection(
                    path: folder.path("projection.sqlite"), ledger: row, hash: testSHA256),
                configuration: Engine.Configuration(
                    bundleID: row.bundleID, environment: row.environment, catalog: .small),
                hash: testSHA256, now: { date + 100 }, report: { _ in })
            for (object, account) in objects {
                let verified = app.verifier.verify([object], now: date + 100)[0]
                let operation = LedgerOperation(verified, account: account.flatMap { AccountName($0) }, by: nil)
                guard case .command(var command, _) = operation else {
                    Issue.record("\(operation)")
                    continue
                }
                if case .credit(var signed, let account) = command, signed.facts.token == AccountName("Player") {
                    signed.facts.token = credited
                    command = .credit(signed, account: account)
                }
                var needs = Needs()
                needs.add(command)
                let outcome = try engine.run(needs) { [command] in $0.decide(command, at: date + 100) }
                if case .refused(let refusal) = outcome { Issue.record("\(refusal)") }
            }
            try engine.close()
            self.app = app
            blocks = log.blocks
            signed = try blocks.reduce(0) { sum, sealed in
                let rows = try Block(opening: sealed, checks: .hashes(testSHA256)).rows
                return sum + rows.evidence.count + rows.notifications.count
            }
        }

        func audit(_ blocks: [SealedBlock], anchors: [Certificate]) throws -> (AuditSummary, [AuditFinding]) {
            let identity = Digest(
                of: BlockRows.LedgerRow(bundleID: app.app.bundleID, environment: app.app.environment.rawValue),
                testSHA256)
            var findings: [AuditFinding] = []
            let summary = try Audit(Audit.Configuration(anchors: anchors, jobs: 2), hash: testSHA256) {
                Steps(blocks, identity: identity)
            } openTables: {
                nil
            }.run(progress: { _, _ in }) { findings.append($0) }
            return (summary, findings)
        }
    }

    @Test func whatWasReallySignedHolds() async throws {
        try await apart {
            let ledger = try SignedLedger()
            let (summary, findings) = try ledger.audit(ledger.blocks, anchors: [ledger.app.root])
            #expect(findings == [])
            #expect(summary.signatures == ledger.signed && ledger.signed > 10)
            #expect(summary.purchases == 5 && summary.position.notification == 5)
        }
    }

    /// A ledger of the days when a token was lower-cased that is no UUID.
    @Test(arguments: [("player", true), ("PLAYER", false), ("ann", false)])
    func aTokenThatIsNoUUIDMayHaveBeenLowerCased(account: String, isRight: Bool) async throws {
        try await apart {
            let ledger = try SignedLedger(credited: try #require(AccountName(account)))
            let (_, findings) = try ledger.audit(ledger.blocks, anchors: [ledger.app.root])
            #expect(findings.isEmpty == isRight, "\(findings)")
            #expect(findings.allSatisfy { $0.words.contains("its appAccountToken is not what Apple signed") })
        }
    }

    @Test func nothingIsBelievedWithoutItsAnchor() async throws {
        try await apart {
            let ledger = try SignedLedger()
            let (summary, findings) = try ledger.audit(ledger.blocks, anchors: [try SandboxApp().root])
            #expect(summary.signatures == 0)
            #expect(findings.count == ledger.signed)
            #expect(
                findings.allSatisfy { $0.words.contains("untrustedRoot") }, "\(findings.first.map { "\($0)" } ?? "")")
        }
    }

    @Test func whateverDiffersFromWhatWasSignedIsFound() async throws {
        try await apart {
            let ledger = try SignedLedger()
            for (name, change) in EvidenceTests.changes {
                var tried = 0
                for index in ledger.blocks.indices.dropFirst() {
                    guard let blocks = try changed(ledger.blocks, index, change) else { continue }
                    tried += 1
                    let (_, findings) = try ledger.audit(blocks, anchors: [ledger.app.root])
                    let isFound = findings.contains { finding in
                        finding.block == ledger.blocks[index].number
                            && (finding.words.hasPrefix("evidence") || finding.words.hasPrefix("notification"))
                    }
                    #expect(isFound, "\(name) in block \(index + 1): \(findings)")
                }
                #expect(tried > 0, "\(name)")
            }
        }
    }

    private typealias Change = @Sendable (inout BlockRows) -> Bool

    private static func purchase(_ body: @escaping @Sendable (inout PurchaseFacts) -> Void) -> Change {
        { rows in
            if rows.purchases.isEmpty { return false }
            body(&rows.purchases[0].facts)
            return true
        }
    }

    private static func evidence(_ body: @escaping @Sendable (inout BlockRows.EvidenceRow) -> Void) -> Change {
        { rows in
            if rows.evidence.isEmpty { return false }
            body(&rows.evidence[0])
            return true
        }
    }

    private static func notification(
        _ body: @escaping @Sendable (inout BlockRows.NotificationRow) -> Void
    ) -> Change {
        { rows in
            if rows.notifications.isEmpty { return false }
            body(&rows.notifications[0])
            return true
        }
    }

    private static let changes: [(String, Change)] = [
        ("the product", purchase { $0.product = "com.example.game.gems1000000" }),
        ("the quantity", purchase { $0.quantity += 1 }),
        ("the date of the purchase", purchase { $0.purchaseDate += 1 }),
        ("the price", purchase { $0.price = 1 }),
        ("the price's currency", purchase { $0.priceCurrency = "EUR" }),
        ("the storefront", purchase { $0.storefront = "XXX" }),
        ("the offer", purchase { $0.offer = PurchaseFacts.Offer(type: 3) }),
        ("the original transaction", purchase { $0.original = TransactionID(number: 77) }),
        ("the ownership", purchase { $0.ownership = "FAMILY_SHARED" }),
        ("the source", purchase { $0.source = .imported }),
        ("the date of the signature", evidence { $0.signedDate += 1 }),
        ("the share", evidence { $0.revoked = $0.revoked == 1 ? 2 : 1 }),
        (
            "a byte of the payload",
            evidence { row in
                var payload = Array(row.payload)
                payload[payload.count / 2] ^= 1
                row.payload = payload[...]
            }
        ),
        (
            "a byte of the signature",
            evidence { row in
                var signature = Array(row.signature)
                signature[40] ^= 1
                row.signature = signature[...]
            }
        ),
        ("the notification's UUID", notification { $0.uuid += "0" }),
        ("the notification's type", notification { $0.type = "REFUND_REVERSED" }),
        ("the notification's subtype", notification { $0.subtype = "x" }),
        ("the notification's date", notification { $0.signedDate += 1 }),
        ("the notification's reason", notification { $0.reason = "x" }),
        ("the notification's purchase", notification { $0.transaction = TransactionID(number: 1_000) }),
        (
            "a recorded purchase that its notification does not carry",
            { rows in
                guard let transaction = rows.notifications.first?.transaction, rows.purchases.isEmpty else {
                    return false
                }
                rows.notifications[0].transaction = nil
                rows.notifications[0].subject = transaction
                return true
            }
        ),
        (
            "where the nested header was",
            { rows in
                guard rows.notifications.first?.nested != nil else { return false }
                rows.notifications[0].nested?.at -= 1
                return true
            }
        ),
        (
            "the account of a token",
            { rows in
                guard let row = rows.purchases.first, row.facts.transaction.number == 3 else { return false }
                rows.accounts[0].name = AccountName("thief")
                return true
            }
        ),
    ]

    private func changed(_ blocks: [SealedBlock], _ index: Int, _ change: Change) throws -> [SealedBlock]? {
        var block = try Block(opening: blocks[index], checks: .hashes(testSHA256))
        guard change(&block.rows) else { return nil }
        var chain = Array(blocks[..<index])
        var salts = SplitMix64(seed: 1)
        chain.append(SealedBlock(sealing: block, salts: &salts, hash: testSHA256))
        for sealed in blocks[(index + 1)...] {
            chain.append(sealed.continuing(chain[chain.count - 1].hash, testSHA256))
        }
        return chain
    }
}
