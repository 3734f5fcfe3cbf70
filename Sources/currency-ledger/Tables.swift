import FileLog
import Ledger
import LedgerEngine
import Logging
import SQLiteProjection
import Synchronization

private final class HighMark: Sendable {
    private let value = Mutex(Int64(-1))

    /// Whether it was lower before.
    func rise(to new: Int64) -> Bool {
        value.withLock { value in
            defer { value = max(value, new) }
            return new > value
        }
    }
}

/// A ledger's tables, and the log that they can always be made from.
struct Tables {
    let folder: LedgerFolder
    /// Where they are.
    let path: String
    let log: any BlockLog
    let ledger: BlockRows.LedgerRow
    let logger: Logger
    /// Told in words how far they are; what it throws ends the work.
    let progress: @Sendable (String) throws -> Void
    private let bar = ProgressBar("applying blocks")
    /// The tenths of the work that were logged.
    private let told = HighMark()

    init(
        folder: LedgerFolder, path: String, log: any BlockLog, ledger: BlockRows.LedgerRow, logger: Logger,
        progress: @escaping @Sendable (String) throws -> Void
    ) {
        self.folder = folder
        self.path = path
        self.log = log
        self.ledger = ledger
        self.logger = logger
        self.progress = progress
    }

    /// The tables as they are; made anew where they cannot be gone on with.
    func open() throws -> SQLiteProjection {
        for _ in 1..<Tables.openingsMax {
            do { return try open(path) } catch let error as ProjectionOpeningError where error.kind == .rebuild {
                try makeAnew(because: "\(error)")
            }
        }
        return try open(path)
    }

    /// How often tables are opened that are made anew each time between. Another program that tries all the time to
    /// write into them may be quicker once or twice than this one's lock.
    static let openingsMax = 6

    func makeAnew(because reason: String) throws {
        logger.notice("the tables are made anew", metadata: ["reason": "\(reason)"])
        try make()
    }

    /// Makes them beside the old ones, which stay until the new ones are whole: an interrupted run, or a block
    /// that cannot be read, leaves those.
    func make() throws {
        try SQLiteProjection.remove(at: newPath)
        do {
            let projection = try open(newPath)
            if let head = log.head {
                try projection.catchUp(with: log, to: head.number) { try show($0, of: head.number) }
            }
            bar.end()
            try projection.close()
        } catch {
            bar.end()
            try? SQLiteProjection.remove(at: newPath)
            throw error
        }
        try SQLiteProjection.move(from: newPath, to: path)
        folder.damageMark.clear()
    }

    /// Carries out what may make tables.
    /// - Throws: what `body` throws; where the disk may have no room for tables, it says how much they need.
    func sayingWantOfRoom<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch {
            let isWantOfRoom =
                switch error {
                case let error as ProjectionOpeningError: error.kind == .unavailable
                case let error as StoreError: error.kind == .unavailable && !error.isOfLog
                default: false
                }
            guard isWantOfRoom, let words = SQLiteProjection.wantOfRoom(at: path, entries: try entries()) else {
                throw error
            }
            throw Failure("\(error); \(words): make room, and try it again")
        }
    }

    /// How many the log has.
    private func entries() throws -> EntryID {
        guard let head = log.head, let last = try log.read(after: head.number - 1, bytesMax: 0).first else { return 0 }
        return try Block(opening: last, checks: .bodyOnly, evidence: .leftOut).position.entry
    }

    /// How they are made anew while they are in use.
    var renewal: TableRenewal {
        TableRenewal {
            try SQLiteProjection.remove(at: newPath)
            return try open(newPath)
        } replace: {
            try SQLiteProjection.move(from: newPath, to: path)
            folder.damageMark.clear()
        } open: {
            try open(path, areMade: true)
        }
    }

    private var newPath: String { path + ".new" }

    func show(_ block: BlockNumber, of head: BlockNumber) throws {
        bar.show(block, of: head)
        if told.rise(to: block * 10 / max(head, 1)) {
            logger.info("applying blocks to the tables", metadata: ["block": "\(block)", "of": "\(head)"])
        }
        try progress("the ledger's tables are being made: block \(block) of \(head)")
    }

    /// While the log is read for names that differ from what its blocks say.
    func showNames(_ block: BlockNumber, of head: BlockNumber) throws {
        try progress("the names in the log are being compared with its blocks: block \(block) of \(head)")
    }

    private func open(_ path: String, areMade: Bool = false) throws -> SQLiteProjection {
        try SQLiteProjection(path: path, ledger: ledger, areMade: areMade, hash: Composition.sha256) {
            logger.warning("\($0)")
        }
    }
}
