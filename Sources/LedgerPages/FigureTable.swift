/// A table of figures: a caption, a header for each column and for each row, and cells of which numbers stand to the
/// right.
package struct FigureTable {
    package enum Cell {
        case text(String)
        /// What people outside of this program have named; it may run in either direction.
        case name(String)
        /// A name that is as short as a currency's.
        case code(String)
        case number(Int128, Quantity)
        /// A name that leads to another page.
        case link(String, to: String)
        /// With a bar as long as its part of the greatest in its column.
        case measured(Int128, Quantity, most: Int128)
    }

    package struct Row {
        package var header: Cell
        package var cells: [Cell]
        /// Whether it is what others add up to.
        package var isSum: Bool

        package init(header: Cell, cells: [Cell], isSum: Bool = false) {
            self.header = header
            self.cells = cells
            self.isSum = isSum
        }
    }

    package var caption: String
    /// Of the rows' headers first.
    package var columns: [String]
    package var rows: [Row]

    package init(caption: String, columns: [String], rows: [Row]) {
        self.caption = caption
        self.columns = columns
        self.rows = rows
    }

    package func write(to page: inout HTML) {
        // Where it is wider than the screen it moves by itself, also by the keyboard.
        page.element("div", ["class": "table", "role": "region", "aria-label": caption, "tabindex": "0"]) { page in
            page.element("table") { table in
                table.element("caption", caption)
                table.element("thead") { head in
                    head.element("tr") { row in
                        for (place, column) in columns.enumerated() {
                            let isNumber = isNumber(place)
                            row.element("th", ["scope": "col", "class": isNumber ? "number" : "text"], column)
                        }
                    }
                }
                table.element("tbody") { body in
                    for row in rows {
                        body.element("tr", ["class": row.isSum ? "sum" : "part"]) { cells in
                            cells.element("th", ["scope": "row"]) { row.header.write(to: &$0) }
                            for cell in row.cells {
                                cells.element("td", ["class": cell.style]) {
                                    cell.write(to: &$0)
                                }
                            }
                        }
                        body.line()
                    }
                }
            }
        }
        page.line()
    }

    /// Whether a column has numbers, as its first row has.
    private func isNumber(_ column: Int) -> Bool {
        guard let cells = rows.first?.cells, column > 0, column <= cells.count else { return false }
        return cells[column - 1].isNumber
    }
}

extension FigureTable.Cell {
    fileprivate var isNumber: Bool {
        switch self {
        case .text, .name, .code, .link: false
        case .number, .measured: true
        }
    }

    fileprivate var style: String {
        switch self {
        case .text, .code: "text"
        case .name, .link: "name"
        case .number, .measured: "number"
        }
    }

    fileprivate func write(to page: inout HTML) {
        switch self {
        case .text(let text): page.text(text)
        case .name(let name), .code(let name): page.name(name)
        case .link(let name, let address): page.element("a", ["href": address]) { $0.name(name) }
        case .number(let number, let quantity): page.text(quantity.text(number))
        case .measured(let number, let quantity, let most):
            page.text(quantity.text(number))
            let share = most > 0 ? max(0, number) * 1_000 / most : 0
            page.element(
                "svg",
                ["class": "bar", "viewBox": "0 0 1000 10", "preserveAspectRatio": "none", "aria-hidden": "true"]
            ) { svg in
                svg.empty("rect", ["class": "a", "width": "\(share)", "height": "10"])
            }
        }
    }
}
