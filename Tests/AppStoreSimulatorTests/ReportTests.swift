import AppStore
import AppleReports
import LedgerTestKit
import Testing

@testable import AppStoreSimulator

/// Reports that the simulator writes, read again and held against what it sold.
@Suite struct ReportTests {
    private static let zone = ReportZone.pacific
    private static let products = ["gems80", "gems500", "gems1200", "pass"].map { "com.example.game.\($0)" }
    private static let places = [("USA", "USD"), ("DEU", "EUR"), ("FRA", "EUR"), ("JPN", "JPY"), ("ECU", "USD")]
    private static let firstDay = CivilDay(iso: "2026-11-20")

    /// Purchases of some days, a part of them refunded, wholly or not.
    private static func purchases(
        _ count: Int, days: Int, hours: ClosedRange<Int64> = 0...23, _ random: inout SplitMix64
    ) throws -> [Purchase] {
        let first = try #require(firstDay)
        return try (0..<count).map { number in
            let day = first.advanced(by: Int.random(in: 0..<days, using: &random))
            let time =
                zone.start(of: day) + Int64.random(in: hours, using: &random) * 3_600_000
                + Int64.random(in: 0..<3_600_000, using: &random)
            let kind = Int.random(in: 0..<products.count, using: &random)
            let (storefront, currency) = try #require(places.randomElement(using: &random))
            let quantity = kind == 3 ? 1 : Int64.random(in: 1...3, using: &random)
            var transaction = TransactionPayload(
                transactionID: String(2_000_000_000_000_001 + number), bundleID: Store.bundleID,
                productID: products[kind], purchaseDate: time, quantity: quantity,
                type: kind == 3 ? .autoRenewableSubscription : .consumable, signedDate: time, environment: .sandbox)
            transaction.storefront = storefront
            transaction.currency = currency
            transaction.price = [990, 4_990, 9_990, 12_345][kind] * quantity
            transaction.inAppOwnershipType = .purchased
            if random.chance(20) {
                transaction.revocationDate = time + Int64.random(in: 1...3, using: &random) * 86_400_000
                transaction.revocationPercentage = random.chance(50) ? 100_000 : 33_333
                transaction.revocationType = transaction.revoked == 100_000 ? .refundFull : .refundProrated
            }
            return Purchase(transaction: transaction, customer: "customer", changedAt: time, isFinished: true)
        }
    }

    private static func reports(
        of purchases: [Purchase], _ change: (inout ReportOrder) -> Void
    ) throws -> SimulatedReports {
        var order = ReportOrder()
        order.zone = zone
        change(&order)
        var making = ReportMaking(order, app: Store.bundleID)
        return try making.make(of: purchases)
    }

    /// What a caller does: reads Apple's files, and compares them with its books.
    private static func match(_ files: [SimulatedReports.File], _ books: [BookedTransaction]) throws -> SalesMatch {
        var matching = SalesMatching(zone: zone, app: Store.bundleID)
        for file in files {
            var lines: [SalesLine] = []
            let facts = try ReportReader().read(ReportInput(bytes: file.bytes)) { line in
                if case .sales(let line) = line { lines.append(line) }
            }
            #expect(facts.isSound && facts.kind == .salesSummary && facts.lineCount == lines.count, "\(facts.faults)")
            #expect(facts.unknownColumns == [] && facts.columns.count == 28)
            for line in lines { try matching.add(line) }
        }
        for transaction in books { matching.add(transaction) }
        return matching.result(explainedBy: books)
    }

