#if canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A commit in a write-ahead log: how many frames there are up to its end, and the last one's salts and sum, which no
/// other frame has. Without frames: that the log has none.
struct WALCommit: Hashable {
    var frames = 0
    var salts: UInt64 = 0
    var sums: UInt64 = 0
}

/// The file of the tables' write-ahead log (https://sqlite.org/fileformat2.html#walformat), as it is read and changed
/// beside SQLite.
struct WriteAheadLog {
    static let suffix = "-wal"
    static let headerBytes = 32
    static let frameHeaderBytes = 24
    static let pageBytes = 4_096

    private let path: String

    /// - Parameter tables: the path of the tables.
    init(tables: String) { path = tables + WriteAheadLog.suffix }

    /// Has the file take its room on the disk, in zeros, which SQLite takes as the end of the log. Where there is no
    /// room now, the log grows as far as it can.
    func reserve(_ bytes: Int) {
        let descriptor = PlainFile.descriptor(of: path, O_WRONLY)
        if descriptor < 0 { return }
        defer { close(descriptor) }
        _ = posix_fallocate(descriptor, 0, off_t(bytes))
    }

    /// The commit that ends with so many frames; `nil` where it cannot be read.
    func commit(endingWith frames: Int) -> WALCommit? {
        if frames == 0 { return WALCommit() }
        let descriptor = PlainFile.descriptor(of: path, O_RDONLY)
        if descriptor < 0 { return nil }
        defer { close(descriptor) }
        return commit(endingWith: frames, descriptor)
    }

    /// Whether the commit is the next one after an earlier one, or the first of a log that was begun anew since: nobody
    /// else has added any in between.
    func follows(_ commit: WALCommit, _ earlier: WALCommit) -> Bool {
        let descriptor = PlainFile.descriptor(of: path, O_RDONLY)
        if descriptor < 0 { return false }
        defer { close(descriptor) }
        let first = commit.salts == earlier.salts && earlier.frames < commit.frames ? earlier.frames + 1 : 1
        return (first..<commit.frames).allSatisfy { frame in
            // A frame that ends a commit says how many pages the tables have then.
            words(descriptor, at: WriteAheadLog.place(ofFrame: frame)).map { $0[0] >> 32 == 0 } ?? false
        }
    }

    /// Makes durable what it has.
    func sync() -> Bool {
        let descriptor = PlainFile.descriptor(of: path, O_RDONLY)
        if descriptor < 0 { return false }
        defer { close(descriptor) }
        return fdatasync(descriptor) == 0
    }

    /// Whether it lost its end: a part of it is there, and not the commit.
    func lacks(_ commit: WALCommit) -> Bool {
        if commit.frames == 0 { return false }
        let descriptor = PlainFile.descriptor(of: path, O_RDONLY)
        if descriptor < 0 { return false }
        defer { close(descriptor) }
        return words(descriptor, at: 16)?.first == commit.salts
            && self.commit(endingWith: commit.frames, descriptor) != commit
    }

    /// Cuts off what comes after a commit, before SQLite reads the log.
    ///
    /// A log of other salts was begun anew behind the commit, when all of it was in the tables and durable; so nothing
    /// is lost with all of that log. Where the commit is not in the log, the log has lost its end, and is left as it
    /// is.
    /// - Returns: `false` where it cannot be done.
    func cut(after commit: WALCommit) -> Bool {
        let descriptor = PlainFile.descriptor(of: path, O_RDWR | O_CREAT)
        if descriptor < 0 { return false }
        defer { close(descriptor) }
        // A log that is not there becomes an empty one: for GRDB would make it by a transaction of its own.
        let salts = words(descriptor, at: 16)?.first
        if commit.frames == 0 || salts != commit.salts { return clear(descriptor, 0, WriteAheadLog.headerBytes) }
        guard self.commit(endingWith: commit.frames, descriptor) == commit else { return true }
        let next = WriteAheadLog.place(ofFrame: commit.frames + 1)
        guard words(descriptor, at: next + 8)?.first == salts else { return true }
        return clear(descriptor, next, WriteAheadLog.frameHeaderBytes)
    }

    /// Notes the frames up to a commit, as they are found.
    func note(through commit: WALCommit, in frames: OwnFrames) {
        if commit.frames == 0 { return }
        let descriptor = PlainFile.descriptor(of: path, O_RDONLY)
        if descriptor < 0 { return }
        defer { close(descriptor) }
        // A log of other salts is cut off whole.
        guard words(descriptor, at: 16)?.first == commit.salts else { return }
        let bytes = WriteAheadLog.frameHeaderBytes + WriteAheadLog.pageBytes
        withUnsafeTemporaryAllocation(byteCount: bytes, alignment: 8) { memory in
            for frame in 1...commit.frames {
                let place = off_t(WriteAheadLog.place(ofFrame: frame))
                guard pread(descriptor, memory.baseAddress, bytes, place) == bytes else { break }
                frames.note(FrameHeader(UnsafeRawBufferPointer(memory)), ofFrame: frame)
                let page = UnsafeMutableRawBufferPointer(rebasing: memory[WriteAheadLog.frameHeaderBytes...])
                frames.note(pageOfFrame: frame) { PageChecks.sumInFile(of: page, page: $0) }
            }
        }
        frames.found(endingWith: commit)
    }

    /// Where the header of a frame stands, from 1.
    static func place(ofFrame frame: Int) -> Int {
        headerBytes + (frame - 1) * (frameHeaderBytes + pageBytes)
    }

    /// The frame whose header stands at a place; `nil` where none does.
    static func frame(at place: Int64) -> Int? {
        let (frame, rest) = Int(place - Int64(headerBytes)).quotientAndRemainder(
            dividingBy: frameHeaderBytes + pageBytes)
        return place >= headerBytes && rest == 0 ? frame + 1 : nil
    }

    private func commit(endingWith frames: Int, _ descriptor: Int32) -> WALCommit? {
        words(descriptor, at: WriteAheadLog.place(ofFrame: frames) + 8).map {
            WALCommit(frames: frames, salts: $0[0], sums: $0[1])
        }
    }

    /// Two words, as they stand there.
    private func words(_ descriptor: Int32, at place: Int) -> [UInt64]? {
        var words: [UInt64] = [0, 0]
        let count = words.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, off_t(place)) }
        return count == 16 ? words : nil
    }

    private func clear(_ descriptor: Int32, _ place: Int, _ count: Int) -> Bool {
        let zeros = [UInt8](repeating: 0, count: count)
        return pwrite(descriptor, zeros, count, off_t(place)) == count && fdatasync(descriptor) == 0
    }
}
