import FileLog
import Foundation
import Ledger
import SQLiteProjection

/// The tables of a ledger's folder, and the log beside them, which says whether they have all of a time.
///
/// Tables may be behind their log: by a second or two while a service is busy, and by more where it was killed. A
/// report up to a time is read from them only where nothing of that time can be missing.
final class FolderReports {
    let reports: SQLiteReports
    /// What the tables held when they were last asked.
    private(set) var state: ProjectedState
    private let folder: LedgerFolder
    /// As of when a report was that was asked for without a time: further ones of that time are of the same state.
    private var ownTime: Timestamp?
    /// All that the log had when it was asked last is in the tables, and that was for a report up to this time.
    private var provenThrough: Timestamp?

    /// - Throws: ``Failure``, `LogError`, `ProjectionOpeningError` or `StoreError` where no reports can be read there.
    init(_ folder: LedgerFolder) throws {
        self.folder = folder
        let hasTables = FileManager.default.fileExists(atPath: folder.projection)
        if hasTables, !FileManager.default.fileExists(atPath: folder.log) {
            throw Failure(
                """
                \(folder.path) has tables and no log, as a node's folder has: whether they are complete nobody can \
                say there. Ask the service (--server)
                """)
        }
        try folder.check()
        reports = try SQLiteReports(path: folder.projection)
        state = try reports.state()
    }

    /// As of when a report is that was asked for without a time: of what the tables have.
    func now() -> Timestamp {
        ownTime = state.time
        return state.time
    }

    /// Makes sure that the tables have all that the log has up to a time, and all of it where a report is cut by when
    /// something happened: that may have been told at any later time. A service that runs is waited for.
    /// - Throws: ``Failure`` where something may be missing; `LogError` where the log cannot be read.
    func check(through time: Timestamp, by dates: ReportDates) async throws {
        if time == ownTime { return }
        // No entry is earlier than the one before it, or than a period that was closed.
        if dates == .posted, state.position.time > time || state.closedThrough >= time { return }
        if let provenThrough, time <= provenThrough { return }
        try await checkLog()
        provenThrough = time
    }

    /// Makes sure that the tables have all that the log has now. A service that runs is waited for.
    /// - Throws: as ``check(through:by:)``.
    func checkLog() async throws {
        if let place = try folder.movedMark.read() {
            throw Failure(
                """
                the ledger was moved away from \(folder.path), to \(place): the tables that are left end with block \
                \(state.head?.number ?? 0), of \(UTCText.time(state.time)), and later entries are there. Ask its \
                service (--server)
                """)
        }
        let end = try lastBlock()
        for attempt in 0... {
            // Asked first: what nobody writes to then is not about to change.
            let isServed = FileLog.isWritten(folder: folder.log)
            state = try reports.state()
            let block = state.head?.number ?? 0
            if block >= end { return }
            guard isServed, attempt < FolderReports.attemptsMax else {
                throw Failure(
                    """
                    the tables have all up to block \(block), and the log has block \(end): entries may be missing. \
                    \(isServed ? FolderReports.adviceBesideService : FolderReports.advice)
                    """)
            }
            try await Task.sleep(for: FolderReports.pause)
        }
    }

    /// A service applies blocks within two seconds, also under load.
    private static let pause = Duration.milliseconds(50)
    private static let attemptsMax = 100

    private static let advice = """
        Start the service, which applies the rest to them, or make them anew: currency-ledger rebuild --config FILE
        """
    private static let adviceBesideService = "Ask the service (--server), or try it again when it has applied them"

    /// The last that is durable now; 0 where there is none.
    private func lastBlock() throws -> BlockNumber {
        guard let identity = try LogInspection.identity(folder: folder.log) else {
            throw LogError(.corrupt, "no segment file of \(folder.log) says whose ledger it is")
        }
        let log = try FileLog.openForReading(
            folder: folder.log, headFile: folder.headFile, identity: identity, hash: Composition.sha256)
        defer { log.close() }
        return log.head?.number ?? 0
    }
}
