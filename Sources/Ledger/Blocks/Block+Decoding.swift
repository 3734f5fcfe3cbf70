extension Block {
    /// What is checked of a block beside its form, which always is.
    package enum Checks {
        /// The body's hash, and each name that is there against its digest in the body.
        case hashes(HashFunction)
        /// The names only: the body's hash was checked by whoever read it.
        case names(HashFunction)
        /// Neither: the block was sealed by this process.
        case form
        /// The body's form only: the redactable part is not looked at, and no account has a name.
        case bodyOnly
    }

    /// What to bring along of signed evidence.
    package enum EvidenceBytes: Sendable {
        /// Payloads and signatures, as slices of the block's body.
        case whole
        /// Neither; the rows have empty ones.
        case leftOut
    }

    /// The rows of a sealed block. Nothing of the body is copied but texts: blobs are slices of it, which keep it in
    /// memory.
    ///
    /// Of a purchase's facts the token is left out: it stands in the evidence and nowhere else.
    /// - Throws: ``BlockError`` where the bytes are not the canonical form of any rows, or rows contradict each other.
    package init(
        opening sealed: SealedBlock, checks: Checks, evidence: EvidenceBytes = .whole
    ) throws(BlockError) {
        var names: HashFunction?
        switch checks {
        case .hashes(let hash):
            if Digest(of: sealed.body, hash) != sealed.hash {
                throw BlockError(.hashMismatch, block: sealed.number, "the body does not have the block's hash")
            }
            names = hash
        case .names(let hash): names = hash
        case .form, .bodyOnly: break
        }
        var hasNames = true
        if case .bodyOnly = checks { hasNames = false }
        let opened: Result<Block, BlockError> = sealed.body.withUnsafeBytes { bytes in
            sealed.redactable.withUnsafeBytes { redactable in
                Result { () throws(BlockError) -> Block in
                    var decoder = BlockDecoder(sealed, BlockReader(bytes), evidence)
                    return try decoder.block(hasNames ? redactable : nil, names)
                }
            }
        }
        self = try opened.get()
        if number != sealed.number || term != sealed.term || previous != sealed.previous {
            throw BlockError(.headMismatch, block: sealed.number, "the body has another number, term or previous hash")
        }
    }
}

extension SealedBlock {
    /// A block as it was kept, its number, term and previous hash read from the body.
    /// - Throws: ``BlockError`` where the body does not begin as one.
    package init(body: [UInt8], redactable: [UInt8], hash: Digest) throws(BlockError) {
        let head = try BlockHead(body, block: 0)
        self.init(
            number: head.number, term: head.term, previous: head.previous, hash: hash, body: body,
            redactable: redactable)
    }

    /// The accounts that the block added, found without reading its rows.
    package func addedAccounts() throws(BlockError) -> Range<PlayerID> {
        let found: Result<Range<PlayerID>, BlockError> = body.withUnsafeBytes { bytes in
            Result { () throws(BlockError) -> Range<PlayerID> in
                var decoder = BlockDecoder(self, BlockReader(bytes), .leftOut)
                return try decoder.addedAccounts()
            }
        }
        return try found.get()
    }
}

/// What stands above a block's rows.
struct BlockHead {
    var number: BlockNumber = 0
    var term: Term = 0
    var time: Timestamp = 0
    var previous: Digest
    var position = LastNumbers()
    /// Whether it is of version 2.
    var namesMovedLots = false

    init(_ body: [UInt8], block: BlockNumber) throws(BlockError) {
        let head: Result<BlockHead, BlockError> = body.withUnsafeBytes { bytes in
            Result { () throws(BlockError) -> BlockHead in
                var reader = BlockReader(bytes)
                return try BlockHead(&reader, block: block)
            }
        }
        self = try head.get()
    }

