public import AppStore

/// Fetches the notifications that a webhook missed: reads Apple's notification history, and hands all of it over, in
/// its order. Whoever takes a notification knows by its `notificationUUID` whether it is new.
///
/// It goes on from a time, its ``position``. Apple may list a notification after a later one, so each run reads the
/// last hour before it again (``AppStoreServerLimits/historyOverlapMilliseconds``). What cannot be taken now is handed
/// over again in the next run; until then the position stays before it.
public actor HistoryCatchUp {
    /// What became of a notification that was handed over.
    public enum Delivery: Hashable, Sendable {
        /// It is recorded now.
        case new
        /// It was recorded before.
        case known
        /// It will never be taken, and why.
        case refused(String)
        /// It cannot be taken now, and why.
        case postponed(String)
    }

    /// What a run did so far.
    public struct Progress: Hashable, Sendable {
        /// Everything before this time was read, in milliseconds since the UNIX epoch.
        public internal(set) var readThrough: Int64
        /// Notifications that were not known before.
        public internal(set) var new = 0
        /// Notifications that were recorded before.
        public internal(set) var known = 0
        /// Notifications that will never be taken.
        public internal(set) var refused = 0
        /// Notifications that wait for the next run; 1,000 at most, also where more do.
        public internal(set) var postponed = 0
        /// Why the last one that was refused was.
        public internal(set) var refusalReason: String?
        /// What the first one that waits is waiting for.
        public internal(set) var postponementReason: String?
    }

    private struct Postponed {
        /// The part of the history that has it.
        var part: Range<Int64>
        var signedPayload: String
        var reason: String
    }

    private let client: AppStoreServerClient
    private let environment: Environment
    private let pagesMax: Int
    private let deliver: @Sendable (_ signedPayloads: [String]) async throws -> [Delivery]
    private var readThrough: Int64
    private var postponed: [Postponed] = []
    /// Parts of the history that have some which wait and are not kept here, for too many do: first the one that is
    /// read again next.
    private var unkept: [Range<Int64>] = []
    private var isRunning = false

    /// - Parameters:
    ///   - environment: the one that the client asks. Apple has the last 180 days of it, of the sandbox 30.
    ///   - position: the ``position`` of an earlier run, or the beginning, in milliseconds since the UNIX epoch. What
    ///     Apple does not have any more is passed over, and an hour behind that, because Apple refuses to be asked for
    ///     it.
    ///   - deliver: hands over a page of notifications, at most 20, which are not verified yet, and says of each what
    ///     became of it. What it throws ends the run; the page is handed over again in the next.
    public init(
        client: AppStoreServerClient, environment: Environment, position: Int64,
        deliver: @escaping @Sendable (_ signedPayloads: [String]) async throws -> [Delivery]
    ) {
        self.init(
            client: client, environment: environment, position: position,
            pagesMax: AppStoreServerLimits.historyPagesMax, deliver: deliver)
    }

    /// - Parameter pagesMax: pages that a part of the history may have.
    init(
        client: AppStoreServerClient, environment: Environment, position: Int64, pagesMax: Int,
        deliver: @escaping @Sendable (_ signedPayloads: [String]) async throws -> [Delivery]
    ) {
        self.pagesMax = pagesMax
        self.client = client
        self.environment = environment
        self.deliver = deliver
        readThrough = position
    }

    /// Everything before this time was handed over, and taken or refused for ever: where another process may go on.
    public var position: Int64 {
        (postponed.map(\.part) + unkept).reduce(readThrough) { min($0, $1.lowerBound) }
    }

    /// Hands over what was sent until `now`, a day at a time. A run ends before the next begins.
    /// - Parameters:
    ///   - now: in milliseconds since the UNIX epoch.
    ///   - progress: called after each day of the history, with the ``position`` then.
    /// - Throws: ``AppStoreServerError``, `CancellationError`, and what `deliver` and `progress` throw. What was handed
    ///   over by then is done.
    public func catchUp(
        to now: Int64, progress: @Sendable (Progress, _ position: Int64) async throws -> Void = { _, _ in }
    ) async throws -> Progress {
        precondition(!isRunning, "a run ends before the next begins")
        isRunning = true
        defer { isRunning = false }
        var run = Progress(readThrough: readThrough)
        try await deliverAgain(&run)
        let earliest = max(
            0,
            now - AppStoreServerLimits.historyMilliseconds(environment)
                + AppStoreServerLimits.historyMarginMilliseconds)
        giveUp(before: earliest, &run)
        try await readUnkept(&run)
        readThrough = max(readThrough, earliest)
        var start = max(earliest, readThrough - AppStoreServerLimits.historyOverlapMilliseconds)
        repeat {
            let end = min(now, readThrough + AppStoreServerLimits.historyPartMilliseconds)
            if start < end { try await read(start..<end, &run) }
            run.postponed = postponed.count
            run.postponementReason = postponed.first?.reason
            readThrough = max(readThrough, end)
            start = readThrough
            run.readThrough = readThrough
            try await progress(run, position)
        } while readThrough < now
        return run
    }

    private func deliverAgain(_ run: inout Progress) async throws {
        let before = postponed
        for start in stride(from: 0, to: before.count, by: AppStoreServerLimits.historyPageMax) {
            let page = before[start..<min(before.count, start + AppStoreServerLimits.historyPageMax)]
            let deliveries = try await deliver(page.map(\.signedPayload))
            precondition(deliveries.count == page.count, "each notification has its own answer")
            for (one, delivery) in zip(page, deliveries) where note(delivery, &run) == nil {
                postponed.removeAll { $0.signedPayload == one.signedPayload }
            }
        }
    }

    /// What Apple does not have any more, nobody else would find: it holds up nothing.
    private func giveUp(before earliest: Int64, _ run: inout Progress) {
        for one in postponed where one.part.upperBound <= earliest {
            run.refused += 1
            run.refusalReason = "it waited until Apple's history had it no more: \(one.reason)"
        }
        postponed.removeAll { $0.part.upperBound <= earliest }
        unkept = unkept.compactMap { part in
            part.upperBound <= earliest ? nil : max(part.lowerBound, earliest)..<part.upperBound
        }
    }

    /// Reads parts again that have some which are not kept: all where there is room for them, and else the next one,
    /// so that each has its turn, however long those that are kept wait.
    private func readUnkept(_ run: inout Progress) async throws {
        let hasRoom = postponed.count <= AppStoreServerLimits.postponedMax / 2
        for _ in 0..<(hasRoom ? unkept.count : min(1, unkept.count)) {
            let part = unkept.removeFirst()
            // Whatever else is there was counted when it was read first.
            var again = Progress(readThrough: run.readThrough)
            do {
                try await read(part, &again)
            } catch {
                unkept.insert(part, at: 0)
                throw error
            }
            run.new += again.new
        }
    }

    private func leaveUnkept(_ part: Range<Int64>) {
        func whole(_ other: Range<Int64>) -> Range<Int64> {
            min(other.lowerBound, part.lowerBound)..<max(other.upperBound, part.upperBound)
        }
        // What adjoins or overlaps is one part, where that is not longer than one is read at once.
        let place = unkept.firstIndex { other in
            other.lowerBound <= part.upperBound && part.lowerBound <= other.upperBound
                && whole(other).count <= max(other.count, Int(AppStoreServerLimits.historyPartMilliseconds))
        }
        if let place { unkept[place] = whole(unkept[place]) } else { unkept.append(part) }
    }

    private func read(_ part: Range<Int64>, _ run: inout Progress) async throws {
        let (start, end) = (part.lowerBound, part.upperBound)
        var pages = 0
        for try await page in client.notificationHistory(NotificationHistoryQuery(startDate: start, endDate: end)) {
            pages += 1
            if pages > pagesMax {
                throw AppStoreServerError.unreadableReply("the history has more pages than a day can have")
            }
            if pages > AppStoreServerLimits.historyPagesAtOnce {
                try await Task.sleep(for: .milliseconds(AppStoreServerLimits.historyPageMilliseconds))
            }
            // Postponed ones were handed over a moment ago.
            let fresh = page.notifications.map(\.signedPayload).filter { payload in
                !postponed.contains { $0.signedPayload == payload }
            }
            if fresh.isEmpty { continue }
            let deliveries = try await deliver(fresh)
            precondition(deliveries.count == fresh.count, "each notification has its own answer")
            for (payload, delivery) in zip(fresh, deliveries) {
                guard let reason = note(delivery, &run) else { continue }
                if postponed.count < AppStoreServerLimits.postponedMax {
                    postponed.append(Postponed(part: part, signedPayload: payload, reason: reason))
                } else {
                    leaveUnkept(part)
                }
            }
        }
    }

    /// Counts what became of one.
    /// - Returns: what it waits for; `nil` where it is done with.
    private func note(_ delivery: Delivery, _ run: inout Progress) -> String? {
        switch delivery {
        case .new: run.new += 1
        case .known: run.known += 1
        case .refused(let reason):
            run.refused += 1
            run.refusalReason = reason
        case .postponed(let reason): return reason
        }
        return nil
    }
}
