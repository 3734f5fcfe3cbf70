/// An input of ``BlockProperty`` in its parts (docs: BlockFormat): one of them is changed, and the sizes of all stay
/// right.
struct BlockParts {
    private struct Section {
        var tag: UInt8
        /// As it is written: a number of seven bits a byte.
        var count: [UInt8]
        var rows: [UInt8]
    }

    private var flags: UInt8
    private var redactable: [UInt8]
    /// What stands above the sections.
    private var head: [UInt8]
    private var sections: [Section] = []

    /// Version, number, term, time and the hash before; then the last number of ten sequences, and a time.
    private static let fixedHeadBytes = 60
    private static let headNumbers = 11

    /// `nil` where the input is not of this form.
    private init?(_ bytes: [UInt8]) {
        var input = InputReader(bytes)
        flags = input.byte()
        redactable = input.field()
        head = input.bytes(BlockParts.fixedHeadBytes)
        for _ in 0..<BlockParts.headNumbers { head += BlockParts.number(&input) }
        if input.isAtEnd { return }
        while !input.isAtEnd {
            let tag = input.byte()
            let count = BlockParts.number(&input)
            let size = Int(input.integer(UInt32.self))
            let rows = input.bytes(size)
            if rows.count < size || count.isEmpty { return nil }
            sections.append(Section(tag: tag, count: count, rows: rows))
        }
    }

    private static func number(_ input: inout InputReader) -> [UInt8] {
        var bytes: [UInt8] = []
        while !input.isAtEnd {
            bytes.append(input.byte())
            if bytes[bytes.count - 1] < 0x80 { break }
        }
        return bytes
    }

    private var bytes: [UInt8] {
        var bytes = [flags] + redactable.asField + head
        for section in sections {
            bytes.append(section.tag)
            bytes += section.count
            bytes += (0..<4).map { UInt8(truncatingIfNeeded: section.rows.count >> (24 - 8 * $0)) }
            bytes += section.rows
        }
        return bytes
    }

    /// Numbers at which something changes, and a form that none has.
    private static let edges: [[UInt8]] =
        [0, 1, 1 << 53 - 1, 1 << 53, UInt64(Int64.max), .max].map { number in
            var bytes: [UInt8] = []
            var rest = number
            while rest >= 0x80 {
                bytes.append(UInt8(rest & 0x7F) | 0x80)
                rest >>= 7
            }
            return bytes + [UInt8(rest)]
        } + [[0x80, 0]]

    /// With an edge for the number at some place.
    private static func withEdge(_ rows: [UInt8], _ choice: inout Choice) -> [UInt8] {
        guard !rows.isEmpty else { return rows }
        let place = choice.of(rows.count)
        let end = rows[place...].firstIndex { $0 < 0x80 } ?? rows.count - 1
        return Array(rows[..<place]) + edges[choice.of(edges.count)] + rows[(end + 1)...]
    }

    /// Changes a part that the number chooses, or in one of four cases any bytes.
    static func change(_ input: [UInt8], _ number: UInt32, _ body: ([UInt8]) -> [UInt8]) -> [UInt8] {
        var choice = Choice(number)
        guard choice.of(4) > 0, var parts = BlockParts(input) else { return body(input) }
        let part = choice.of(parts.sections.count + 2)
        switch part {
        case parts.sections.count: parts.redactable = Array(body(parts.redactable).prefix(0xFFFF))
        case parts.sections.count + 1: parts.head = body(parts.head)
        case _:
            switch choice.of(8) {
            case 0: parts.sections[part].count = body(parts.sections[part].count)
            case 1: parts.sections.remove(at: part)
            case 2:
                // A row more, where a row is as long as the others.
                let rows = parts.sections[part].rows
                let row = rows.count / max(Int(parts.sections[part].count[0]), 1)
                parts.sections[part].rows += rows.suffix(row)
                parts.sections[part].count[0] &+= 1
            case 3, 4: parts.sections[part].rows = withEdge(parts.sections[part].rows, &choice)
            case _: parts.sections[part].rows = body(parts.sections[part].rows)
            }
        }
        return parts.bytes
    }
}
