import Ledger
import LedgerTestKit
import Testing

@testable import LedgerEngine

/// Another catalog takes the place of the one that decisions follow, while they are made.
@Suite struct CatalogTests {
    private static func digest(_ byte: UInt8) -> Digest { Digest([UInt8](repeating: byte, count: 32))! }

    /// The small one, with one currency more.
    private static let larger = Catalog(
        currencies: Catalog.small.currencies.merging([CurrencyCode("stars")!: CurrencySettings()]) { own, _ in own },
        products: Catalog.small.products)

    private static func stars(_ key: String) -> Command {
        .grant(
            Grant(
                key: RequestKey(key)!, account: AccountName("ann")!, currency: CurrencyCode("stars")!,
                amount: Amount(5)!))
    }

    /// The rows of all blocks, with the number of the block of each.
    private static func catalogs(_ bench: Bench) throws -> [(block: BlockNumber, row: BlockRows.CatalogRow)] {
        try bench.log.blocks.flatMap { sealed in
            let block = try Block(opening: sealed, checks: .form)
            return block.rows.catalogs.map { (block.number, $0) }
        }
    }

    @Test func theNextBatchFollowsItAndItsBlockNamesIt() throws {
        let catalog = CatalogInForce(.init(.small, digest: Self.digest(1)))
        let bench = try Bench(following: catalog)
        #expect(try Self.catalogs(bench).map(\.row.version) == [1])
        guard case .refused(let refusal) = try bench.ask(Self.stars("a")) else {
            Issue.record("a currency was granted that there is not")
            return
        }
        guard case .unknownCurrency = refusal.reason else {
            Issue.record("\(refusal)")
            return
        }
        _ = try bench.ask(.grant("before", "ann", 7))
        catalog.replace(by: .init(Self.larger, digest: Self.digest(2)))
        guard case .grant = try bench.ask(Self.stars("b")) else {
            Issue.record("the catalog of now is not followed")
            return
        }
        let rows = try Self.catalogs(bench)
        #expect(rows.map(\.row.version) == [1, 2])
        #expect(rows.map(\.row.digest) == [Self.digest(1), Self.digest(2)])
        // The block that has the first decision by it names it, and the currency that it brought.
        let last = try Block(opening: try #require(bench.log.blocks.last), checks: .form)
        #expect(rows.last?.block == last.number && last.rows.currencies.map(\.code.text) == ["stars"])
        // What was there stays.
        #expect(try bench.available("ann") == 7)
        try bench.engine.close()
    }

    /// As many currencies as a ledger may have; with those of the small one they are too many.
    private static let full = Catalog(
        currencies: Dictionary(
            uniqueKeysWithValues: (1...Limits.currenciesMax).map { (CurrencyCode("c\($0)")!, CurrencySettings()) }),
        products: [String: Catalog.Product]())

    @Test func oneThatBringsTooManyCurrenciesIsRefusedAndTheNextIsFollowed() throws {
        let catalog = CatalogInForce(.init(.small, digest: Self.digest(1)))
        let bench = try Bench(following: catalog)
        catalog.replace(by: .init(Self.full, digest: Self.digest(2)))
        for key in ["a", "b"] {
            let error = #expect(throws: StoreError.self) { try bench.ask(.grant(key, "ann", 7)) }
            #expect(error?.description.contains("more than 255") == true, "\(String(describing: error))")
        }
        catalog.replace(by: .init(Self.larger, digest: Self.digest(3)))
        guard case .grant = try bench.ask(Self.stars("a")) else {
            Issue.record("the catalog of now is not followed")
            return
        }
        #expect(try Self.catalogs(bench).map(\.row.digest) == [Self.digest(1), Self.digest(3)])
        try bench.engine.close()
    }

    @Test func aStartWithTooManyCurrenciesIsRefused() throws {
        let bench = try Bench(following: CatalogInForce(.init(.small, digest: Self.digest(1))))
        try bench.engine.close()
        let error = #expect(throws: StoreError.self) {
            try Bench(
                bench.log.storage, folder: bench.folder,
                following: CatalogInForce(.init(Self.full, digest: Self.digest(2))))
        }
        #expect(error?.description.contains("more than 255") == true, "\(String(describing: error))")
    }

    @Test func theSameCatalogIsNamedOnce() throws {
        let catalog = CatalogInForce(.init(.small, digest: Self.digest(1)))
        let bench = try Bench(following: catalog)
        catalog.replace(by: .init(.small, digest: Self.digest(1)))
        _ = try bench.ask(.grant("a", "ann", 1))
        #expect(try Self.catalogs(bench).count == 1)
        try bench.engine.close()
        let again = try Bench(
            bench.log.storage, folder: bench.folder,
            following: CatalogInForce(.init(.small, digest: Self.digest(1))))
        #expect(try Self.catalogs(again).count == 1)
        try again.engine.close()
        let other = try Bench(
            again.log.storage, folder: bench.folder,
            following: CatalogInForce(.init(.small, digest: Self.digest(3))))
        #expect(try Self.catalogs(other).map(\.row.version) == [1, 2])
        try other.engine.close()
    }

    @Test func whatIsLostWithAnAppendIsNamedAgain() throws {
        let catalog = CatalogInForce(.init(.small, digest: Self.digest(1)))
        let bench = try Bench(following: catalog)
        catalog.replace(by: .init(Self.larger, digest: Self.digest(2)))
        bench.log.failAppends(.notAppended)
        #expect(throws: StoreError.self) { try bench.ask(Self.stars("a")) }
        guard case .grant = try bench.ask(Self.stars("a")) else {
            Issue.record("the catalog of now is not followed")
            return
        }
        #expect(try Self.catalogs(bench).map(\.row.digest) == [Self.digest(1), Self.digest(2)])
        try bench.engine.close()
    }

    @Test func whatIsSlowIsToldNowAndThen() throws {
        let notice = SlowNotice()
        #expect(!notice.isSlow(.max - 1))
        notice.set(milliseconds: 5)
        #expect(!notice.isSlow(4_999_999) && notice.isSlow(5_000_000))
        // One in ten seconds; the next says how many there were between.
        #expect(notice.take(at: 1) == 0)
        #expect(notice.take(at: 2) == nil && notice.take(at: 3) == nil)
        #expect(notice.take(at: 10_000_000_001) == 2)
        notice.set(milliseconds: 0)
        #expect(!notice.isSlow(.max - 1))
    }
}
