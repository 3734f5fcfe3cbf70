import AppStore
import AppStoreServer
import Ledger
import LedgerEngine
import Logging

/// Tells Apple of a ledger's purchases what it asks, and what it can be told: how much was consumed, where the player
/// has consented; that a purchase is in the books; and whose it is, where the app did not say.
///
/// What there is to tell is read from the ledger each time, and how a call ended is recorded there. So nothing is lost
/// with the process, and what was recorded is not told again; a call whose end was not recorded any more is made again,
/// which changes nothing at Apple's. While the ledger cannot be written, what ended is kept, and Apple is told nothing.
struct Correspondence {
    let client: AppStoreServerClient
    let caller: LedgerCaller
    let settings: AppStoreSettings
    /// How long an answer about consumption waits, in milliseconds: players go on spending.
    let consumptionDelay: @Sendable () -> Int64
    /// Whether the ledger may be written to: a standby's leader does all this.
    let leads: @Sendable () -> Bool
    let logger: Logger

    /// Milliseconds for which Apple is told of what the ledger recorded.
    private static let tellingMilliseconds: Int64 = 7 * 86_400_000

    /// How calls ended that could not be recorded yet, of all kinds.
    let unrecorded = Unrecorded()

    /// Goes on until its task is cancelled. What cannot be told of one kind keeps no other waiting.
    func run() async {
        await withTaskGroup { tasks in
            if settings.sendsConsumption {
                tasks.addTask { await repeating(Questions()) { questions in try await answer(&questions) } }
            }
            if settings.finishes {
                tasks.addTask {
                    await repeating(Backlog()) { backlog in try await work(off: &backlog, purchases, isOpen, finish) }
                }
                tasks.addTask {
                    await repeating(Backlog()) { backlog in
                        try await work(off: &backlog, assignments, lacksFinish, finish)
                    }
                }
            }
            if settings.setsAccountTokens {
                tasks.addTask {
                    await repeating(Backlog()) { backlog in
                        try await work(off: &backlog, assignments, lacksToken, tellToken)
                    }
                }
            }
        }
    }

    /// Looks at the ledger again and again, and less often while Apple cannot be told of anything.
    /// - Parameters:
    ///   - first: where the first look begins, and each that follows a time in which the ledger did not lead.
    ///   - look: says whether Apple answered anything; throws where Apple is taken to be unreachable, or takes no more
    ///     calls, and where the ledger fails.
    private func repeating<Progress: CorrespondenceProgress>(
        _ first: Progress, _ look: (inout Progress) async throws -> Bool
    ) async {
        var progress = first
        var course = Course()
        var saidWaiting = 0
        while !Task.isCancelled {
            if leads() {
                do {
                    try await recordWhatEnded()
                    let hasAnswered = try await look(&progress)
                    say(course.note(.told(hasAnswered: hasAnswered)))
                } catch {
                    if Task.isCancelled { return }
                    switch error {
                    case let limit as Reach.Limited:
                        say(course.note(.limited(until: limit.until, hasAnswered: limit.hasAnswered)))
                    case let fault as Fault: say(course.note(.ledgerFailed), fault)
                    case let end as Reach.Unreachable:
                        say(course.note(.unreachable(hasAnswered: end.hasAnswered)), end.reason)
                    default: say(course.note(.unreachable(hasAnswered: false)), error)
                    }
                }
                say(progress.attempts, &saidWaiting)
            } else {
                (progress, course, saidWaiting) = (first, Course(), 0)
                unrecorded.forgetAll()
            }
            let wait = course.wait(deadline: progress.deadline, at: Clock.now())
            try? await Task.sleep(for: .milliseconds(wait))
        }
    }

    /// - Parameter error: why the look ended as it did, where it failed.
    private func say(_ news: [Course.News], _ error: (any Error)? = nil) {
        let why: Logger.Metadata = error.map { ["error": "\($0)"] } ?? [:]
        for one in news {
            switch one {
            case .unreachable: logger.warning("Apple cannot be told of purchases; it is tried again", metadata: why)
            case .reachable: logger.notice("Apple can be told of purchases again")
            case .ledgerFailed:
                logger.warning(
                    "Apple is told of no purchase while the ledger cannot be read and written; it is tried again",
                    metadata: why)
            case .ledgerWorks: logger.notice("the ledger can be read and written again, and Apple is told of purchases")
            }
        }
    }

