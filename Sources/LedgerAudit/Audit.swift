package import AppStore
import Dispatch
import HeadSigning
package import Ledger
import Synchronization

/// Computes a ledger again from its blocks, with every signature, and compares its tables with that. It trusts nothing
/// but the anchors that it is given, and shares no code with what decides and projects but the reading of blocks and
/// of stored answers.
package struct Audit: Sendable {
    package struct Configuration: Sendable {
        /// Trusted beside Apple Root CA – G3.
        package var anchors: [Certificate]
        /// Threads that open blocks and verify signatures, beside the one that computes the books.
        package var jobs: Int
        /// Signatures of blocks up to this one are taken as verified by an earlier audit; everything else is computed
        /// from the first block on.
        package var since: BlockNumber
        /// What was stated of the ledger before, to be compared with what it is.
        package var heads: [FoundHead]

        package init(
            anchors: [Certificate] = [], jobs: Int, since: BlockNumber = 0, heads: [FoundHead] = []
        ) {
            self.anchors = anchors
            self.jobs = jobs
            self.since = since
            self.heads = heads
        }
    }

    fileprivate let configuration: Configuration
    fileprivate let hash: HashFunction
    /// Begins to read the log.
    fileprivate let openLog: @Sendable () throws -> any LogInspector
    /// Opens the tables; `nil` where there are none.
    fileprivate let openTables: @Sendable () throws -> (any TableReader)?

    package init(
        _ configuration: Configuration, hash: @escaping HashFunction,
        openLog: @escaping @Sendable () throws -> any LogInspector,
        openTables: @escaping @Sendable () throws -> (any TableReader)?
    ) {
        self.configuration = configuration
        self.hash = hash
        self.openLog = openLog
        self.openTables = openTables
    }

    /// - Parameters:
    ///   - progress: told how many of how many blocks were read.
    ///   - tell: told what does not hold, in the order of the blocks, up to ``AuditLimits/findingsToldMax``.
    /// - Throws: what keeps the log from being read at all.
    package func run(
        progress: (_ done: BlockNumber, _ of: BlockNumber) -> Void, tell: (AuditFinding) -> Void
    ) throws -> AuditSummary {
        var run = AuditRun(self)
        return try run.run(progress: progress, tell: tell)
    }
}

/// One audit under way.
private struct AuditRun {
    private let audit: Audit
    private let findings = Findings()
    private var summary = AuditSummary()

    init(_ audit: Audit) { self.audit = audit }

    private var configuration: Audit.Configuration { audit.configuration }
    private var hash: HashFunction { audit.hash }

    mutating func run(
        progress: (_ done: BlockNumber, _ of: BlockNumber) -> Void, tell: (AuditFinding) -> Void
    ) throws -> AuditSummary {
        let adder = RowAdder()
        let replay = Replay(hash: hash, findings: findings, rows: adder)
        var heads = HeadComparison(configuration.heads, findings)
        let evidence = try read(into: replay, &heads, progress: progress, tell: tell)
        replay.finish(erasedLater: try erasedLater(than: replay))
        heads.finish(replay)
        summary.heads = heads.compared
        summarize(replay, evidence)
        told(tell)
        do {
            if let tables = try audit.openTables() { try compare(tables, replay, adder, tell: tell) }
        } catch {
            findings.add(block: nil, "the tables: \(error)")
        }
        told(tell)
        return summary
    }

    private mutating func told(_ tell: (AuditFinding) -> Void) {
        for finding in findings.take() {
            summary.findings += 1
            if summary.findings <= AuditLimits.findingsToldMax { tell(finding) }
        }
    }

    private mutating func summarize(_ replay: Replay, _ evidence: EvidenceCheck?) {
        summary.head = replay.head
        summary.bundleID = replay.ledger?.bundleID ?? ""
        summary.environment = replay.ledger?.environment ?? ""
        summary.position = replay.position
        summary.purchases = replay.purchases.count
        summary.signatures = evidence?.count ?? 0
        summary.currencies = replay.currencies
        summary.totals = replay.turnovers
    }

    // MARK: The log

