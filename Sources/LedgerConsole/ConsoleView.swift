import LedgerTypes
package import LedgerWire

/// Who reads a page.
package struct ConsoleVisitor: Hashable, Sendable {
    /// The name of their token; `nil` where nobody needs one.
    package var name: String?
    package var roles: [Role]
    /// Whether they have signed in, and can sign out.
    package var hasSession: Bool

    package init(name: String?, roles: [Role], hasSession: Bool) {
        self.name = name
        self.roles = roles
        self.hasSession = hasSession
    }

    /// Whether the protocol has answers of a method for them: the page leaves out what they would be refused.
    func may(_ method: Method) -> Bool {
        method.isAllowed(to: roles.reduce(into: Roles(rawValue: 0)) { $0.insert(Roles($1)) })
    }
}

/// What becomes of a page when the ledger has answered.
package enum ConsoleOutcome: Sendable {
    case page(ConsoleDocument)
    /// More is asked, of what the answers tell.
    case more([ConsoleQuery])
    /// What was looked for is at this address.
    case found(String)
    /// The token of the session is not known any more.
    case signedOut
}

/// A page as it is sent.
package struct ConsoleDocument: Sendable {
    /// Of HTTP.
    package var status: UInt
    package var bytes: [UInt8]
}

/// A page that is being made: what it asks, and what it shows of the answers. Nothing here waits or has a state: the
/// same answers make the same page.
package struct ConsoleView: Sendable {
    package let call: ConsoleCall
    package let visitor: ConsoleVisitor

    package init(_ call: ConsoleCall, for visitor: ConsoleVisitor) {
        self.call = call
        self.visitor = visitor
    }

    /// What is asked first. What is said of the ledgers is always the first of it.
    package var queries: [ConsoleQuery] {
        var own: [LedgerRequest]
        switch call.page {
        case .home: own = []
        case .find(let text): own = FindPage.queries(text)
        case .statement(let account, let currency, let before, let limit):
            own = [
                .find(.account(account)), .balance(BalanceQuery(account: account)),
                .history(HistoryQuery(account: account, currency: currency, limit: limit, before: before)),
            ]
            // Earlier pages are of the past; this is of now.
            if before == nil {
                let query = OpenItemsQuery(account: account, limit: ConsoleCall.openItemsMax)
                own += [.lots(query), .holds(query)]
            }
        case .purchase(let transaction, let before):
            own = [
                .purchase(PurchaseQuery(transaction: transaction, limit: ConsoleCall.eventsMax, before: before)),
                .find(.transaction(transaction)),
            ]
        case .request(let key): own = [.find(.key(key))]
        case .entry(let entry): own = [.journal(JournalQuery(after: entry - 1, limit: 1))]
        // It tells the ledger's own time too.
        case .circulation: own = [.report(ReportRequest(kind: .trial))]
        case .consumption(let after, let asOf):
            own = [
                .report(
                    ReportRequest(
                        kind: .consumptionRequests, asOf: asOf, limit: ConsoleCall.eventsMax, after: after))
            ]
        }
        return [.info] + own.map { .ledger($0) }
    }

    /// - Parameter answers: to ``queries``, and then to what each outcome before has asked.
    package func outcome(_ answers: [ConsoleAnswers]) -> ConsoleOutcome {
        guard let first = answers.first else { return .more(queries) }
        let info: ServerInfo
        switch first.value(ServerInfo.self, at: 0) {
        case .success(let told): info = told
        case .failure(let error): return refused(error, nil)
        }
        let layout = ConsoleLayout(call: call, visitor: visitor, info: info)
        if !layout.isChosen { return .page(layout.choice()) }
        switch call.page {
        case .home: return .page(HomePage(layout: layout).document)
        case .find(let text): return FindPage(layout: layout, text: text).outcome(first)
        case .statement: return StatementPage(layout: layout).outcome(answers)
        case .purchase: return PurchasePage(layout: layout).outcome(first)
        case .request(let key): return RequestPage(layout: layout, key: key).outcome(first)
        case .entry(let entry): return EntryPage(layout: layout, entry: entry).outcome(first)
        case .circulation(let month): return CirculationPage(layout: layout, asked: month).outcome(answers)
        case .consumption: return ConsumptionPage(layout: layout).outcome(first)
        }
    }

    private func refused(_ error: WireError, _ info: ServerInfo?) -> ConsoleOutcome {
        ConsoleLayout(call: call, visitor: visitor, info: info).refused(error)
    }
}