    init(_ reader: inout BlockReader, block: BlockNumber) throws(BlockError) {
        let magic = reader.fixed32()
        namesMovedLots = magic == BlockForm.magicOfMovedLots
        if magic != BlockForm.magic && !namesMovedLots {
            throw BlockError(.unknownVersion, block: block, "the body does not begin as a block of version 1 or 2")
        }
        number = reader.fixed64()
        term = reader.fixed64()
        time = reader.fixed64()
        reader.require(BlockForm.times.contains(time), "its time is not within ±(2^53 − 1)")
        previous = reader.digest()
        position.currency = reader.number()
        position.actor = reader.number()
        position.account = reader.number()
        position.header = reader.number()
        position.entry = reader.number()
        position.transfer = reader.number()
        position.evidence = reader.number()
        position.assignment = reader.number()
        position.notification = reader.number()
        position.request = reader.number()
        position.time = reader.time(from: time)
        reader.require(number >= 1 && term >= 1, "its number or term is less than 1")
        reader.require(
            number > 1 || previous.withUnsafeBytes { $0.allSatisfy { $0 == 0 } }, "the first block follows another")
        reader.require(
            position.currency <= Limits.currenciesMax && position.account <= BlockForm.playerMax,
            "it has more currencies or accounts than an account's number can tell apart")
        if let fault = reader.fault { throw BlockError(fault.kind, block: block, "\(fault.words)") }
    }
}

/// Reads one block's sections in their order.
struct BlockDecoder {
    let sealed: SealedBlock
    var reader: BlockReader
    let evidenceBytes: Block.EvidenceBytes
    var time: Timestamp = 0
    var position = LastNumbers()
    var rows = BlockRows()
    /// Tags of sections that are not known and may be passed over.
    private var skipped: [UInt8] = []
    /// The transfers that the entries have together.
    var transferCount: Int64 = 0
    /// The evidence that stands for the first of a purchase: what the purchases announced, and what of it was read.
    var firstEvidence: [TransactionID] = []
    var firstEvidenceRead = 0
    /// Whether the block is of version 2.
    var namesMovedLots = false
    /// Where the names of the redactable part end.
    var namesEnd = 0

    init(_ sealed: SealedBlock, _ reader: BlockReader, _ evidenceBytes: Block.EvidenceBytes) {
        self.sealed = sealed
        self.reader = reader
        self.evidenceBytes = evidenceBytes
    }

    /// Bytes of the body that begin here, as a slice.
    mutating func blob() -> ArraySlice<UInt8> { sealed.body[reader.blob()] }

    /// Throws the reader's fault, if it has one, in the words of this row.
    func check(_ section: BlockSection, row: Int? = nil) throws(BlockError) {
        guard let fault = reader.fault else { return }
        throw error(fault.kind, section, row: row, "\(fault.words)")
    }

    func error(
        _ kind: BlockError.Kind, _ section: BlockSection?, row: Int? = nil, _ words: String
    ) -> BlockError {
        BlockError(kind, block: sealed.number, section: section, row: row.map { $0 + 1 }, words)
    }

    /// For how many rows to take memory at once, so that no count asks for more than the section's bytes are worth.
    func room(_ count: Int, rowBytesMin: Int) -> Int { min(count, (reader.end - reader.place) / rowBytesMin + 1) }

    /// The last number of a dense sequence before this block.
    func before(_ last: Int64, _ count: Int, _ section: BlockSection) throws(BlockError) -> Int64 {
        if last < count { throw error(.inconsistent, section, "there are more rows than the sequence has numbers") }
        return last - Int64(count)
    }

    mutating func block(
        _ redactable: UnsafeRawBufferPointer?, _ names: HashFunction?
    ) throws(BlockError) -> Block {
        let head = try BlockHead(&reader, block: sealed.number)
        time = head.time
        position = head.position
        namesMovedLots = head.namesMovedLots
        var last: UInt8 = 0
        while !reader.isAtEnd {
            let (tag, count, size) = try sectionHead(after: last)
            last = tag
            guard let section = BlockSection(rawValue: tag) else {
                if BlockForm.requiredTags.contains(tag) {
                    throw error(.unknownVersion, nil, "it has a section of a later version, tag \(tag)")
                }
                reader.skip(size)
                skipped.append(tag)
                continue
            }
            let outer = reader.enter(size)
            try check(section)
            if section == .accounts {
                try accounts(count, redactable, names)
            } else {
                try read(section, count)
            }
            if !reader.isAtEnd { throw error(.malformed, section, "the section is larger than its rows") }
            reader.leave(outer)
        }
        if let redactable { try checkParts(redactable) }
        try checkTogether(head)
        var block = Block(
            number: head.number, term: head.term, time: head.time, previous: head.previous, position: head.position,
            rows: rows)
        block.skippedSections = skipped
        return block
    }