    /// Reads the whole log: opens blocks on all threads, then verifies their signatures there while the books are
    /// computed here.
    /// - Returns: what verified the signatures; `nil` where the first block does not say whose books these are.
    private mutating func read(
        into replay: Replay, _ heads: inout HeadComparison,
        progress: (_ done: BlockNumber, _ of: BlockNumber) -> Void, tell: (AuditFinding) -> Void
    ) throws -> EvidenceCheck? {
        let log = try audit.openLog()
        if let base = log.base {
            summary.base = base
            replay.begin(behind: base)
        }
        let workers = Workers(configuration.jobs)
        var evidence: EvidenceCheck?
        while let chunk = try Chunk(log, findings, bytesMax: AuditLimits.chunkBytes) {
            let blocks = workers.map(chunk.blocks) { [hash] in CheckedBlock($0, hash) }
            // Those of the chunk before.
            workers.wait()
            told(tell)
            if evidence == nil, log.base == nil, let ledger = blocks.first?.block?.rows.ledger {
                evidence = check(of: ledger, log.identity)
                heads.compareLedger(ledger, log.identity)
            }
            if let evidence {
                for block in blocks { evidence.add(block.block?.rows.headers ?? []) }
                let items = signed(blocks, replay)
                workers.begin(items, perBatch: AuditLimits.signaturesPerBatch) { evidence.verify($0) }
            }
            for block in blocks {
                for finding in block.findings { findings.add(finding) }
                chunk.passLost(before: block.sealed.number, replay)
                replay.apply(block)
                heads.compare(replay)
            }
            chunk.passLost(before: .max, replay)
            progress(replay.head?.number ?? 0, log.head?.number ?? 0)
        }
        workers.wait()
        if evidence == nil, log.base == nil {
            findings.add(block: 1, "it does not say whose books these are, so no signature can be verified")
        }
        if let head = log.head, replay.head.map({ $0.number < head.number }) ?? true {
            findings.add(block: head.number, "it was acknowledged, and is missing")
        }
        return evidence
    }

    /// Accounts that a service erased while the log was read: of these blocks that were read have no names, and the
    /// blocks that erase them came behind the end. Each is in the log before its name is overwritten.
    private func erasedLater(than replay: Replay) throws -> Set<PlayerID> {
        guard !replay.nameless.isEmpty, let head = replay.head else { return [] }
        let log = try audit.openLog()
        var erased: Set<PlayerID> = []
        while let chunk = try Chunk(log, Findings(), bytesMax: AuditLimits.chunkBytes) {
            for sealed in chunk.blocks where sealed.number > head.number {
                erased.formUnion(CheckedBlock(sealed, hash).block?.rows.erasures.map(\.account) ?? [])
            }
        }
        return erased
    }

    /// What is signed in blocks of which no earlier audit verified it.
    private func signed(_ blocks: [CheckedBlock], _ replay: Replay) -> [EvidenceCheck.Item] {
        let names = replay.names(with: blocks)
        var recorded: Set<TransactionID> = []
        var items: [EvidenceCheck.Item] = []
        for checked in blocks {
            guard let block = checked.block else { continue }
            if block.number > configuration.since {
                items += EvidenceCheck.items(block, names: names) {
                    recorded.contains($0) || replay.purchases[$0] != nil
                }
            }
            recorded.formUnion(block.rows.purchases.map(\.facts.transaction))
        }
        return items
    }

    private func check(of ledger: BlockRows.LedgerRow, _ identity: Digest?) -> EvidenceCheck {
        if identity != Digest(of: ledger, hash) {
            findings.add(block: 1, "it says that the books are another app's than the log's files say")
        }
        let app = App(bundleID: ledger.bundleID, environment: Environment(rawValue: ledger.environment))
        return EvidenceCheck(app, configuration.anchors, findings)
    }

    // MARK: The tables

    private mutating func compare(
        _ tables: any TableReader, _ replay: Replay, _ adder: RowAdder, tell: (AuditFinding) -> Void
    ) throws {
        for words in try tables.check() { findings.add(block: nil, "the tables: \(words)") }
        guard let projected = tables.head else {
            return findings.add(block: nil, "the tables are empty")
        }
        guard !replay.isBroken, let head = replay.head else { return }
        var (replay, expected) = (replay, adder)
        if projected.number < head.number {
            expected = RowAdder()
            replay = Replay(hash: hash, findings: Findings(), rows: expected)
            try read(from: 0, through: projected.number, into: replay)
        } else if projected.number > head.number {
            try read(from: head.number, through: projected.number, into: replay)
        }
        guard replay.head == projected else {
            return findings.add(
                block: projected.number, "the tables are of another block of this number, or of one that there is not")
        }
        summary.tables = projected.number
        replay.addState()
        let unknown = replay.unknownNames
        let actual = TableScan(tables, unknown).sums(jobs: configuration.jobs)
        summary.tableRows = actual.rows
        var differences = expected.sums.differences(from: actual.sums)
        for (table, words) in actual.unread {
            findings.add(block: nil, "table \(table.rawValue) cannot be read: \(words)")
            differences[table] = nil
        }
        if !differences.isEmpty { try name(differences, tables, projected.number, unknown) }
    }

