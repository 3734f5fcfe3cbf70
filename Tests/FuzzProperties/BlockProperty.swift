import Ledger

/// A block is refused by name, or it is the only form of its rows: sealed again, they are the same bytes. Its hash and
/// its names are checked, and stay right when a name is erased.
enum BlockProperty {
    private static let hashIsRight: UInt8 = 1

    /// An input is flags, the names behind their count, and the body.
    static func check(_ bytes: [UInt8]) -> Bool {
        var input = InputReader(bytes)
        let flags = input.byte()
        let redactable = input.field()
        let body = input.all()
        let digest = Digest(of: body, SampleLedger.hash)
        let named = read { () throws(BlockError) in
            try SealedBlock(body: body, redactable: redactable, hash: digest)
        }
        guard let sealed = named else { return false }
        if flags & hashIsRight == 0 { checkWrongHash(sealed) }
        let whole = open(sealed, .form)
        checkParts(sealed, whole)
        guard let whole else { return false }
        if let checked = open(sealed, .hashes(SampleLedger.hash)), !isLater(checked), !hasErased(checked) {
            let again = seal(checked, redactable)
            require(again.body == sealed.body, "a block's rows have one form")
            // Parts of later versions stand behind the names.
            require(redactable.starts(with: again.redactable), "names have one form")
        }
        guard !isLater(whole), !hasErased(whole) else { return false }
        checkSealedAgain(whole, redactable)
        return true
    }

    /// Sealed again, the digests of the names are right, whatever they were.
    private static func checkSealedAgain(_ block: Block, _ redactable: [UInt8]) {
        let sealed = seal(block, redactable)
        require(redactable.starts(with: sealed.redactable), "names have one form")
        guard let again = open(sealed, .hashes(SampleLedger.hash)) else {
            fatalError("the property does not hold: a block that was sealed is refused")
        }
        require(seal(again, redactable) == sealed, "a block's rows have one form")
        var erased = sealed
        erased.redactable = certain("erasing names") {
            try sealed.redactable(erasing: Set(block.rows.accounts.map(\.id)))
        }
        require(erased.redactable.count == sealed.redactable.count, "erasing changes no count")
        guard let without = open(erased, .hashes(SampleLedger.hash)) else {
            fatalError("the property does not hold: a block whose names were erased is refused")
        }
        require(without.rows.accounts.allSatisfy { $0.name == nil }, "what is erased is gone")
        require(without.rows.entries == block.rows.entries, "what is not a name stays")
    }

    private static func checkWrongHash(_ sealed: SealedBlock) {
        let other = SealedBlock(
            number: sealed.number, term: sealed.term, previous: sealed.previous, hash: .zero, body: sealed.body,
            redactable: sealed.redactable)
        do throws(BlockError) {
            _ = try Block(opening: other, checks: .hashes(SampleLedger.hash))
            fatalError("the property does not hold: a block is opened whose hash is wrong")
        } catch {
            require(error.kind == .hashMismatch && error.block == sealed.number, "a wrong hash is named")
        }
    }

    /// The ways to read less of a block say the same.
    private static func checkParts(_ sealed: SealedBlock, _ whole: Block?) {
        let lean = read { () throws(BlockError) in
            try Block(opening: sealed, checks: .form, evidence: .leftOut)
        }
        require((lean == nil) == (whole == nil), "a block without its evidence is read where the whole is")
        let bodyOnly = open(sealed, .bodyOnly)
        guard let whole else { return }
        require(lean?.rows.entries == whole.rows.entries, "its entries are the same without the evidence")
        require(lean?.rows.transfers == whole.rows.transfers, "its transfers are the same without the evidence")
        require(bodyOnly?.rows.entries == whole.rows.entries, "its entries are the same without the names")
        let added = read { () throws(BlockError) in try sealed.addedAccounts() }
        require(added.map { Array($0) } == whole.rows.accounts.map(\.id), "its accounts are found without its rows")
    }

    private static func open(_ sealed: SealedBlock, _ checks: Block.Checks) -> Block? {
        read { () throws(BlockError) in try Block(opening: sealed, checks: checks) }
    }

    private static func read<Value>(_ body: () throws(BlockError) -> Value) -> Value? {
        do throws(BlockError) {
            return try body()
        } catch {
            require(!error.words.isEmpty, "a refusal says why")
            return nil
        }
    }

    private static func isLater(_ block: Block) -> Bool { !block.skippedSections.isEmpty }
    private static func hasErased(_ block: Block) -> Bool { block.rows.accounts.contains { $0.name == nil } }

    private static func seal(_ block: Block, _ redactable: [UInt8]) -> SealedBlock {
        var salts = SaltsAgain(redactable)
        return SealedBlock(sealing: block, salts: &salts, hash: SampleLedger.hash)
    }

    static var seeds: [[UInt8]] {
        (SampleLedger.blocks + [SampleLedger.laterBlock]).flatMap { block in
            [0, hashIsRight].map { [$0] + block.redactable.asField + block.body }
        }
    }
}

/// The salts of a redactable part in which no name is erased, in their order.
struct SaltsAgain: RandomNumberGenerator {
    private var words: [UInt64] = []

    init(_ redactable: [UInt8]) {
        var place = 0
        while place + 18 <= redactable.count {
            redactable.withUnsafeBytes { bytes in
                words.append(bytes.loadUnaligned(fromByteOffset: place + 2, as: UInt64.self))
                words.append(bytes.loadUnaligned(fromByteOffset: place + 10, as: UInt64.self))
            }
            place += 18 + Int(redactable[place + 1])
        }
        words.reverse()
    }

    mutating func next() -> UInt64 { words.popLast() ?? 0 }
}
