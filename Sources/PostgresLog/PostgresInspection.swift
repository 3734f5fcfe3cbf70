#if Postgres
package import Ledger

/// Looks at every row of a ledger's tables: hands the blocks over in their order, and tells what is not as it was
/// written. Of the tables themselves too: columns, the primary keys that are the fence, partitions, the leader's row.
///
/// It reads beside whoever leads, and writes nothing. It ends with the block that was the last one when it began. One
/// thread at a time uses it.
///
/// What holds between two steps:
/// 1. Each block before `number` was handed over, or is in the range of one damage, once.
/// 2. `previous` is the hash of the block before `number`, or `nil` where that is not known.
package final class PostgresInspection: LogInspector {
    package private(set) var identity: Digest?
    package private(set) var head: LogHead?

    private let reader: PostgresReader
    private let schema: PostgresSchema
    private let hash: HashFunction
    private var number: BlockNumber = 1
    private var previous: Digest? = .zero
    private var steps: [LogStep] = []

    /// Bytes of rows that are read in one step.
    private static let stepBytes: Int64 = 4 << 20

    /// - Throws: ``LogError`` where there is no ledger, or the server cannot be asked. Anything else is a step.
    package init(_ configuration: PostgresLogConfiguration, hash: @escaping HashFunction) throws(LogError) {
        schema = PostgresSchema(name: configuration.schema)
        reader = PostgresReader(configuration, schema, hash: hash)
        self.hash = hash
        do throws(PostgresFault) {
            try inspectTables()
        } catch {
            switch error.code {
            case PostgresCode.undefinedTable, PostgresCode.undefinedSchema:
                throw LogError(.corrupt, "there is no ledger in the schema \(schema.name)")
            default: throw error.reading("inspecting the schema \(schema.name)")
            }
        }
    }

    package func next() throws(LogError) -> LogStep? {
        while steps.isEmpty, let head, number <= head.number { try readRows(through: head.number) }
        return steps.isEmpty ? nil : steps.removeFirst()
    }

    private func damage(_ words: String) { steps.append(.damage(words: words, lost: nil)) }

    /// The blocks from the next one up to `last` cannot be handed over.
    private func lose(through last: BlockNumber, _ words: String) {
        let blocks = number == last ? "block \(number)" : "blocks \(number) to \(last)"
        steps.append(.damage(words: "\(blocks) in \(schema.name).block: \(words)", lost: number...last))
        number = last + 1
        previous = nil
    }

    // MARK: - The tables

    private func inspectTables() throws(PostgresFault) {
        let ledger = try reader.run(schema.ledger)
        let format = ledger.count == 1 ? ledger.number(0, 0) : 0
        let partitionBlocks = ledger.count == 1 ? ledger.number(0, 2) : 0
        if ledger.count == 1 { identity = Digest(Array(ledger.bytes(0, 1))) }
        if ledger.count != 1 { damage("the table \(schema.name).ledger has \(ledger.count) rows; it has one") }
        if ledger.count == 1, format != PostgresSchema.format {
            damage("the table \(schema.name).ledger names the form \(format), which this version does not know")
        }
        if ledger.count == 1, !PostgresRanges.partitionBlocks.contains(partitionBlocks) {
            damage("the table \(schema.name).ledger names \(partitionBlocks) blocks of a partition")
        }
        if ledger.count == 1, identity == nil { damage("the table \(schema.name).ledger does not say whose it is") }
        head = try LogHead(try reader.run(schema.head), schema) { words in
            PostgresFault(.decided(.corrupt), words)
        }
        try inspectLeader()
        inspect(try reader.run(schema.tables), partitionBlocks: partitionBlocks)
    }

    private func inspectLeader() throws(PostgresFault) {
        let rows = try reader.run(schema.leader)
        guard let leader = PostgresLeader(rows) else {
            return damage("the table \(schema.name).leader has \(rows.count) rows; it has one")
        }
        leader.faults(in: "\(schema.name).leader").forEach(damage)
        if leader.leaseMilliseconds > 0, leader.node.isEmpty {
            damage("the table \(schema.name).leader has a lease of nobody")
        }
        if let head, leader.reign < head.term {
            damage(
                "the table \(schema.name).leader names term \(leader.reign), which is before term \(head.term) of "
                    + "block \(head.number)")
        }
    }

    private func inspect(_ tables: PostgresRows, partitionBlocks: Int64) {
        var partitions: Set<Int64> = []
        for row in 0..<tables.count {
            let table = tables.text(row, 0)
            let words = "the table \(schema.name).\(table)"
            if tables.text(row, 1) != PostgresSchema.columns(of: table) {
                damage("\(words) has other columns than it must have")
            }
            if tables.number(row, 2) != 1 { damage("\(words) has no primary key that is in force") }
            if !tables.flag(row, 3) { damage("\(words) is unlogged: a crash would empty it") }
            if tables.flag(row, 4) { damage("\(words) has row security, which may hide rows") }
            if tables.number(row, 5) != 0 { damage("\(words) has triggers or rules, and must have none") }
            guard table.hasPrefix("block_"), PostgresRanges.partitionBlocks.contains(partitionBlocks) else { continue }
            guard let partition = Int64(table.dropFirst("block_".count)), partition >= 0,
                partition <= Int64.max / partitionBlocks - 2,
                tables.text(row, 6) == PostgresSchema.bound(of: partition, blocks: partitionBlocks)
            else {
                damage("\(words) has other blocks than its name says: \(tables.text(row, 6))")
                continue
            }
            partitions.insert(partition)
        }
        guard let head, PostgresRanges.partitionBlocks.contains(partitionBlocks) else { return }
        for partition in 0...(head.number - 1) / partitionBlocks where !partitions.contains(partition) {
            damage("the table \(schema.name).block lacks its partition block_\(partition)")
        }
    }

    // MARK: - The rows

    /// Reads the rows from the next block on, as many as one step takes.
    private func readRows(through last: BlockNumber) throws(LogError) {
        do throws(PostgresFault) {
            let sizes = try reader.run(
                schema.sizesFound, [.number(number - 1), .number(last)])
            guard sizes.count > 0 else { return lose(through: last, "missing") }
            var count = 0
            var bytes: Int64 = 0
            repeat {
                bytes += sizes.number(count, 1)
                count += 1
            } while count < sizes.count && bytes + sizes.number(count, 1) <= PostgresInspection.stepBytes
            try readRows(from: sizes.number(0, 0), through: sizes.number(count - 1, 0))
        } catch {
            // That the server is gone is no damage.
            guard error.kind != .lost, !error.isOfShutdown else {
                throw error.reading("reading block \(number) in \(schema.name).block")
            }
            lose(through: last, "unread: \(error.words)")
        }
    }

    private func readRows(from first: BlockNumber, through last: BlockNumber) throws(PostgresFault) {
        let rows: PostgresRows
        do throws(PostgresFault) {
            rows = try reader.run(schema.read, [.number(first - 1), .number(last)])
        } catch {
            guard error.kind != .lost, !error.isOfShutdown else { throw error }
            // A page that cannot be read fails all rows that are read with it.
            guard first == last else {
                for number in first...last { try readRows(from: number, through: number) }
                return
            }
            if first > number { lose(through: first - 1, "missing") }
            return lose(through: first, "unread: \(error.words)")
        }
        for row in 0..<rows.count { inspect(rows, row) }
    }

    private func inspect(_ rows: PostgresRows, _ row: Int) {
        let id = rows.number(row, 0)
        if id > number { lose(through: id - 1, "missing") }
        let body = rows.bytes(row, 4)
        guard let stored = Digest(Array(rows.bytes(row, 3))), Digest(of: body, hash) == stored else {
            return lose(through: id, "its body does not have its hash")
        }
        let block: SealedBlock
        do throws(BlockError) {
            block = try SealedBlock(body: Array(body), redactable: Array(rows.bytes(row, 5)), hash: stored)
        } catch {
            return lose(through: id, "its body is no block's: \(error)")
        }
        guard block.number == id else { return lose(through: id, "block \(block.number) stands in its place") }
        let place = "block \(id) in \(schema.name).block"
        if block.term != rows.number(row, 1) {
            damage("\(place): its row names term \(rows.number(row, 1)), and the block term \(block.term)")
        }
        if !rows.bytes(row, 2).elementsEqual(block.previous.bytes) {
            damage("\(place): its row names another block before it than the block does")
        }
        if let previous, previous != block.previous { damage("\(place): it does not continue the block before it") }
        steps.append(.block(block))
        number = id + 1
        previous = block.hash
    }
}
#endif
