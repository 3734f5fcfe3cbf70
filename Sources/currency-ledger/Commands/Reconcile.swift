import AppleReports
import ArgumentParser
import Ledger
import LedgerWire

/// The ledger beside what Apple's own reports say.
struct Reconcile: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reconcile", abstract: "Holds the ledger against App Store Connect's reports.",
        subcommands: [Sales.self, SettledReport.self])
}

/// How a command reads Apple's reports.
struct AppleReportOptions: ParsableArguments {
    @Option(
        help:
            "The folder that keeps Apple's files: evidence of what settled the money. It is made where there is none.",
        completion: .directory)
    var evidence: String

    @Option(help: "By whose midnights Apple's reports count days.")
    var zone = ReportZoneName(.pacific)

    @Option(help: "The app's SKU in App Store Connect, where the vendor has other apps. Default: all in-app purchases")
    var app: String?

    @Flag(help: "Pass over products in Financial Reports that the ledger never sold: those of the vendor's other apps.")
    var ownProducts = false

    /// How Apple's files and the ledger's purchases are compared.
    /// - Parameter asOf: by when the purchases were posted; `nil` for now.
    func comparison(with purchases: BookedPurchases, asOf: Timestamp?) -> Reconciliation.Options {
        Reconciliation.Options(
            zone: zone.zone, app: app, products: ownProducts ? purchases.products : nil, knownThrough: asOf)
    }
}

extension Reconciliation {
    /// Apple's files and the ledger's purchases, side by side.
    fileprivate init(_ files: [AppleEvidence.Kept], _ purchases: BookedPurchases, _ options: Options) {
        self.init(
            files: files.map { ($0.name, ReportInput(path: $0.path)) }, purchases: purchases.all, options: options)
    }
}

