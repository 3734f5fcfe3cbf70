/// Why bytes are no block: a kind, by which callers decide, then words that name the section and the row.
package struct BlockError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// The block's form is of a later version, or the bytes are none of this program's.
        case unknownVersion
        /// The body is not the one whose hash is known.
        case hashMismatch
        /// Number, term or previous hash in the body are not those under which the log keeps it.
        case headMismatch
        /// The bytes are not in the canonical form.
        case malformed
        /// The bytes are in the form, but what they say cannot be: rows that contradict each other or their place.
        case inconsistent
        /// The redactable part does not belong to the body: a name or its salt was changed.
        case nameMismatch
    }

    package var kind: Kind
    /// The block's number as far as it is known; 0 where the bytes do not say it.
    package var block: BlockNumber
    /// Where in the body; `nil` for what stands above the sections.
    package var section: BlockSection?
    /// Which row of the section, from 1; `nil` for the section as a whole.
    package var row: Int?
    /// What is wrong; never values of rows.
    package var words: String

    package init(
        _ kind: Kind, block: BlockNumber, section: BlockSection? = nil, row: Int? = nil, _ words: String
    ) {
        self.kind = kind
        self.block = block
        self.section = section
        self.row = row
        self.words = words
    }

    package var description: String {
        var text = "block \(block)"
        if let section { text += ", \(section.name)" }
        if let row { text += " row \(row)" }
        return text + ": " + words
    }
}
