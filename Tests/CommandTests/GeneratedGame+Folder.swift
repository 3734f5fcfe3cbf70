import AppStore
import FileLog
import Foundation
import Ledger
import LedgerClient
import LedgerTestKit
import Testing

@testable import currency_ledger

// MARK: Written without a service

extension GeneratedGame {
    /// A ledger's folder whose entries are of many days that are past: the books decide it at those times, and the
    /// command makes the tables. Nothing in it is signed.
    /// - Parameters:
    ///   - late: what happens at the end, when all days are over.
    ///   - later: what happens a month after that.
    /// - Returns: the folder.
    static func write(
        _ operations: Int, seed: UInt64, from first: Timestamp, days: Int, to studio: Studio, late: [Step] = [],
        later: [Step] = []
    ) throws -> String {
        try studio.folder.write("catalog.json", catalog)
        var folder = try WrittenFolder(studio.folder.path("ledger"), seed: seed, at: first)
        var random = SplitMix64(seed: seed)
        let day: Int64 = 86_400_000
        var players = (0..<max(1, operations / 40)).map {
            Player($0, seed: seed, lifetime: 600_000...(20 * day))
        }
        for number in 0..<days {
            let begin = first + Int64(number) * day
            let share = Int.random(in: 50...150, using: &random) * (number % 7 >= 5 ? 2 : 1)
            let count = operations == 0 ? 0 : max(1, operations * share / (days * 130))
            for time in (0..<count).map({ _ in begin + Int64.random(in: 0..<day, using: &random) }).sorted() {
                let place = Int.random(in: players.indices, using: &random)
                try folder.decide(players[place].next(at: time), at: time)
            }
        }
        for step in late { try folder.decide(step, at: first + Int64(days) * day) }
        for step in later { try folder.decide(step, at: first + Int64(days + 30) * day) }
        try folder.finish(at: first + Int64(days + (later.isEmpty ? 0 : 30)) * day)
        let rebuilt = try Command.run(["rebuild", "--config", studio.folder.path("ledger.json")])
        try #require(rebuilt.status == 0, "\(rebuilt.error)")
        return studio.folder.path("ledger")
    }
}

/// A ledger's log that is written by its books, without a service.
private struct WrittenFolder {
    private static let header = Array("eyJhbGciOiJFUzI1NiIsIng1YyI6W119".utf8)
    private static let hash: HashFunction = { SHA256.hash($0, into: $1) }
    private static let row = BlockRows.LedgerRow(bundleID: "com.example.game", environment: "Sandbox")

    private let log: FileLog
    private var books: Books
    private var salts: SplitMix64
    private var last: SealedBlock?
    private var count: BlockNumber = 0
    private var decided = 0

    init(_ path: String, seed: UInt64, at time: Timestamp) throws {
        let folder = LedgerFolder(path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        let identity = Digest(of: WrittenFolder.row, WrittenFolder.hash)
        try FileLog.create(folder: folder.log, headFile: folder.headFile, identity: identity)
        log = try FileLog.open(
            folder: folder.log, headFile: folder.headFile, identity: identity, hash: WrittenFolder.hash)
        let catalog = try CatalogFile.parse(Array(GeneratedGame.catalog.utf8), name: "catalog.json")
        books = Books(
            catalog: catalog, known: [], position: LastNumbers(), totals: Totals(currencies: 0),
            hash: WrittenFolder.hash)
        salts = SplitMix64(seed: seed)
        try seal(at: time)
    }

    mutating func decide(_ step: GeneratedGame.Step, at time: Timestamp) throws {
        let command: Ledger.Command =
            switch step {
            case .credit(let payload, let account): .credit(signed(payload), account: account)
            case .notify(let type, let payload, let uuid): .notify(told(type, payload, uuid), account: nil)
            case .spend(let spend): .keyed(.spend(spend))
            case .reverse(let reversal): .keyed(.reverse(reversal))
            case .grant(let grant): .keyed(.grant(grant))
            case .hold(let hold): .keyed(.hold(hold))
            case .capture(let capture): .keyed(.capture(capture))
            case .release(let release): .keyed(.release(release))
            case .atomic(let atomic): .atomic(atomic)
            case .link(let link): .link(link)
            case .importLots(let carried): .importLots(carried)
            case .external(let purchase): .external(StatedPurchase(purchase, WrittenFolder.hash))
            case .adjust(let adjustment): .adjust(adjustment, approvedBy: "second")
            }
        _ = books.decide(command, by: "game", at: time)
        decided += 1
        if decided % 25 == 0 {
            _ = books.decide(.expire, by: nil, at: time)
            try seal(at: time)
        }
    }

    mutating func finish(at time: Timestamp) throws {
        _ = books.decide(.expire, by: nil, at: time)
        try seal(at: time)
        log.close()
    }

    private mutating func seal(at time: Timestamp) throws {
        var rows = books.takeRows()
        if count == 0 { rows.ledger = WrittenFolder.row }
        if rows.isEmpty { return }
        count += 1
        let block = Block(
            number: count, term: 1, time: time, previous: last?.hash ?? .zero, position: books.position, rows: rows)
        let sealed = SealedBlock(sealing: block, salts: &salts, hash: WrittenFolder.hash)
        if count == 1 { _ = try log.lead { _ in sealed } } else { try log.append(sealed) }
        last = sealed
    }

    private func signed(_ payload: TransactionPayload) -> SignedPurchase {
        SignedPurchase(
            facts: PurchaseFacts(
                transaction: TransactionID(payload.transactionID)!, product: payload.productID,
                quantity: payload.quantity, purchaseDate: payload.purchaseDate, price: payload.price,
                priceCurrency: payload.currency, token: payload.appAccountToken.flatMap { AccountName($0) },
                storefront: payload.storefront, original: TransactionID(payload.transactionID)),
            signedDate: payload.signedDate, revoked: payload.revoked, evidence: parts(payload.json()))
    }

    private func told(
        _ type: NotificationPayload.NotificationType, _ payload: TransactionPayload, _ uuid: String
    ) -> SignedNotification {
        let purchase = signed(payload)
        let text = Array(#"{"signedTransactionInfo":""#.utf8) + purchase.evidence.jws + Array(#""}"#.utf8)
        return SignedNotification(
            uuid: uuid, type: type.rawValue, subtype: nil, signedDate: payload.signedDate, evidence: parts(text),
            purchase: purchase)
    }

    private func parts(_ payload: [UInt8]) -> JWSParts {
        JWSParts(
            headerDigest: Digest(of: WrittenFolder.header, WrittenFolder.hash), header: WrittenFolder.header,
            payload: payload, signature: [UInt8](repeating: 0x5A, count: 64))
    }
}