extension Reconcile {
    struct Sales: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Keeps reports of App Store Connect, and says where they and the ledger differ.",
            discussion: """
                Takes Summary Sales Reports and Financial Reports, compressed as they come or not. Each is checked and \
                kept in the folder of --evidence; then all that were ever kept are held against the ledger's \
                purchases: Summary Sales Reports by product, storefront, price and day, Financial Reports by what they \
                pay for which purchase. Without files, those that are kept are.

                Each difference is a line, with the transactions of ours that explain it. The exit status is 1 where \
                something has to be looked at. "reconcile month" says what is settled.

                currency-ledger reconcile sales --evidence apple S_D_80012345_20261125.txt.gz
                """)

        enum Format: String, CaseIterable, ExpressibleByArgument {
            case text, csv
        }

        @Argument(help: "Files from App Store Connect.", completion: .file())
        var files: [String] = []

        @Option(help: "text (for people, what differs) or csv (a row for each thing, what agrees too).")
        var format: Format = .text

        @Option(name: .shortAndLong, help: "The file to write. Default: standard output")
        var output: String?

        @OptionGroup var options: AppleReportOptions
        @OptionGroup var place: ReportPlace

        func run() async throws {
            let evidence = try AppleEvidence(options.evidence)
            var added = 0
            for file in files where try evidence.keep(file) { added += 1 }
            let kept = try evidence.files()
            guard !kept.isEmpty else { throw Failure("\(options.evidence): has no reports, and none were given") }
            let purchases = try await place.withReports { try await BookedPurchases($0, asOf: nil) }
            let comparison = options.comparison(with: purchases, asOf: nil)
            let findings = AppleFinding.all(
                Reconciliation(kept, purchases, comparison), purchases.importedRefunds, comparison)
            let writer = try OutputFile(output)
            switch format {
            case .text:
                for finding in findings where finding.isToBeLookedAt { try writer.write(Array("\(finding)\n".utf8)) }
            case .csv:
                try writer.write(Array(CSV.line(AppleFinding.columns).utf8))
                for finding in findings { try writer.write(Array(CSV.line(finding.fields).utf8)) }
            }
            try writer.finish()
            Console.error(
                """
                \(kept.count) files, \(added) of them new; \(purchases.all.count) purchases\
                \(purchases.withoutPrice > 0 ? ", and \(purchases.withoutPrice) without a signed price" : ""); \
                \(findings.count { $0.kind == .agrees }) lines agree, \
                \(findings.count { $0.isToBeLookedAt }) things are to be looked at
                """)
            if findings.contains(where: \.isToBeLookedAt) { throw ExitCode(1) }
        }
    }

    struct SettledReport: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "month", abstract: "Writes a month's money on both bases, signed and settled, as CSV.",
            discussion: """
                A row for each product, storefront and price currency, on each basis: signed, what customers paid by \
                the App Store's signatures; unsettled, what of that no Financial Report has paid yet; settled, what \
                Apple pays for the rest; withheld, what of the rest it does not pay (commission and tax). Where Apple \
                pays in the customer's currency, signed = unsettled + settled + withheld in each column. Purchases of \
                other stores are apart: stated, at the price that was stated; and so are imported lots: carried, at \
                what was not earned yet of them. In each row opening + sold + imported - refunded - recognised = \
                closing.

                It is made of the files that "reconcile sales" has kept: with more of them, more is settled. A month \
                that is over changes with nothing else. Nothing is written where one of the files is damaged: each \
                fault is named. A month that is not over ends now, and one that was over before the ledger began \
                is refused. Of one that was closed, a file says beside it which block and which files of Apple's fix \
                it.
                """)

        @Argument(help: "The month in UTC, as 2026-01.")
        var month: String

        @Option(name: .shortAndLong, help: "The file to write. Default: standard output")
        var output: String?

        @Flag(
            help:
                """
                Go on where a file is damaged. Its faults are named; a row that is wrong counts for nothing.
                """
        )
        var despiteFaults = false

        @OptionGroup var options: AppleReportOptions
        @OptionGroup var place: ReportPlace

        func validate() throws {
            if Month(month) == nil { throw ValidationError("The month must be as 2026-01, not '\(month)'.") }
        }

        func run() async throws {
            guard let month = Month(month) else { preconditionFailure("a month that was not validated") }
            let kept = try AppleEvidence(options.evidence).files()
            var file = try SealedFile(output)
            let settled = try await place.withReports { source in
                // Of a month that is not over, what there is by now.
                let last = month.last < Clock.now() ? month.last : nil
                let closing = try await proceeds(kept, BookedPurchases(source, asOf: last), asOf: last) {
                    try tell(faultsOf: $0)
                }
                // In the month in which the ledger began there was nothing before.
                let before = month.first - 1
                let known = try await BookedPurchases(source, asOf: before, beforeLedger: .isEmpty)
                let opening = proceeds(kept, known, asOf: before) { _ in }
                if let last {
                    let subject = ReportSeal.Subject(
                        report: "reconcile-month", from: month.first, through: last, details: details(kept))
                    try file.set(try await place.seal(subject, source))
                }
                return try await SettledMonth(
                    source, opening: opening, closing: closing, from: month.first, through: last)
            }
            let rows = settled.rows
            try file.write(Array(CSV.line(SettledReport.columns).utf8))
            for row in rows { try file.write(Array(CSV.line(SettledReport.fields(row)).utf8)) }
            try file.finish(rows: rows.count)
        }

        /// What the figures follow from besides the ledger: Apple's files, by their SHA-256, and how they are read.
        private func details(_ kept: [AppleEvidence.Kept]) -> [(StaticString, ReportSeal.Value)] {
            [
                ("evidence", .texts(kept.map(\.digest).sorted())), ("zone", .text(options.zone.zone.name)),
                ("sku", .text(options.app)), ("products", .text(options.ownProducts ? "own" : "all")),
            ]
        }

        /// What Apple pays of what was posted by then.
        private func proceeds(
            _ kept: [AppleEvidence.Kept], _ purchases: BookedPurchases, asOf: Timestamp?,
            checking: ([Reconciliation.File]) throws -> Void
        ) rethrows -> Proceeds {
            let reconciliation = Reconciliation(kept, purchases, options.comparison(with: purchases, asOf: asOf))
            try checking(reconciliation.files)
            return Proceeds(reconciliation.settlement, purchases.all)
        }

        /// Says what is wrong with Apple's files.
        /// - Throws: ``Failure`` where something is, unless it is to be gone on.
        private func tell(faultsOf files: [Reconciliation.File]) throws {
            let faults = AppleFinding.faults(of: files)
            for fault in faults { Console.error("\(fault)") }
            guard !faults.isEmpty, !despiteFaults else { return }
            throw Failure(
                """
                \(faults.count) fault\(faults.count == 1 ? "" : "s") in Apple's files: nothing was written. Fetch them \
                again, or go on with --despite-faults
                """)
        }

        private static let columns = [
            "product", "storefront", "priceCurrency", "source", "currency", "basis", "moneyCurrency", "opening", "sold",
            "imported", "refunded", "recognised", "closing",
        ]

        private static func fields(_ row: SettledMonth.Row) -> [String] {
            let key = row.key
            return [
                key.product, key.storefront, key.priceCurrency, key.source, key.currency, key.basis.rawValue, key.money,
            ]
                + [row.opening, row.sold, row.imported, row.refunded, row.recognised, row.closing].map {
                    Money.text(thousandths: $0)
                }
        }
    }
}
