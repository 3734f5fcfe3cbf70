/// A chart of figures by day, as SVG: bars beside each other or lines, from zero on.
///
/// All places are whole hundredths of a pixel, computed from the figures without rounding on the way.
package struct DayChart {
    package struct Series {
        package var name: String
        /// One a day.
        package var values: [Int128]

        package init(name: String, values: [Int128]) {
            self.name = name
            self.values = values
        }
    }

    package enum Form {
        /// What happened on each day: the sum is of interest too.
        case bars
        /// What there was at the end of each day.
        case lines
    }

    package var title: String
    package var form: Form
    package var quantity: Quantity
    /// As `2026-01-31`.
    package var days: [String]
    /// At most three.
    package var series: [Series]

    package init(title: String, form: Form, quantity: Quantity, days: [String], series: [Series]) {
        self.title = title
        self.form = form
        self.quantity = quantity
        self.days = days
        self.series = series
    }

    // In pixels, of a drawing that is as wide as a small telephone.
    private static let (width, height) = (360, 180)
    private static let (left, right, top, bottom) = (44, 6, 8, 22)
    private static let colours = ["a", "b", "c"]

    /// - Parameter id: of the drawing, within the page.
    package func write(to page: inout HTML, id: String) {
        page.element("figure") { page in
            page.element("figcaption", title)
            let size = "0 0 \(DayChart.width) \(DayChart.height)"
            page.element(
                "svg", ["role": "img", "viewBox": size, "aria-labelledby": "\(id)-title \(id)-text", "class": "chart"]
            ) { svg in
                svg.element("title", ["id": "\(id)-title"], title)
                svg.element("desc", ["id": "\(id)-text"], description)
                axes(&svg)
                for (series, colour) in zip(series, DayChart.colours) {
                    switch form {
                    case .bars: bars(series, colour, &svg)
                    case .lines: line(series, colour, &svg)
                    }
                }
                for place in days.indices { told(place, &svg) }
            }
            if series.count > 1 { legend(&page) }
        }
        page.line()
    }

    /// What the drawing shows, in words.
    var description: String {
        series.map { series in
            switch form {
            case .bars:
                let sum = quantity.text(series.values.reduce(0, +))
                guard let most = series.values.max(), most > 0, let day = series.values.firstIndex(of: most) else {
                    return "\(series.name): \(sum) in all."
                }
                return "\(series.name): \(sum) in all, most on \(days[day]): \(quantity.text(most))."
            case .lines:
                guard let first = series.values.first, let last = series.values.last else { return "" }
                return "\(series.name): \(quantity.text(first)) at the end of \(days[0]), "
                    + "\(quantity.text(last)) at the end of \(days[days.count - 1])."
            }
        }.joined(separator: " ")
    }

    private func legend(_ page: inout HTML) {
        page.element("ul", ["class": "legend"]) { list in
            for (series, colour) in zip(series, DayChart.colours) {
                list.element("li") { item in
                    item.element("svg", ["viewBox": "0 0 10 10", "aria-hidden": "true"]) { svg in
                        svg.empty("rect", ["class": colour, "width": "10", "height": "10", "rx": "2"])
                    }
                    item.text(series.name)
                }
            }
        }
    }

    // MARK: Axes

    private func axes(_ svg: inout HTML) {
        let scale = scale
        for step in scale.steps {
            let y = scale.y(step)
            svg.empty(
                "line",
                [
                    "class": step == 0 ? "zero" : "grid", "x1": "\(DayChart.left)", "y1": text(y),
                    "x2": "\(DayChart.width - DayChart.right)", "y2": text(y),
                ])
            svg.element(
                "text", ["class": "value", "x": "\(DayChart.left - 5)", "y": text(y + 350)], quantity.short(step))
        }
        let isOneMonth = Set(days.map { $0.prefix(7) }).count == 1
        let apart = [1, 2, 5, 10, 15, 20, 30].first { days.count / $0 < (isOneMonth ? 8 : 6) } ?? days.count
        for place in stride(from: 0, to: days.count, by: apart) {
            let label = isOneMonth ? days[place].suffix(2).drop { $0 == "0" } : days[place].suffix(5)
            svg.element(
                "text", ["class": "day", "x": text(middle(place)), "y": "\(DayChart.height - 7)"], String(label))
        }
    }

    private var scale: Scale {
        let values = series.flatMap(\.values)
        return Scale(
            least: min(0, values.min() ?? 0), most: max(0, values.max() ?? 0), top: DayChart.top * 100,
            height: (DayChart.height - DayChart.top - DayChart.bottom) * 100)
    }

    /// The middle of a day's place, in hundredths.
    private func middle(_ place: Int) -> Int {
        DayChart.left * 100 + (2 * place + 1) * dayWidth / 2
    }

    private var dayWidth: Int { (DayChart.width - DayChart.left - DayChart.right) * 100 / max(1, days.count) }

    // MARK: Figures

    private func bars(_ series: Series, _ colour: String, _ svg: inout HTML) {
        let scale = scale
        let place = self.series.firstIndex { $0.name == series.name } ?? 0
        let width = min(1_400, dayWidth * 8 / 10 / self.series.count)
        for (day, value) in series.values.enumerated() where value != 0 {
            let x = middle(day) - width * self.series.count / 2 + width * place
            let (top, bottom) = (scale.y(max(0, value)), scale.y(min(0, value)))
            svg.empty(
                "rect",
                [
                    // What is too little to be seen is a line.
                    "class": colour, "x": text(x), "y": text(min(top, bottom - 50)), "width": text(width),
                    "height": text(max(50, bottom - top)),
                ])
        }
    }

    private func line(_ series: Series, _ colour: String, _ svg: inout HTML) {
        let scale = scale
        let points = series.values.enumerated().map { (x: text(middle($0)), y: text(scale.y($1))) }
        guard let last = points.last else { return }
        svg.empty(
            "polyline",
            ["class": "line \(colour)", "points": points.map { "\($0.x),\($0.y)" }.joined(separator: " ")])
        svg.empty("circle", ["class": colour, "cx": last.x, "cy": last.y, "r": "3"])
    }

    /// Says a day's figures to who points at it.
    private func told(_ place: Int, _ svg: inout HTML) {
        let height = DayChart.height - DayChart.top - DayChart.bottom
        svg.element(
            "rect",
            [
                "class": "told", "x": text(middle(place) - dayWidth / 2), "y": "\(DayChart.top)",
                "width": text(dayWidth), "height": "\(height)",
            ]
        ) { rect in
            let figures = series.map { "\($0.name) \(quantity.text($0.values[place]))" }.joined(separator: ", ")
            rect.element("title", "\(days[place]): \(figures)")
        }
    }

    private func text(_ hundredths: Int) -> String {
        let (whole, part) = (abs(hundredths) / 100, abs(hundredths) % 100)
        return (hundredths < 0 ? "-" : "") + "\(whole)" + (part == 0 ? "" : part < 10 ? ".0\(part)" : ".\(part)")
    }
}

/// Where values stand on an axis from one round number to another, among which is zero.
private struct Scale {
    /// Round numbers, from the least to the greatest.
    let steps: [Int128]
    private let top: Int
    private let height: Int

    /// - Parameters:
    ///   - least: not above zero.
    ///   - most: not below zero.
    ///   - top: of the drawing, in whatever measure.
    init(least: Int128, most: Int128, top: Int, height: Int) {
        self.top = top
        self.height = height
        // 1, 2 or 5 and zeros: the least of them of which at most four are enough.
        var step: Int128 = 1
        var factors = [2, 5, 10].makeIterator()
        var unit: Int128 = 1
        while most / step - least / step >= 4 {
            if let factor = factors.next() {
                step = unit * Int128(factor)
            } else {
                unit = step
                factors = [2, 5, 10].makeIterator()
            }
        }
        let first = -((-least + step - 1) / step)
        let last = max((most + step - 1) / step, first + 1)
        steps = (first...last).map { $0 * step }
    }

    func y(_ value: Int128) -> Int {
        let (least, most) = (steps[0], steps[steps.count - 1])
        return top + Int((most - value) * Int128(height) / (most - least))
    }
}
