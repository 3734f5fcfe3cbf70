#if Postgres
import FileLog
import Foundation
import Ledger
import LedgerEngine
import PostgresLog
import SQLiteProjection

/// Brings a ledger's tables in PostgreSQL forward: blocks are applied to tables in a folder of its own, and the rows
/// that changed there are written to PostgreSQL.
///
/// The folder's tables may be ahead of PostgreSQL's, where a run ended between the two: then what the blocks between
/// changed is written. They are never left behind: where they were lost, they are made anew first.
struct Projecting {
    struct Summary {
        var block: BlockNumber
        /// All that were written by this run.
        var rows: Int64
    }

    let source: LogPlace
    /// Where blocks are that were archived.
    let archives: [LedgerFolder]
    let target: PostgresLogConfiguration
    let work: String

    private static let stepBytes = 4 << 20
    /// From so many blocks on, the folder's tables are made anew rather than looked through for what changed.
    private static let blocksAheadMax: BlockNumber = 20_000
    private static let pauseSeconds = 0.25
    private static let secondsBetweenAttempts = 2.0

    /// - Parameters:
    ///   - follows: whether to go on until the process ends, also after the server or the log could not be reached.
    ///   - progress: told up to which block of which it is.
    ///   - tell: told when the tables have all that the ledger has; while following, the first time only.
    ///   - lost: told what is tried again.
    func run(
        follows: Bool, progress: @escaping (BlockNumber, BlockNumber) -> Void, tell: (Summary) -> Void,
        lost: (any Error) -> Void
    ) throws {
        guard let identity = try source.identity() else { throw Failure("there is no ledger in \(source)") }
        let lock = try WorkFolder(work)
        defer { withExtendedLifetime(lock) {} }
        var rows: Int64 = 0
        var hasTold = false
        while true {
            do {
                let run = try ProjectingRun(self, identity, lock, progress)
                defer { run.close() }
                while true {
                    rows += try run.bringForward()
                    if !hasTold, let block = run.block { tell(Summary(block: block, rows: rows)) }
                    hasTold = true
                    if !follows { return }
                    Thread.sleep(forTimeInterval: Projecting.pauseSeconds)
                }
            } catch {
                guard follows, Projecting.mayHelp(error) else { throw error }
                lost(error)
                Thread.sleep(forTimeInterval: Projecting.secondsBetweenAttempts)
            }
        }
    }

    /// Whether it may be tried again.
    private static func mayHelp(_ error: any Error) -> Bool {
        switch error {
        case let error as LogError: error.kind == .unknown || error.kind == .notAppended
        case let error as StoreError: error.kind == .unavailable
        default: false
        }
    }

    fileprivate static func isFarBehind(_ tables: BlockNumber, _ own: BlockNumber) -> Bool {
        own - tables > blocksAheadMax
    }

    fileprivate static func step(_ log: any BlockLog, after block: BlockNumber) throws -> [SealedBlock] {
        try log.read(after: block, bytesMax: stepBytes)
    }
}

/// The folder of the tables that are computed, for one process at a time.
private final class WorkFolder {
    let tables: String
    private let lock: FolderLock

    /// - Throws: ``Failure`` for the folder of a ledger, `LogError` for one that another process uses.
    init(_ path: String) throws {
        guard !FileManager.default.fileExists(atPath: LedgerFolder(path).log) else {
            throw Failure("\(path) is a ledger's own folder: --work is a folder of this command's own")
        }
        try File.makeFolder(path)
        tables = path + "/projection.sqlite"
        lock = try FolderLock(path)
    }
}

/// A run from one failure to the next.
private final class ProjectingRun {
    private let source: LogPlace
    private let archives: [LedgerFolder]
    private let identity: Digest
    private let progress: (BlockNumber, BlockNumber) -> Void
    private var log: any BlockLog
    private let tables: PostgresTables
    /// The tables in the folder.
    private var own: SQLiteProjection
    private var ownHead: LogHead?
    /// When the head file of a folder's log was written last.
    private var written: Date?

    init(
        _ projecting: Projecting, _ identity: Digest, _ folder: WorkFolder,
        _ progress: @escaping (BlockNumber, BlockNumber) -> Void
    ) throws {
        source = projecting.source
        self.identity = identity
        self.progress = progress
        archives = projecting.archives
        let log = try source.openForReading(identity, archives)
        self.log = log
        let name = "\(source)"
        guard let first = try log.read(after: 0, bytesMax: 0).first,
            let ledger = try Block(opening: first, checks: .bodyOnly).rows.ledger
        else { throw LogError(.unknown, "\(name) has no blocks yet") }
        let tables = try PostgresTables(projecting.target, ledger: ledger)
        self.tables = tables
        if let head = tables.head {
            guard let block = try log.read(after: head.number - 1, bytesMax: 0).first, block.hash == head.hash else {
                throw Failure(
                    "the schema \(projecting.target.schema) has block \(head.number) of another past than \(name)")
            }
        }
        own = try ProjectingRun.open(folder.tables, ledger, log, behind: tables.head?.number)
        ownHead = try own.state().head
    }

