import AppStoreSimulator
import AppleReports
import ArgumentParser
import Foundation
import StrictJSON

extension Sandbox {
    struct Reports: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Writes App Store Connect's reports of what a simulator sold and refunded.",
            discussion: """
                Summary Sales Reports (daily, weekly, monthly) and the Financial Reports of fiscal months (financial: \
                a file for each region; detail: one of all), as Apple names and compresses them. A line of JSON is \
                printed for each file, and one for each error that was put in.

                Errors: dropped, a row is not there; doubled, it is there twice; units, it has one or two more; \
                price, it is higher by 1; day, it is in the next day's report; total, a financial report's total is \
                higher by 1.
                """)

        @Argument(help: "The folder; made where there is none. Files of the same names are replaced.")
        var folder: String

        @Option(help: "What is written; may be given several times. Default: daily and financial")
        var kind: [ReportOrder.Kind] = []

        @Option(help: "The first day of sales and refunds, as 2026-11-25. Default: all")
        var from: ReportDay?

        @Option(help: "The last day. Default: that of --from")
        var to: ReportDay?

        @Option(help: "By whose midnights days are counted.")
        var zone = ReportZoneName(.pacific)

        @Option(help: "Apple's number of the vendor.")
        var vendor = ReportOrder().vendor

        @Option(help: "An error that is put in, each into a row of its own; may be given several times.")
        var mistake: [ReportOrder.Mistake] = []

        @Option(help: "What the rows with errors follow from.")
        var seed: UInt64 = 1

        @Flag(help: "Do not compress.")
        var plain = false

        @OptionGroup var place: SimulatorPlace

        func validate() throws {
            if from == nil && to != nil { throw ValidationError("--to needs --from.") }
            if let from, let to, to.day < from.day { throw ValidationError("--to must not be before --from.") }
            guard vendor.wholeMatch(of: /[0-9]{1,20}/) != nil else {
                throw ValidationError("--vendor must be 1 to 20 digits, not '\(vendor)'.")
            }
            guard !folder.isEmpty else { throw ValidationError("The folder must have a name; \".\" is this one.") }
        }

        func run() async throws {
            var order = ReportOrder()
            if !kind.isEmpty { order.kinds = kind }
            if let from { order.days = from.day...(to ?? from).day }
            order.zone = zone.zone
            order.vendor = vendor
            order.mistakes = mistake
            order.seed = seed
            order.isCompressed = !plain
            let reports: SimulatedReports
            do throws(SimulatorError) {
                reports = try await place.client.reports(order)
            } catch { throw Failure("\(error)") }
            let folder = URL(fileURLWithPath: folder, isDirectory: true)
            do {
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            } catch { throw Failure("\(self.folder): the folder cannot be made: \(error.localizedDescription)") }
            for file in reports.files {
                let output = try OutputFile(folder.appendingPathComponent(file.name).path)
                try output.write(file.bytes)
                try output.finish()
                var writer = JSONWriter()
                writer.beginObject()
                writer.member("file", file.name)
                writer.member("bytes", Int64(file.bytes.count))
                writer.endObject()
                Console.print(String(decoding: writer.bytes, as: UTF8.self))
            }
            for putIn in reports.putIn { Console.print(String(decoding: putIn.json(), as: UTF8.self)) }
        }
    }
}

/// A day as an option has it: ISO 8601.
struct ReportDay: ExpressibleByArgument {
    let day: CivilDay

    init?(argument: String) {
        guard let day = CivilDay(iso: argument) else { return nil }
        self.day = day
    }
}

/// A time zone of reports as an option has it: its name.
struct ReportZoneName: ExpressibleByArgument {
    let zone: ReportZone

    init(_ zone: ReportZone) { self.zone = zone }

    init?(argument: String) {
        guard let zone = ReportZone(name: argument) else { return nil }
        self.zone = zone
    }

    var defaultValueDescription: String { zone.name }

    static var allValueStrings: [String] { ReportZone.allCases.map(\.name) }
}

extension ReportOrder.Kind: ExpressibleByArgument {}
extension ReportOrder.Mistake: ExpressibleByArgument {}
