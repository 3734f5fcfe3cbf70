/// Where the chain of blocks is kept: the one thing that must not be lost, from which everything else is computed.
///
/// A log has one leader. The chain is the fence: block n is inserted if absent, so that of two writers who both
/// believe to lead one finds its block's place taken, and drops its books.
///
/// `settle`, `append`, `redact` and `close` are called from one thread at a time; `read` from any thread, also beside
/// these, and so is `checkRedactable`. All of them may block.
package protocol BlockLog: AnyObject, Sendable {
    /// The engine's name and version, for `info`.
    var engine: String { get }

    /// The last block that is known to be durable; `nil` in a log without one.
    var head: LogHead? { get }

    /// The first block that can be read; those before it are in archives that cannot be read here. Called from any
    /// thread; it may look at files.
    var first: BlockNumber { get }

    /// Settles what is in doubt, and appends nothing. When it returns, ``head`` is the last block that there is, and
    /// none that was in doubt will come after it; or, where the store cannot tell yet whether one is there, the next
    /// append tells: it finds its number taken, and throws `notAppended`. So only who has appended a block of its own,
    /// as ``lead(_:)`` does, knows the head for certain.
    ///
    /// In a log that several nodes may lead it makes this node the leader: it waits until the lease of another is over.
    ///
    /// Called before the first append, and again after an append that threw.
    /// - Throws: ``LogError``: `notAppended` or `unknown` where it can be tried again, `superseded` where another
    ///   leads, `corrupt`.
    func settle() throws(LogError)

    /// Returns only where nobody else can have led since this writer's last append or ``settle()``: what is read of the
    /// head is answered after that. Called from one thread at a time, together with `append`; it may have to ask.
    /// - Throws: ``LogError`` where another leads, or where that cannot be known now.
    func confirmLead() throws(LogError)

    /// Appends the block after the head: one that this writer made, or one of the leader that a standby follows. When
    /// it returns, the block is durable.
    /// - Throws: ``LogError``; after any of them only ``settle()`` helps. `notAppended`: the block is not there and
    ///   never will be. `unknown`: it may be there, or come back; `settle` finds out. `superseded`: another writer's
    ///   block stands there.
    func append(_ block: SealedBlock) throws(LogError)

    /// Appends blocks that follow each other, as ``append(_:)`` does each of them. When it returns, all are durable;
    /// where it throws, some of them may be, the first ones.
    func append(_ blocks: [SealedBlock]) throws(LogError)

    /// Blocks in their order, beginning with the one after `number`: at least one where there is one, more while all
    /// together have no more than `bytesMax` bytes. Only durable blocks are given.
    /// - Throws: ``LogError`` `corrupt`, which names the block and where it stands, `archived` where that is an archive
    ///   that cannot be read here, or `unknown` where it cannot be read now.
    func read(after number: BlockNumber, bytesMax: Int) throws(LogError) -> [SealedBlock]

    /// Puts other bytes, of the same count, in place of a block's redactable part. Durable when it returns.
    /// - Throws: ``LogError``
    func redact(_ number: BlockNumber, _ redactable: [UInt8]) throws(LogError)

    /// Looks whether ``redact(_:_:)`` of a durable block can be carried out, as far as that is known before. Called
    /// from any thread.
    /// - Throws: ``LogError`` `corrupt` where the block's place is damaged, which is named, or `unknown` where it
    ///   cannot be read or written now.
    func checkRedactable(_ number: BlockNumber) throws(LogError)

    /// Gives the log's files or connections back. Nothing may be called after it.
    func close()
}

extension BlockLog {
    package var first: BlockNumber { 1 }

    package func append(_ blocks: [SealedBlock]) throws(LogError) {
        for block in blocks { try append(block) }
    }

    /// A log that keeps every other writer out has nothing to confirm.
    package func confirmLead() throws(LogError) {}

    /// Takes the lead: settles what is in doubt, appends the block that `termBlock` makes, and gives it back. When it
    /// returns, every block up to that one is durable, and no other ever was or will be in its place.
    /// - Parameter termBlock: makes the block after the last one that the log was found to have (`nil`: it has none
    ///   yet), of the next term.
    /// - Throws: what ``settle()`` and ``append(_:)`` throw, and what `termBlock` throws.
    package func lead(_ termBlock: (SealedBlock?) throws -> SealedBlock) throws -> SealedBlock {
        try settle()
        return try beginTerm(termBlock)
    }

    /// Appends the first block of a term, right after ``settle()``.
    /// - Parameter termBlock: as of ``lead(_:)``.
    /// - Throws: what ``append(_:)`` throws, and what `termBlock` throws.
    package func beginTerm(_ termBlock: (SealedBlock?) throws -> SealedBlock) throws -> SealedBlock {
        let last = try head.map { try read(after: $0.number - 1, bytesMax: 0) } ?? []
        let block = try termBlock(last.first)
        try append(block)
        return block
    }
}

/// A log's failure: a kind, by which callers decide, then words.
package struct LogError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// Nothing was appended, for certain; it may be tried again.
        case notAppended
        /// Nobody can know at this moment; `settle` finds out.
        case unknown
        /// Another writer leads.
        case superseded
        /// What is stored is not what was written. Trying again does not help.
        case corrupt
        /// The block is whole, in an archive that this process cannot read. It helps to say where that is.
        case archived
    }

    package var kind: Kind
    /// What was being done, with what, and what went wrong; never values of rows.
    package var description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}