    /// Opens the tables of the folder, or makes them anew where they cannot be gone on with.
    private static func open(
        _ path: String, _ ledger: BlockRows.LedgerRow, _ log: any BlockLog, behind block: BlockNumber?
    ) throws -> SQLiteProjection {
        func open() throws -> SQLiteProjection {
            try SQLiteProjection(path: path, ledger: ledger, hash: Composition.sha256)
        }
        do {
            let own = try open()
            do {
                try own.check(against: log)
                if let block, Projecting.isFarBehind(block, try own.state().head?.number ?? 0) {
                    throw ProjectingRun.Unusable()
                }
                return own
            } catch {
                try? own.close()
                throw error
            }
        } catch {
            let isUnusable =
                switch error {
                case is Unusable: true
                case let error as ProjectionOpeningError: error.kind == .rebuild
                case let error as LogError: error.kind == .corrupt
                case let error as StoreError: error.kind == .corrupt
                default: false
                }
            guard isUnusable else { throw error }
            try SQLiteProjection.remove(at: path)
            return try open()
        }
    }

    private struct Unusable: Error {}

    func close() {
        log.close()
        // What is in the folder can be made anew.
        try? own.close()
    }

    /// The block up to which the tables in PostgreSQL are exact.
    var block: BlockNumber? { tables.head?.number }

    /// Brings both forward to the last block that there is when this begins.
    /// - Returns: how many rows were written.
    func bringForward() throws -> Int64 {
        if case .folder(let folder) = source, hasChanged(folder) {
            // One that was opened for reading has the blocks of that time.
            log.close()
            log = try source.openForReading(identity, archives)
        }
        // Blocks that come meanwhile are for the next time: whoever is written to all the time is never at its end.
        let end = try lastBlock()
        // Tables without rows are filled in one go; the folder's must have what PostgreSQL's have.
        while (ownHead?.number ?? 0) < (tables.head?.number ?? end) {
            let blocks = try Projecting.step(log, after: ownHead?.number ?? 0)
            if blocks.isEmpty { break }
            if let head = tables.head, let last = blocks.last, last.number > head.number {
                try apply(blocks.filter { $0.number <= head.number })
            } else {
                try apply(blocks)
            }
        }
        guard let head = tables.head else { return try write(nil) }
        var rows: Int64 = 0
        var changes = TableChanges(after: head, tables.position)
        var next = head.number
        while next < end {
            let blocks = try Projecting.step(log, after: next)
            guard let last = blocks.last else { break }
            next = last.number
            for block in blocks { changes.add(try Block(opening: block, checks: .bodyOnly, evidence: .leftOut)) }
            let missing = blocks.filter { $0.number > ownHead?.number ?? 0 }
            if !missing.isEmpty { try apply(missing) }
            // Where the folder's are further, the rows are of a later block than this.
            if ownHead?.number == next {
                rows += try write(changes)
                changes = TableChanges(after: tables.head, tables.position)
            }
        }
        return rows
    }

    private func lastBlock() throws -> BlockNumber {
        try (log as? any SharedLog)?.standing().block ?? log.head?.number ?? 0
    }

    /// Whether the folder's log may have more blocks than when this was asked last. The head file is written with each;
    /// two that come at once may leave the same time.
    private func hasChanged(_ folder: LedgerFolder) -> Bool {
        let attributes = try? FileManager.default.attributesOfItem(atPath: folder.headFile)
        guard let time = attributes?[.modificationDate] as? Date else { return true }
        defer { written = time }
        return time != written || time.timeIntervalSinceNow > -1
    }

    private func apply(_ blocks: [SealedBlock]) throws {
        try own.apply(blocks)
        ownHead = blocks.last?.head
        progress(blocks.last?.number ?? 0, log.head?.number ?? 0)
    }

    private func write(_ changes: TableChanges?) throws -> Int64 {
        guard ownHead != nil else { return 0 }
        return try tables.write { batch in
            try own.copy(changes) { table in
                try batch.write(table.name, table.columns) { body in try table.forEach(body) }
            }
        }
    }
}
#endif