    /// What a section begins with: its tag, the count of its rows and their size. A row has a byte at least.
    private mutating func sectionHead(after last: UInt8) throws(BlockError) -> (UInt8, Int, Int) {
        let tag = reader.byte()
        let count = reader.number()
        let size = Int(reader.fixed32())
        let section = BlockSection(rawValue: tag)
        if let fault = reader.fault { throw error(fault.kind, section, "\(fault.words)") }
        if tag <= last { throw error(.malformed, section, "the sections are not in the order of their tags") }
        if size > reader.end - reader.place {
            throw error(.malformed, section, "the section is larger than what is left of the body")
        }
        if count < 1 { throw error(.malformed, section, "the section is empty") }
        if count > size { throw error(.malformed, section, "the section has more rows than bytes") }
        return (tag, Int(count), size)
    }

    private mutating func read(_ section: BlockSection, _ count: Int) throws(BlockError) {
        switch section {
        case .ledger: try ledger(count)
        case .currencies: try currencies(count)
        case .actors: try actors(count)
        case .accounts: preconditionFailure("accounts are read with the redactable part")
        case .headers: try headers(count)
        case .entries: try entries(count)
        case .transfers: try transfers(count)
        case .lots: try lots(count)
        case .purchases: try purchases(count)
        case .evidence: try evidence(count)
        case .assignments: try assignments(count)
        case .notifications: try notifications(count)
        case .requests: try requests(count)
        case .holds: try holds(count)
        case .closing: try closing(count)
        case .links: try links(count)
        case .consents: try consents(count)
        case .adjustments: try adjustments(count)
        case .externals: try externals(count)
        case .catalogs: try catalogs(count)
        case .erasures: try erasures(count)
        case .calls: try calls(count)
        case .statements: try statements(count)
        case .closings: try closings(count)
        }
    }

    /// What no section can tell by itself: sections that are missing beside others, and the first block.
    private func checkTogether(_ head: BlockHead) throws(BlockError) {
        if (head.number == 1) != (rows.ledger != nil) {
            throw error(.inconsistent, .ledger, "the first block, and no other, says whose books these are")
        }
        if transferCount != rows.transfers.count {
            throw error(.inconsistent, .transfers, "there are fewer than the entries have")
        }
        if let last = rows.entries.last, last.time != position.time {
            throw error(.inconsistent, .entries, "the position's time is not that of the last")
        }
        if namesMovedLots != rows.transfers.contains(where: \.namesMovedLot) {
            throw error(.malformed, .transfers, "none names a lot that moved, and the block is of version 2")
        }
        let opened = rows.transfers.reduce(into: 0) { if $1.lot == $1.id { $0 += 1 } }
        if opened != rows.lots.count { throw error(.inconsistent, .lots, "there are not as many as transfers open") }
        if firstEvidenceRead != firstEvidence.count {
            throw error(.inconsistent, .evidence, "a purchase has no first evidence")
        }
        if head.number == 1 && !rows.isAll(position) {
            throw error(.inconsistent, nil, "the position of the first block is not the count of its rows")
        }
    }

    /// The accounts that the block added; nothing else of it is read.
    mutating func addedAccounts() throws(BlockError) -> Range<PlayerID> {
        let head = try BlockHead(&reader, block: sealed.number)
        var last: UInt8 = 0
        while !reader.isAtEnd {
            let (tag, count, size) = try sectionHead(after: last)
            last = tag
            if tag == BlockSection.accounts.rawValue {
                let first = try before(head.position.account, count, .accounts) + 1
                return first..<head.position.account + 1
            }
            reader.skip(size)
        }
        return head.position.account + 1..<head.position.account + 1
    }
}

extension BlockRows {
    /// Whether these rows are all that the sequences have.
    func isAll(_ position: LastNumbers) -> Bool {
        position.currency == currencies.count && position.actor == actors.count && position.account == accounts.count
            && position.header == headers.count && position.entry == entries.count
            && position.transfer == transfers.count && position.evidence == evidence.count
            && position.assignment == assignments.count && position.notification == notifications.count
            && position.request == requests.count
    }
}
