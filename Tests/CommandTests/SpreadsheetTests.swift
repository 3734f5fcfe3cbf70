import Foundation
import LedgerClient
import LedgerTestKit
import Testing

#if canImport(FoundationXML)
import FoundationXML
#endif

/// Exported CSV files, opened by LibreOffice as people open them: nothing in them is run, and every text is ours.
@Suite(.enabled(if: Spreadsheet.isInstalled, "LibreOffice is not installed")) struct SpreadsheetTests {
    @Test func noExportedCellIsRunWhateverPlayersAndNotesAreCalled() throws {
        let studio = try Studio()
        let folder = try GeneratedGame.write(1_500, seed: 5, from: 1_757_894_400_000, days: 30, to: studio)
        var hostile: Set<String> = []
        var paths: [String] = []
        for kind in ReportKind.allCases {
            let path = studio.folder.path("\(kind.rawValue).csv")
            let all = kind == .lots || kind == .consumptionRequests ? ["--scope", "all"] : []
            let exported = try Command.run(["export", kind.rawValue, "--path", folder, "--output", path] + all)
            try #require(exported.status == 0, "\(exported.error)")
            paths.append(path)
        }
        let opened = try Spreadsheet.open(paths, in: studio.folder)
        for (path, sheet) in zip(paths, opened) {
            #expect(!sheet.hasFormula, "\(path)")
            let records = try CSVTable.records(try String(contentsOfFile: path, encoding: .utf8))
            try #require(sheet.rows.count == records.count, "\(path): \(sheet.rows.count) rows")
            for (record, row) in zip(records, sheet.rows) {
                for (field, cell) in zip(record, row + Array(repeating: nil, count: max(0, record.count - row.count))) {
                    guard let cell, cell.isText else { continue }
                    // In a cell each of CR, LF and both is a new paragraph.
                    let text = field.replacing("\r\n", with: "\n").replacing("\r", with: "\n")
                    #expect(cell.text == text, "\(path)")
                    if let first = field.dropFirst().first, field.hasPrefix("'") { hostile.insert(String(first)) }
                }
            }
        }
        #expect(hostile.isSuperset(of: ["=", "+", "-", "@", "'", "\r"]), "\(hostile)")
    }

    /// Without our rule it would be run: the test above can fail.
    @Test func aFormulaIsFoundWhereThereIsOne() throws {
        let folder = try TemporaryFolder()
        try folder.write("bad.csv", "account,n\r\n=1+1,2\r\n")
        #expect(try Spreadsheet.open([folder.path("bad.csv")], in: folder).map(\.hasFormula) == [true])
    }
}

/// A sheet as LibreOffice has it, in its own format as one XML file.
final class Spreadsheet: NSObject, XMLParserDelegate {
    struct Cell {
        var isText: Bool
        var text = ""
    }

    private static let command = URL(fileURLWithPath: "/usr/bin/soffice")
    static var isInstalled: Bool {
        NeededPrograms.contain("soffice") || FileManager.default.isExecutableFile(atPath: command.path)
    }

    /// `nil` of an empty cell.
    private(set) var rows: [[Cell?]] = []
    private(set) var hasFormula = false

    private var repetitions = 1
    private var cell: Cell?
    private var paragraphs = 0
    private var isInParagraph = false

    /// Opens CSV files without a screen.
    static func open(_ paths: [String], in folder: TemporaryFolder) throws -> [Spreadsheet] {
        let output = folder.path("sheets")
        let profile = URL(fileURLWithPath: folder.path("profile")).absoluteString
        let finished = try Command.run(
            command,
            [
                // Commas, quotation marks, UTF-8, from the first line on: what a person chooses in its dialog.
                "--headless", "-env:UserInstallation=\(profile)", "--infilter=Text - txt - csv (StarCalc):44,34,76,1",
                "--convert-to", "fods", "--outdir", output,
            ] + paths)
        try #require(finished.status == 0, "\(finished.error)")
        return try paths.map { path in
            let name = URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent
            return try Spreadsheet(try Data(contentsOf: URL(fileURLWithPath: "\(output)/\(name).fods")))
        }
    }

    private init(_ bytes: Data) throws {
        super.init()
        let parser = XMLParser(data: bytes)
        parser.delegate = self
        try #require(parser.parse(), "\(String(describing: parser.parserError))")
        while rows.last?.allSatisfy({ $0 == nil }) == true { rows.removeLast() }
    }

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        switch name {
        case "table:table-row": rows.append([])
        case "table:table-cell":
            if attributes["table:formula"] != nil { hasFormula = true }
            repetitions = min(64, attributes["table:number-columns-repeated"].flatMap { Int($0) } ?? 1)
            cell = attributes["office:value-type"].map { Cell(isText: $0 == "string") }
            paragraphs = 0
        case "text:p":
            paragraphs += 1
            isInParagraph = true
            if paragraphs > 1 { cell?.text += "\n" }
        case "text:s":
            cell?.text += String(repeating: " ", count: attributes["text:c"].flatMap { Int($0) } ?? 1)
        case "text:tab": cell?.text += "\t"
        case "text:line-break": cell?.text += "\n"
        case _: break
        }
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) {
        if isInParagraph { cell?.text += string }
    }

    func parser(
        _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
    ) {
        if name == "text:p" { isInParagraph = false }
        guard name == "table:table-cell", !rows.isEmpty else { return }
        rows[rows.count - 1] += Array(repeating: cell, count: repetitions)
        cell = nil
        paragraphs = 0
    }
}