    private static func settle(
        _ files: [SimulatedReports.File], _ books: [BookedTransaction], _ kind: AppleReportKind
    ) throws -> (settlement: Settlement, faults: [ReportFault]) {
        var settling = Settling(zone: zone)
        var faults: [ReportFault] = []
        for (number, file) in files.enumerated() {
            let facts = try ReportReader().read(ReportInput(bytes: file.bytes)) { line in
                if case .financial(let line) = line { settling.add(line, file: number) }
            }
            #expect(facts.kind == kind)
            if facts.isSound { #expect(facts.checkedTotals >= 2) }
            faults += facts.faults
        }
        for transaction in books { settling.add(transaction) }
        return (settling.result(), faults)
    }

    // MARK: Sales

    @Test(arguments: [ReportOrder.Kind.daily, .weekly, .monthly], [true, false])
    func salesReportsAgreeWithWhatWasSold(kind: ReportOrder.Kind, isCompressed: Bool) throws {
        var random = SplitMix64(seed: Seed.drawn(for: "\(kind)"))
        let purchases = try Self.purchases(400, days: 15, &random)
        let books = purchases.compactMap(\.booked)
        #expect(books.count == 400)
        let reports = try Self.reports(of: purchases) {
            $0.kinds = [kind]
            $0.isCompressed = isCompressed
        }
        #expect(reports.putIn == [] && reports.files.count >= 2)
        #expect(reports.files.allSatisfy { $0.bytes.starts(with: [0x1F, 0x8B]) == isCompressed })
        let match = try Self.match(reports.files, books)
        #expect(match.differences == [] && match.agrees && match.daysWithoutReport == [])
        #expect(match.lines.allSatisfy { $0.agrees })
        #expect(match.lines.reduce(0) { $0 + $1.reported.unitsSold } == books.reduce(0) { $0 + $1.quantity })
    }

    @Test(arguments: [ReportOrder.Mistake.dropped, .doubled, .units, .price, .day], 0..<8)
    func anErrorThatIsPutInIsFoundAndNamed(mistake: ReportOrder.Mistake, seed: Int) throws {
        try Self.checkMistakes([mistake], seed: UInt64(seed))
    }

    @Test(arguments: 0..<8) func severalErrorsAreFoundAndNamed(seed: Int) throws {
        try Self.checkMistakes([.dropped, .doubled, .units, .price, .day, .dropped, .day], seed: UInt64(seed))
    }

    /// Every error that was put in, and nothing else, is a difference of its kind.
    private static func checkMistakes(_ mistakes: [ReportOrder.Mistake], seed: UInt64) throws {
        var random = SplitMix64(seed: Seed.drawn(or: seed))
        // Away from midnight, where a difference could be natural.
        let purchases = try purchases(300, days: 5, hours: 3...20, &random)
        let reports = try reports(of: purchases) {
            $0.kinds = [.daily]
            $0.mistakes = mistakes
            $0.seed = seed
        }
        #expect(reports.putIn.map(\.mistake) == mistakes)
        let match = try match(reports.files, purchases.compactMap(\.booked))
        #expect(!match.agrees && match.differences.count == mistakes.count, "\(match.differences)")
        for putIn in reports.putIn {
            let found = match.differences.filter {
                $0.key.product == putIn.product && $0.key.country == putIn.country && $0.key.currency == putIn.currency
                    && $0.days.lowerBound.description == putIn.day && ($0.direction == .refunded) == putIn.isRefund
            }
            try #require(found.count == 1, "\(putIn): \(match.differences)")
            #expect(names(found[0].kind, putIn.mistake), "\(putIn): \(found[0])")
            // What our books have too much is among transactions of ours.
            switch putIn.mistake {
            case .units, .total, .cut: break
            case .dropped, .doubled, .price, .day: #expect(found[0].explanation?.isExact == true, "\(found[0])")
            }
        }
    }

    private static func names(_ kind: SalesDifference.Kind, _ mistake: ReportOrder.Mistake) -> Bool {
        switch (mistake, kind) {
        case (.dropped, .missingInReport), (.dropped, .fewerInReport), (.doubled, .doubledInReport): true
        case (.units, .moreInReport), (.price, .price), (.day, .otherDay): true
        default: false
        }
    }

    @Test func tooFewRowsForTheErrorsAreRefused() throws {
        var random = SplitMix64(seed: 1)
        let purchases = try Self.purchases(1, days: 1, &random)
        let error = #expect(throws: SimulatorError.self) {
            try Self.reports(of: purchases) { $0.mistakes = [.dropped] }
        }
        #expect(error?.kind == .conflict && error?.description.contains("too few rows for the error dropped") == true)
    }

    @Test func everyKindOfReportHasTheErrors() throws {
        var random = SplitMix64(seed: 2)
        let purchases = try Self.purchases(1, days: 1, &random)
        let putIn = try Self.reports(of: purchases) {
            $0.kinds = [.weekly, .monthly, .detail]
            $0.mistakes = [.price, .total]
        }.putIn
        #expect(putIn.map(\.mistake) == [.price, .price, .price, .total])
    }