    private func say(_ attempts: Attempts, _ said: inout Int) {
        guard let count = attempts.news(since: said) else { return }
        said = count
        if count == 0 {
            logger.notice("no purchase waits any more for Apple to be told of it")
        } else {
            logger.warning(
                "Apple cannot be told of some purchases; it is tried again, ever less often",
                metadata: ["waiting": "\(count)", "reason": "\(attempts.reason ?? "")"])
        }
    }

    // MARK: Looks

    static func earliest() -> Timestamp { Clock.now() - tellingMilliseconds }

    /// Answers the questions that may still be answered: first those that do not wait, then those that have waited.
    /// - Returns: whether Apple answered anything.
    private func answer(_ questions: inout Questions) async throws -> Bool {
        let begin = Clock.now()
        questions.begin()
        var reach = Reach()
        var failure: (any Error)?
        var (page, limit): ([AppStoreWork.ConsumptionRequest], Int)
        repeat {
            // As few as are answered at the same time, so that a consent is read just before it is used. Where the look
            // has failed, the rest is read for its deadlines alone.
            limit = failure == nil ? reach.groupMax : Limits.appStoreWorkMax
            page = try await requests(after: questions.after, limit: limit)
            let now = Clock.now()
            let asked = failure == nil ? page.filter { !questions.isWaiting($0, at: now) } : []
            do {
                try await answer(asked, of: page, &questions, &reach)
            } catch {
                try Task.checkCancellation()
                failure = error
            }
        } while page.count == limit
        if let failure { throw failure }
        var due = questions.due(at: begin)[...]
        while !due.isEmpty {
            let group = due.prefix(reach.groupMax)
            due = due.dropFirst(group.count)
            var rows: [AppStoreWork.ConsumptionRequest] = []
            for number in group {
                let row = try await requests(after: number - 1, limit: 1).first
                if let row, row.number == number { rows.append(row) } else { questions.forget(number) }
            }
            try await answer(rows, of: rows, &questions, &reach)
        }
        try reach.end()
        return reach.hasAnswered
    }

    /// Answers some questions of a page, and notes what became of all.
    private func answer(
        _ asked: [AppStoreWork.ConsumptionRequest], of page: [AppStoreWork.ConsumptionRequest],
        _ questions: inout Questions, _ reach: inout Reach
    ) async throws {
        let results = await results(asked) { try await answer($0) }
        try Task.checkCancellation()
        let ends = Dictionary(uniqueKeysWithValues: zip(asked.map(\.number), results))
        for question in page {
            switch ends[question.number] {
            case .success(.told), .success(.settled): questions.settle(question)
            case nil where question.isSettled: questions.settle(question)
            case .success(.open), nil: questions.leave(question)
            case .failure(let error) where Reach.End.isLimited(error): questions.leave(question)
            case .failure(let error):
                questions.fail(question, "\(error)", at: Clock.now(), until: Reach.End.retryAfter(error)) {
                    Int64.random(in: 0...$0)
                }
            }
        }
        try note(results, &reach)
    }

    /// Notes how the calls for a group of rows ended.
    /// - Throws: where the look ends with them: first of all the ledger's own fault.
    private func note(_ results: [Result<Told, any Error>], _ reach: inout Reach) throws {
        for case .failure(let fault as Fault) in results { throw fault }
        try reach.note(results.compactMap { Reach.End($0) })
    }

    /// Tells Apple of all rows of an order that it was not told of: first of those that are new, then of those that
    /// have waited.
    /// - Parameters:
    ///   - read: a page of at most so many of them after a number; a page that is not full is the last.
    ///   - isOpen: whether there is anything to tell of a row.
    /// - Returns: whether Apple answered anything.
    private func work<Row: AppStoreWorkRow>(
        off backlog: inout Backlog, _ read: (_ after: Int64, _ limit: Int) async throws -> [Row],
        _ isOpen: (Row) -> Bool, _ tell: @escaping @Sendable (Row) async throws -> Void
    ) async throws -> Bool {
        let begin = Clock.now()
        backlog.begin(at: begin, earliest: Correspondence.earliest())
        var reach = Reach()
        var page: [Row]
        repeat {
            page = try await read(backlog.place, Limits.appStoreWorkMax)
            var rows = page.filter { isOpen($0) && !backlog.isWaiting($0.number) }[...]
            while !rows.isEmpty {
                let group = rows.prefix(reach.groupMax)
                rows = rows.dropFirst(group.count)
                try await self.tell(group, &backlog, &reach, tell)
            }
            if let last = page.last { backlog.pass(last.number) }
        } while page.count == Limits.appStoreWorkMax
        var due = backlog.due(at: begin)[...]
        while !due.isEmpty {
            let group = due.prefix(reach.groupMax)
            due = due.dropFirst(group.count)
            var rows: [Row] = []
            for waiting in group {
                // As it is now: it may have been told.
                let row = try await read(waiting.number - 1, 1).first
                if let row, row.number == waiting.number, isOpen(row) {
                    rows.append(row)
                } else {
                    backlog.settle(waiting)
                }
            }
            try await self.tell(rows[...], &backlog, &reach, tell)
        }
        try reach.end()
        return reach.hasAnswered
    }