    /// Blocks that are only computed, without their signatures.
    /// - Parameter first: blocks up to this one were computed before. The names that are gone from them since are those
    ///   that a service erased meanwhile.
    private func read(from first: BlockNumber, through last: BlockNumber, into replay: Replay) throws {
        let log = try audit.openLog()
        let workers = Workers(configuration.jobs)
        while (replay.head?.number ?? 0) < last,
            let chunk = try Chunk(log, Findings(), bytesMax: AuditLimits.chunkBytes)
        {
            for block in workers.map(chunk.blocks, { [hash] in CheckedBlock($0, hash) })
            where block.sealed.number <= last {
                if block.sealed.number <= first {
                    replay.forgetNames(goneFrom: block)
                    continue
                }
                chunk.passLost(before: block.sealed.number, replay)
                replay.apply(block)
            }
        }
    }

    /// Reads the log and the tables again, and names the rows that differ.
    private func name(
        _ differences: [AuditedTable: Set<Int>], _ tables: any TableReader, _ block: BlockNumber,
        _ unknown: Set<PlayerID>
    ) throws {
        let expected = RowCollector(differences)
        let replay = Replay(hash: hash, findings: Findings(), rows: expected)
        try read(from: 0, through: block, into: replay)
        replay.addState()
        let actual = RowCollector(differences)
        try TableScan(tables, unknown).collect(Set(differences.keys), actual)
        for table in AuditedTable.allCases where differences[table] != nil {
            name(table, expected.rows[table] ?? [:], actual.rows[table] ?? [:])
        }
    }

    private func name(
        _ table: AuditedTable, _ expected: [ArraySlice<UInt8>: [ArraySlice<UInt8>]],
        _ actual: [ArraySlice<UInt8>: [ArraySlice<UInt8>]]
    ) {
        var count = 0
        func add(_ key: ArraySlice<UInt8>, _ words: String) {
            count += 1
            if count <= AuditLimits.rowsNamedMax {
                findings.add(block: nil, "table \(table.words(key)): \(words)")
            }
        }
        for key in Set(expected.keys).union(actual.keys).sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            let (must, are) = (expected[key] ?? [], actual[key] ?? [])
            if must == are { continue }
            if are.isEmpty {
                add(key, "the row is missing")
            } else if must.isEmpty {
                add(key, "the row should not be there")
            } else if are.count != must.count {
                add(key, "the row is there \(are.count) times")
            } else {
                let columns = zip(table.columns, zip(TableRow.words(must[0]), TableRow.words(are[0])))
                let differing = columns.filter { $0.1.0 != $0.1.1 }
                add(key, differing.map { "\($0.0) is \($0.1.1), not \($0.1.0)" }.joined(separator: "; "))
            }
        }
        if count > AuditLimits.rowsNamedMax {
            findings.add(block: nil, "table \(table.rawValue): \(count) rows differ in all")
        }
    }
}

/// Blocks that are worked on together, with what is lost between them.
private struct Chunk {
    private(set) var blocks: [SealedBlock] = []
    private var lost: [ClosedRange<BlockNumber>] = []

    /// `nil` at the end of the log.
    init?(_ log: any LogInspector, _ findings: Findings, bytesMax: Int) throws(LogError) {
        var bytes = 0
        var isEmpty = true
        while bytes < bytesMax, let step = try log.next() {
            isEmpty = false
            switch step {
            case .block(let block):
                bytes += block.byteCount
                blocks.append(block)
            case .damage(let words, let lost):
                findings.add(block: lost?.lowerBound, words)
                if let lost { self.lost.append(lost) }
            }
        }
        if isEmpty { return nil }
    }

    /// Passes over the lost blocks that stand before a block.
    func passLost(before number: BlockNumber, _ replay: Replay) {
        let from = replay.head?.number ?? 0
        for range in lost where range.upperBound < number && range.upperBound > from {
            replay.pass(through: range.upperBound)
        }
    }
}

extension Replay {
    /// The names of accounts, those of linked tokens with them. Some of them stand in blocks that are not applied yet.
    fileprivate func names(with blocks: [CheckedBlock]) -> (PlayerID) -> Set<AccountName>? {
        var added: [PlayerID: AccountName] = [:]
        var tokens = tokens
        for rows in blocks.lazy.compactMap({ $0.block?.rows }) {
            for row in rows.accounts { added[row.id] = row.name }
            for row in rows.links { tokens[row.account, default: []].append(row.token) }
        }
        return { [accountNames, tokens, added] account in
            var names: Set<AccountName> = []
            var all = [account]
            var next = 0
            while next < all.count {
                let id = all[next]
                let known = id <= accountNames.count ? accountNames[Int(id) - 1].map { AccountName(stored: $0) } : nil
                guard let name = added[id] ?? known else { return nil }
                names.insert(name)
                all += (tokens[id] ?? []).filter { !all.contains($0) }
                next += 1
            }
            return names
        }
    }

    var turnovers: Totals {
        var all = Totals(currencies: currencies.count)
        for number in currencies.indices {
            for kind in AccountKind.allCases {
                let currency = CurrencyID(number + 1)
                all[currency, kind] = turnover(currency, kind)
            }
        }
        return all
    }
}
