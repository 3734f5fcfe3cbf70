import LedgerEngine
import NIOCore

/// Looks after what a connection has not done in time: authenticated, said or taken anything, given back memory for
/// which others wait, or ceased to ask for changes where they are refused.
///
/// Everything here is touched only on the channel's event loop.
final class ConnectionTimeouts {
    /// What a connection is, and what it waits for.
    struct Standing {
        /// Whether it has still to authenticate.
        let isStranger: Bool
        /// Whether an answer is still to come, and would be read.
        let awaitsAnswers: Bool
        /// Bytes of replies that its client has not read.
        let unreadBytes: Int
    }

    /// What the client keeps of the memory, and it alone can give back; where it has done so meanwhile and keeps some
    /// again, that differs.
    typealias Kept = (unreadReplies: Int?, unfinishedLine: Int?)

    private let limits: ServerLimits
    private let idleMilliseconds: Int64
    private let memory: ReplyMemory
    private let eventLoop: any EventLoop
    /// When something last came, or was taken.
    private var lastProgress: NIODeadline
    private var timer: Scheduled<Void>?
    /// What the client had not read when the connection would have counted as idle otherwise.
    private var unreadBytes: Int?
    /// Whether a time was set for the client to give back memory that it keeps.
    private var isKeepingTimed = false
    /// Whether a time was set for changes not to be refused any more.
    private var areRefusalsTimed = false
    private var standing: () -> Standing? = { nil }
    private var kept: () -> Kept = { (nil, nil) }
    private var refusesChanges: () -> Bool = { false }
    private var endRefusingStretch: () -> Bool = { false }
    private var overdue: (ConnectionEnd) -> Void = { _ in }

    /// - Parameter isHTTP: whether its client speaks HTTP.
    init(_ limits: ServerLimits, memory: ReplyMemory, isHTTP: Bool, eventLoop: any EventLoop) {
        self.limits = limits
        self.memory = memory
        self.eventLoop = eventLoop
        lastProgress = eventLoop.now
        idleMilliseconds = isHTTP ? limits.keptAliveMilliseconds : limits.idleMilliseconds
    }

    /// Looks after a connection from now on.
    /// - Parameters:
    ///   - isStranger: whether it has to authenticate.
    ///   - standing: how it is; `nil` where it has ended.
    ///   - kept: what its client keeps.
    ///   - refusesChanges: whether changes are refused because one before them was (``ChangeRefusals``).
    ///   - endRefusingStretch: whether new ones went on to come (``ChangeRefusals/endStretch()``).
    ///   - overdue: told why the connection is to end.
    func begin(
        isStranger: Bool, standing: @escaping () -> Standing?, kept: @escaping () -> Kept,
        refusesChanges: @escaping () -> Bool, endRefusingStretch: @escaping () -> Bool,
        overdue: @escaping (ConnectionEnd) -> Void
    ) {
        self.standing = standing
        self.kept = kept
        self.refusesChanges = refusesChanges
        self.endRefusingStretch = endRefusingStretch
        self.overdue = overdue
        look(in: isStranger ? limits.unauthenticatedMilliseconds : idleMilliseconds)
    }

    /// Something came, or was taken.
    func noteProgress() { lastProgress = eventLoop.now }

    /// Nobody knows any more who the client is: it has a stranger's time to authenticate.
    func beginAnew() {
        timer?.cancel()
        look(in: limits.unauthenticatedMilliseconds)
    }

    /// The connection has ended.
    func end() {
        timer?.cancel()
        timer = nil
    }

    private func look(in milliseconds: Int64) {
        timer = eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(milliseconds)) { self.look() }
    }

    private func look() {
        guard let standing = standing() else { return }
        if standing.isStranger { return overdue(.neverAuthenticated) }
        // Answers that the client does not read are no reason to wait for it.
        let since = standing.awaitsAnswers ? eventLoop.now : lastProgress
        let left = since + .milliseconds(idleMilliseconds) - eventLoop.now
        if left > .nanoseconds(0) {
            unreadBytes = nil
            return look(in: left.nanoseconds / 1_000_000 + 1)
        }
        // Who reads a long reply over a slow line is not idle.
        if standing.unreadBytes > 0, standing.unreadBytes < unreadBytes ?? .max {
            unreadBytes = standing.unreadBytes
            return look(in: idleMilliseconds)
        }
        overdue(.idle)
    }

    /// Sets the client a time to give back what it keeps. Called when that may have changed.
    func watchMemory() {
        let before = kept()
        if isKeepingTimed || before == (nil, nil) { return }
        isKeepingTimed = true
        eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(limits.keptMillisecondsMax)) { [weak self] in
            guard let self else { return }
            isKeepingTimed = false
            guard standing() != nil else { return }
            if memory.isShort, let kind = keptSince(before) { return overdue(.keepsMemory(kind)) }
            watchMemory()
        }
    }

    /// Sets a connection whose changes are refused a time to send no more of them. Called when that may have changed.
    func watchRefusals() {
        if areRefusalsTimed || !refusesChanges() { return }
        areRefusalsTimed = true
        eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(limits.refusingMillisecondsMax)) { [weak self] in
            guard let self, standing() != nil else { return }
            if refusesChanges() && endRefusingStretch() { return overdue(.changesRefused) }
            areRefusalsTimed = false
            watchRefusals()
        }
    }

    private func keptSince(_ before: Kept) -> NoticeKind? {
        let now = kept()
        if let unread = now.unreadReplies, unread == before.unreadReplies { return .repliesUnread }
        if let line = now.unfinishedLine, line == before.unfinishedLine { return .lineUnfinished }
        return nil
    }
}
