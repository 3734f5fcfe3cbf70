/// What the index of the write-ahead log says of the log's last commit.
struct LogHeader: Hashable {
    var commit = WALCommit()
    /// Pages that the tables have then.
    var pages: UInt32 = 0

    /// Whether it names another one, or, where that log was copied whole, the next log, which has no commit yet: its
    /// first salt is one more (https://sqlite.org/fileformat2.html#walreset).
    func names(_ last: LogHeader) -> Bool {
        if commit.frames > 0 { return self == last }
        if last.commit.frames > 0 { return firstSalt == last.firstSalt &+ 1 && pages == last.pages }
        return last.commit.salts == 0 || commit.salts == last.commit.salts && pages == last.pages
    }

    private var firstSalt: UInt32 { UInt32(truncatingIfNeeded: commit.salts).byteSwapped }
}

/// The index of the write-ahead log, as a connection has it in its memory
/// (https://sqlite.org/walformat.html#walindex). Every connection shares it, and any program can write into its file;
/// so it is compared with what this program knows (``OwnFrames``).
struct LogIndex {
    struct Header: Hashable {
        /// As the first of its two copies says.
        let log: LogHeader
        /// Whether both say the same, and fit their sum.
        let isWhole: Bool
    }

    private static let headerBytes = 48
    /// Of both copies of the header, and what is known of copying and reading.
    private static let startBytes = 136
    private static let framesOfRegion = 4_096
    private static let framesOfFirst = framesOfRegion - startBytes / 4

    private var regions: [UnsafeMutableRawPointer?] = []

    /// SQLite maps a part of it.
    mutating func note(_ region: Int, at address: UnsafeMutableRawPointer) {
        if region >= regions.count { regions += repeatElement(nil, count: region + 1 - regions.count) }
        regions[region] = address
    }

    /// `nil` where it is not mapped.
    var header: Header? {
        guard let start = regions.first ?? nil else { return nil }
        let header = UnsafeRawBufferPointer(start: start, count: LogIndex.headerBytes)
        let second = UnsafeRawBufferPointer(start: start + LogIndex.headerBytes, count: LogIndex.headerBytes)
        func number(_ place: Int) -> UInt32 { header.load(fromByteOffset: place, as: UInt32.self) }
        // In the order of bytes in which they stand in the log.
        let sums = UInt64(number(24).bigEndian) | UInt64(number(28).bigEndian) << 32
        let commit = WALCommit(
            frames: Int(number(16)), salts: header.load(fromByteOffset: 32, as: UInt64.self), sums: sums)
        var sum: (UInt32, UInt32) = (0, 0)
        LogFrames.add(UnsafeRawBufferPointer(rebasing: header[..<40]), to: &sum)
        return Header(
            log: LogHeader(commit: commit, pages: number(20)),
            isWhole: header.elementsEqual(second) && sum == (number(40), number(44)))
    }

    /// The page that it says a frame has; `nil` where that is not mapped.
    func page(ofFrame frame: Int) -> UInt32? {
        let place = frame - 1 - LogIndex.framesOfFirst
        let region = place < 0 ? 0 : place / LogIndex.framesOfRegion + 1
        guard region < regions.count, let start = regions[region] else { return nil }
        let entry = place < 0 ? LogIndex.startBytes / 4 + frame - 1 : place % LogIndex.framesOfRegion
        return start.load(fromByteOffset: entry * 4, as: UInt32.self)
    }
}