    @Test func theSameSeedPutsInTheSameErrors() throws {
        var random = SplitMix64(seed: 7)
        let purchases = try Self.purchases(100, days: 4, &random)
        let reports = try (0..<2).map { _ in
            try Self.reports(of: purchases.shuffled()) {
                $0.kinds = ReportOrder.Kind.allCases
                // Of a detailed report there is one file, which has one of both.
                $0.mistakes = ReportOrder.Mistake.allCases.filter { $0 != .cut }
                $0.seed = 5
            }
        }
        #expect(reports[0].files == reports[1].files && reports[0].putIn == reports[1].putIn)
        let error = #expect(throws: SimulatorError.self) {
            try Self.reports(of: purchases) {
                $0.kinds = [.detail]
                $0.mistakes = [.total, .cut]
            }
        }
        #expect(error?.kind == .conflict)
    }

    // MARK: Financial reports

    @Test(arguments: [(ReportOrder.Kind.financial, AppleReportKind.financial), (.detail, .financialDetail)])
    func financialReportsSettleWhatWasSold(kind: ReportOrder.Kind, isRead: AppleReportKind) throws {
        var random = SplitMix64(seed: Seed.drawn(for: "\(kind)"))
        // The fiscal November of 2026 ends on the 28th.
        let purchases = try Self.purchases(400, days: 15, &random)
        let books = purchases.compactMap(\.booked)
        let reports = try Self.reports(of: purchases) { $0.kinds = [kind] }
        let (settlement, faults) = try Self.settle(reports.files, books, isRead)
        #expect(faults == [] && settlement.unassigned == [] && settlement.open == [])
        #expect(settlement.parts.allSatisfy { !$0.isOtherPrice })
        for transaction in books {
            let mine = settlement.parts.filter { $0.transaction == transaction.id }
            let sold = mine.filter { !$0.isReturn }
            let unit = try #require(transaction.unitPrice(of: .sold))
            // Seven tenths to the hundredth, for each unit.
            let proceeds = (unit.rawValue * 7 + 50) / 100 * 10 * transaction.quantity
            #expect(sold.reduce(0) { $0 + $1.share.rawValue } == proceeds)
            #expect(sold.allSatisfy { $0.shareCurrency == transaction.currency })
            #expect(
                mine.filter(\.isReturn).reduce(0) { $0 + $1.units }
                    == (transaction.refundedAt == nil ? 0 : transaction.quantity))
        }
    }

    @Test(arguments: [ReportOrder.Kind.financial, .detail], [ReportOrder.Mistake.dropped, .doubled, .units, .price])
    func anErrorInAFinancialReportIsFound(kind: ReportOrder.Kind, mistake: ReportOrder.Mistake) throws {
        for seed in 0..<6 as Range<UInt64> {
            var random = SplitMix64(seed: Seed.drawn(or: seed))
            let purchases = try Self.purchases(200, days: 5, &random)
            let reports = try Self.reports(of: purchases) {
                $0.kinds = [kind]
                $0.mistakes = [mistake]
                $0.seed = seed
            }
            let putIn = try #require(reports.putIn.first)
            let (settlement, faults) = try Self.settle(
                reports.files, purchases.compactMap(\.booked), kind == .financial ? .financial : .financialDetail)
            // The totals are those of the rows that there are.
            #expect(faults == [])
            func isThere(_ key: SalesKey, _ isReturn: Bool) -> Bool {
                key.product == putIn.product && key.country == putIn.country && key.currency == putIn.currency
                    && isReturn == putIn.isRefund
            }
            switch mistake {
            case .dropped:
                #expect(!settlement.open.isEmpty && settlement.unassigned == [])
                #expect(settlement.open.allSatisfy { isThere($0.key, $0.isReturn) })
            case .doubled, .units:
                #expect(!settlement.unassigned.isEmpty && settlement.open == [])
                #expect(settlement.unassigned.allSatisfy { isThere($0.key, $0.isReturn) })
            default:
                #expect(settlement.unassigned == [] && settlement.open == [])
                #expect(settlement.parts.contains { $0.isOtherPrice })
            }
        }
    }

    @Test(arguments: [ReportOrder.Kind.financial, .detail])
    func aWrongTotalIsFound(kind: ReportOrder.Kind) throws {
        var random = SplitMix64(seed: 3)
        let purchases = try Self.purchases(100, days: 5, &random)
        let reports = try Self.reports(of: purchases) {
            $0.kinds = [kind]
            $0.mistakes = [.total]
        }
        let faults = try Self.settle(
            reports.files, purchases.compactMap(\.booked), kind == .financial ? .financial : .financialDetail
        ).faults
        #expect(faults.map(\.kind) == [.total] && reports.putIn.map(\.file) == [reports.files[0].name])
    }

    /// What was behind the cut is not paid, and the file says itself that it may be cut.
    @Test(arguments: [ReportOrder.Kind.financial, .detail])
    func aFileThatWasCutIsFound(kind: ReportOrder.Kind) throws {
        var random = SplitMix64(seed: 3)
        let purchases = try Self.purchases(100, days: 5, &random)
        let reports = try Self.reports(of: purchases) {
            $0.kinds = [kind]
            $0.mistakes = [.cut]
        }
        let last = try #require(reports.files.last)
        #expect(reports.putIn.map(\.mistake) == [.cut] && reports.putIn.map(\.file) == [last.name])
        for file in reports.files {
            let facts = try ReportReader().read(ReportInput(bytes: file.bytes)) { _ in }
            let words = facts.faults.map(\.words)
            #expect(words == (file == last ? ["has no totals behind its rows: it may be cut"] : []), "\(file.name)")
            if file == last { #expect(facts.lineCount == 1) }
        }
    }

    // MARK: Names and days

    @Test func filesHaveApplesNames() throws {
        var random = SplitMix64(seed: 1)
        let purchases = try Self.purchases(300, days: 3, hours: 2...20, &random).map { purchase in
            var purchase = purchase
            purchase.transaction.revocationDate = nil
            return purchase
        }
        let names = try Self.reports(of: purchases) { $0.kinds = ReportOrder.Kind.allCases }.files.map(\.name)
        #expect(
            names == [
                "S_D_80012345_20261120.txt.gz", "S_D_80012345_20261121.txt.gz", "S_D_80012345_20261122.txt.gz",
                "S_W_80012345_20261122.txt.gz", "S_M_80012345_202611.txt.gz", "80012345_1126_EU.txt.gz",
                "80012345_1126_JP.txt.gz", "80012345_1126_US.txt.gz", "80012345_1126_WW.txt.gz",
                "80012345_1126_Z1.txt.gz",
            ])
    }

    @Test func onlyTheDaysThatAreAskedForAreWritten() throws {
        var random = SplitMix64(seed: 1)
        let purchases = try Self.purchases(200, days: 6, &random)
        let day = try #require(Self.firstDay).advanced(by: 2)
        let files = try Self.reports(of: purchases) {
            $0.kinds = [.daily]
            $0.days = day...day
        }.files
        #expect(files.map(\.name) == ["S_D_80012345_20261122.txt.gz"])
    }

    // MARK: Over HTTP

    @Test func aSimulatorThatRunsGivesItsReports() async throws {
        try await Store.run { store in
            try await store.buy { $0.price = 4_990 }
            let id = try await store.buy {
                $0.quantity = 3
                $0.price = 4_990
            }.transactionID
            // The price is the total of all units.
            #expect(try await store.state(of: id)["price"] == "14970")
            #expect(try await store.state(of: id)["storefront"] == "USA")
            try await store.buy("com.example.game.castle") {
                $0.type = .nonConsumable
                $0.isFamilyShared = true
            }
            _ = try await store.commands.perform(.refund(.init(transactionID: id)))
            var order = ReportOrder()
            order.kinds = [.daily, .detail]
            order.zone = Self.zone
            let reports = try await store.commands.reports(order)
            let books = await store.simulator.state.purchases.values.compactMap(\.booked)
            #expect(books.count == 2)
            let daily = reports.files.filter { $0.name.hasPrefix("S_D_") }
            let match = try Self.match(daily, books)
            #expect(match.differences == [] && !match.lines.isEmpty)
            let detail = reports.files.filter { !$0.name.hasPrefix("S_D_") }
            let settlement = try Self.settle(detail, books, .financialDetail).settlement
            #expect(settlement.open == [] && settlement.unassigned == [] && settlement.parts.count == 3)
        }
    }

    @Test(arguments: [
        ("kinds=yearly", "kinds must be of"), ("mistakes=lost", "mistakes must be of"), ("zone=mars", "zone must be"),
        ("vendor=a", "vendor must be"), ("seed=-1", "seed must be"), ("from=2026-11-02&to=2026-11-01", "from and to"),
        ("from=2026-11-02", "from and to"), ("compressed=1", "compressed must be"),
    ])
    func aRequestThatIsWrongIsRefused(query: String, words: String) async throws {
        try await Store.run { store in
            let (status, answer) = try await Raw.send(.GET, "\(store.address)/simulator/reports?\(query)")
            #expect(status == 400 && answer["error"]?.hasPrefix(words) == true, "\(answer)")
        }
    }

    @Test func moreThanNumbersHoldIsNotSold() async throws {
        try await Store.run { store in
            await #expect(throws: SimulatorError.self) {
                try await store.buy {
                    $0.quantity = 10
                    $0.price = 9_007_199_254_740_991
                }
            }
        }
    }
}