    private func tell<Row: AppStoreWorkRow>(
        _ rows: ArraySlice<Row>, _ backlog: inout Backlog, _ reach: inout Reach,
        _ tell: @escaping @Sendable (Row) async throws -> Void
    ) async throws {
        let results = await results(Array(rows)) { row in
            try await tell(row)
            return Told.told
        }
        try Task.checkCancellation()
        for (row, result) in zip(rows, results) {
            let waiting = Backlog.Row(number: row.number, time: row.time)
            switch result {
            case .success: backlog.settle(waiting)
            case .failure(let error) where Reach.End.isLimited(error): backlog.keep(waiting)
            case .failure(let error):
                backlog.fail(waiting, "\(error)", at: Clock.now(), until: Reach.End.retryAfter(error)) {
                    Int64.random(in: 0...$0)
                }
            }
        }
        if let last = rows.last { backlog.pass(last.number) }
        try note(results, &reach)
    }

    /// Does something for each row, for all at once.
    private func results<Row: Sendable>(
        _ rows: [Row], _ work: @escaping @Sendable (Row) async throws -> Told
    ) async -> [Result<Told, any Error>] {
        await withTaskGroup(of: (Int, Result<Told, any Error>).self) { tasks in
            for (place, row) in rows.enumerated() {
                tasks.addTask {
                    do { return (place, .success(try await work(row))) } catch { return (place, .failure(error)) }
                }
            }
            return await tasks.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }
}

/// Where one kind of looks at the ledger is.
protocol CorrespondenceProgress {
    /// What failed, and waits.
    var attempts: Attempts { get }
    /// After which the first of what is open cannot be told any more; `nil` where nothing has such a time.
    var deadline: Timestamp? { get }
}

extension Questions: CorrespondenceProgress {}

extension Backlog: CorrespondenceProgress {
    var deadline: Timestamp? { nil }
}

/// A row of an order of which Apple is told.
protocol AppStoreWorkRow: Sendable {
    var number: Int64 { get }
    /// When the ledger recorded it.
    var time: Timestamp { get }
}

extension AppStoreWork.Purchase: AppStoreWorkRow {}
extension AppStoreWork.Assignment: AppStoreWorkRow {}

extension AppStoreWork.ConsumptionRequest {
    /// Whether it needs no answer any more.
    var isSettled: Bool { isEnded || refusalCode != nil }
}

extension Reach.End {
    /// - Returns: `nil` where no call was made.
    init?(_ result: Result<Correspondence.Told, any Error>) {
        switch result {
        case .success(.told): self = .answered
        case .success(.settled), .success(.open): return nil
        case .failure(AppStoreServerError.refused(let refusal)) where refusal.isOfOnePurchase:
            self = .refused(AppStoreServerError.refused(refusal))
        case .failure(AppStoreServerError.refused(let refusal)) where refusal.isOfTheRate:
            self = .limited(until: refusal.retryAfter)
        case .failure(AppStoreServerError.refused(let refusal)) where refusal.status >= 500:
            self = .serverFailed(AppStoreServerError.refused(refusal))
        case .failure(let error): self = .failed(error)
        }
    }

    static func isLimited(_ error: any Error) -> Bool {
        if case AppStoreServerError.refused(let refusal) = error { refusal.isOfTheRate } else { false }
    }

    /// When Apple asks to be told again; `nil` where it does not say.
    static func retryAfter(_ error: any Error) -> Timestamp? {
        if case AppStoreServerError.refused(let refusal) = error { refusal.retryAfter } else { nil }
    }
}
