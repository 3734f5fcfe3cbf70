import LedgerPages
import LedgerTypes
import LedgerWire

/// What Apple asks about purchases before it decides on a refund, and nobody has answered.
struct ConsumptionPage {
    let layout: ConsoleLayout

    func outcome(_ answers: ConsoleAnswers) -> ConsoleOutcome {
        switch answers.value(ReportPage.self, at: 1) {
        case .failure(let error): layout.refused(error)
        case .success(let report): .page(document(report))
        }
    }

    private func document(_ report: ReportPage) -> ConsoleDocument {
        let requests = report.rows.compactMap { row in
            if case .consumptionRequest(let request) = row { request } else { nil }
        }
        return layout.document("Apple\u{2019}s questions") { page in
            page.element(
                "p",
                "A customer asked Apple for a refund, and Apple asks how much was consumed. It takes an answer for "
                    + "twelve hours. Those that are open on \(ConsoleWords.time(report.asOf)), the most urgent first:")
            if requests.isEmpty {
                page.element("p", ["class": "notice good", "role": "status"], "There is none.")
            } else {
                FigureTable(
                    caption: "Open questions",
                    columns: [
                        "Answer until", "Left", "Transaction", "Product", "Player", "Reason", "Consent", "Last answer",
                    ],
                    rows: requests.map { row($0, at: report.asOf) }
                ).write(to: &page)
            }
            let later = report.next.map { ("Later ones", ConsolePage.consumption(after: $0, asOf: report.asOf)) }
            layout.paging("Pages of the questions", later.map { [$0] } ?? [], &page)
        }
    }

    private func row(_ request: ReportRow.ConsumptionRequest, at time: Timestamp) -> FigureTable.Row {
        let minutes = max(0, request.deadline - time) / 60_000
        let purchase = layout.address(.purchase(request.transaction, before: nil))
        var player = FigureTable.Cell.text("nobody yet")
        if let account = request.account {
            let statement = ConsolePage.statement(
                account, currency: nil, before: nil, limit: ConsoleCall.entriesDefault)
            player =
                account.isErased
                ? .text(ConsoleWords.name(account)) : .link(account.text, to: layout.address(statement))
        }
        return FigureTable.Row(
            header: .text(ConsoleWords.time(request.deadline)),
            cells: [
                .text("\(minutes / 60) h \(minutes % 60) min"), .link(request.transaction.description, to: purchase),
                .name(request.product), player, .name(request.reason ?? "\u{2013}"),
                .text(ConsumptionPage.consent(request.consent)),
                .text(request.code.map { "refused, code \($0)" } ?? "none"),
            ])
    }

    private static func consent(_ consent: ReportRow.ConsumptionRequest.Consent) -> String {
        switch consent {
        case .given: "given"
        case .withdrawn: "withdrawn"
        case .unknown: "none"
        }
    }
}
