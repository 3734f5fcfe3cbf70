import Foundation
import LedgerClient
import Testing

#if canImport(FoundationXML)
import FoundationXML
#endif

/// A page as a program reads it that knows only its markup. `@unchecked Sendable`: nothing of it changes once it is
/// made.
final class ParsedPage: NSObject, XMLParserDelegate, @unchecked Sendable {
    struct Table {
        var caption = ""
        /// The headers of its columns, each with its scope.
        var columns: [String] = []
        /// Each row's header first.
        var rows: [[String]] = []

        /// A column's figures by the rows' headers.
        func figures(_ column: String) throws -> [String: Int128] {
            let place = try #require(columns.firstIndex(of: column), "\(caption) has no \(column)")
            return Dictionary(uniqueKeysWithValues: try rows.map { ($0[0], try ParsedPage.number($0[place])) })
        }
    }

    struct Drawing {
        var attributes: [String: String]
        var title = ""
        var description = ""
        /// What its parts say.
        var told: [String] = []
    }

    private(set) var tables: [Table] = []
    private(set) var drawings: [Drawing] = []
    /// Everything that does not hold of each page.
    private(set) var faults: [String] = []
    private(set) var title = ""

    private var path: [String] = []
    private var text = ""
    private var ids: Set<String> = []
    private var references: [String] = []
    private var cells: [String] = []

    init(_ bytes: Data) throws {
        super.init()
        let parser = XMLParser(data: bytes)
        parser.delegate = self
        try #require(parser.parse(), "\(String(describing: parser.parserError)) in line \(parser.lineNumber)")
        for reference in references where !ids.contains(reference) { faults.append("nothing has the id \(reference)") }
    }

    /// The one with this caption.
    func table(_ caption: String) throws -> Table {
        let found = tables.filter { $0.caption == caption }
        return try #require(found.count == 1 ? found[0] : nil, "\(caption) among \(tables.map(\.caption))")
    }

    /// Units, or thousandths of money, as a page writes them.
    static func number(_ text: String) throws -> Int128 {
        try CSVTable.number(text.replacing(",", with: "").replacing("\u{2212}", with: "-"))
    }

    private static let elements: Set = [
        "html", "head", "meta", "title", "style", "body", "header", "nav", "main", "section", "h1", "h2", "p", "a",
        "div", "table", "caption", "thead", "tbody", "tr", "th", "td", "bdi", "figure", "figcaption", "ul", "li",
        "svg", "small", "span", "desc", "line", "text", "rect", "circle", "polyline",
    ]

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        if !ParsedPage.elements.contains(name) { faults.append("an element \(name)") }
        for (key, value) in attributes {
            let loads = ["src", "srcset", "data", "action", "style", "xlink:href"].contains(key)
            if key.hasPrefix("on") || loads { faults.append("\(name) has \(key)") }
            if key == "href" && !value.hasPrefix("#") { faults.append("\(name) leads to \(value)") }
            if key == "href" { references.append(String(value.dropFirst())) }
            if key == "aria-labelledby" { references += value.split(separator: " ").map(String.init) }
            if key == "id", !ids.insert(value).inserted { faults.append("two have the id \(value)") }
        }
        switch name {
        case "table": tables.append(Table())
        case "tr": cells = []
        case "th":
            let scope = path.contains("thead") ? "col" : "row"
            if attributes["scope"] != scope { faults.append("a header without its scope") }
        case "svg":
            if attributes["aria-hidden"] == "true" { break }
            if attributes["role"] != "img" || attributes["aria-labelledby"] == nil {
                faults.append("a drawing without a name")
            }
            drawings.append(Drawing(attributes: attributes))
        case _: break
        }
        path.append(name)
        if ["caption", "th", "td", "title", "desc", "h1"].contains(name) { text = "" }
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) { text += string }

    func parser(
        _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
    ) {
        path.removeLast()
        switch name {
        case "caption": tables[tables.count - 1].caption = text
        case "th" where path.contains("thead"): tables[tables.count - 1].columns.append(text)
        case "th", "td": cells.append(text)
        case "tr" where path.contains("tbody"): tables[tables.count - 1].rows.append(cells)
        case "title" where path.last == "head": title = text
        case "title" where path.last == "svg": drawings[drawings.count - 1].title = text
        case "title": drawings[drawings.count - 1].told.append(text)
        case "desc": drawings[drawings.count - 1].description = text
        case "table":
            let table = tables[tables.count - 1]
            if table.caption.isEmpty || table.rows.contains(where: { $0.count != table.columns.count }) {
                faults.append("a table without a caption, or with uneven rows: \(table.caption)")
            }
        case _: break
        }
    }
}
