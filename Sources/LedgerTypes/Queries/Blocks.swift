/// The name by which a leader knows a standby: 1 … 64 letters, digits, `_`, `-`, `.` and `:`. Two standbys of one
/// name count as one.
public struct StandbyName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The name.
    public let text: String

    /// `nil` where a character is not allowed, or there are too many or none.
    public init?(_ text: String) {
        let isAllowed = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: ":"):
                true
            default: false
            }
        }
        guard isAllowed, !text.isEmpty, text.utf8.count <= Limits.standbyNameBytesMax else { return nil }
        self.text = text
    }

    /// Names are ordered as text.
    public static func < (left: StandbyName, right: StandbyName) -> Bool { left.text < right.text }

    /// The name.
    public var description: String { text }
}

/// Which blocks of the chain a standby asks for, and what it says of itself with that.
package struct BlocksQuery: Hashable, Sendable {
    package var standby: StandbyName
    /// Only blocks after this one; 0 for the beginning.
    package var after: Int64
    /// The hash of that block, as the standby has it: 32 bytes, zeros for block 0.
    package var hash: [UInt8]
    /// The last block that is durable at the standby. Not after `after`.
    package var durable: Int64
    /// Where nothing is newer yet, how long the first new block is waited for, 0 …
    /// ``Limits/blocksWaitMillisecondsMax``.
    package var waitMilliseconds: Int64
    /// At most so many bytes of blocks; but one at least, where there is one.
    package var bytesMax: Int

    package init(
        standby: StandbyName, after: Int64, hash: [UInt8], durable: Int64, waitMilliseconds: Int64 = 0,
        bytesMax: Int = Limits.blocksPageBytesDefault
    ) {
        self.standby = standby
        self.after = after
        self.hash = hash
        self.durable = durable
        self.waitMilliseconds = waitMilliseconds
        self.bytesMax = bytesMax
    }
}

/// Blocks of the chain, in their order.
package struct BlocksPage: Hashable, Sendable {
    /// A block as the log keeps it.
    package struct Block: Hashable, Sendable {
        /// SHA-256 of the body: 32 bytes.
        package var hash: [UInt8]
        /// The canonical bytes of the block's rows.
        package var body: [UInt8]
        /// What the hash does not cover, and may be erased.
        package var redactable: [UInt8]

        package init(hash: [UInt8], body: [UInt8], redactable: [UInt8]) {
            self.hash = hash
            self.body = body
            self.redactable = redactable
        }
    }

    /// Empty where nothing is newer.
    package var blocks: [Block]
    /// The number of the last block that is durable at the leader.
    package var head: Int64

    package init(blocks: [Block], head: Int64) {
        self.blocks = blocks
        self.head = head
    }
}

/// What became of a promotion.
public struct Promotion: Hashable, Sendable {
    /// Whether this ledger was a standby, which it is no more; `false` where it had the lead already.
    public var promoted: Bool
    /// The last block of its chain.
    public var block: Int64
    /// The term in which it leads.
    public var term: Int64

    /// What became of a promotion.
    public init(promoted: Bool, block: Int64, term: Int64) {
        self.promoted = promoted
        self.block = block
        self.term = term
    }
}

/// What became of a lead that was to be given to another node.
public struct Handover: Hashable, Sendable {
    /// Whether this node led, and gave the lead back; `false` where the ledger is not one of several nodes.
    public var steppedDown: Bool
    /// The last block that it appended.
    public var block: Int64

    /// What became of a lead that was to be given to another node.
    public init(steppedDown: Bool, block: Int64) {
        self.steppedDown = steppedDown
        self.block = block
    }
}
