/// Where a byte of a text stands, as an editor counts: the first character is in line 1, column 1.
package struct JSONPlace: Hashable, Sendable, CustomStringConvertible {
    package private(set) var line = 1
    /// In characters (Unicode scalars), whatever their width; a tab is one.
    package private(set) var column = 1

    /// The text's beginning.
    package init() {}

    /// The place of the byte at `offset`; that behind the last byte for any later one.
    package init(of offset: Int, in bytes: [UInt8]) {
        self.init()
        pass(bytes.prefix(offset))
    }

    /// Goes on behind `bytes`, which begin here.
    package mutating func pass(_ bytes: ArraySlice<UInt8>) {
        for byte in bytes {
            if byte == UInt8(ascii: "\n") {
                line += 1
                column = 1
            } else if byte & 0xC0 != 0x80 {
                // RFC 3629 §3: every byte of a character but its first is 10xxxxxx.
                column += 1
            }
        }
    }

    /// As compilers write it, and editors read it.
    package var description: String { "\(line):\(column)" }
}
