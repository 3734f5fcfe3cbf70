import Synchronization

/// The frames of the write-ahead log that this program wrote, in memory, and what it committed of them: what another
/// program adds to the log while it is used, whether or not it heeds locks, is not believed where it is read, and
/// neither is an older frame of a page in the place of the newest one.
///
/// Each frame's header has a sum that goes on from that of the frame before
/// (https://sqlite.org/fileformat2.html#walformat), so it fits no other frame of this log or an earlier one. Which
/// frame has a page, SQLite looks up in the log's index, a file that connections share as memory (``LogIndex``), where
/// any bit may be another one. So a read transaction sees the commit that the index names only where that is the last
/// one (``judge(_:isWhole:)``), and of each page only the newest frame up to that commit.
///
/// There are as many frames as the log has: 24 bytes for each, and 4 for each page of the tables.
final class OwnFrames: Sendable {
    /// What a read transaction sees: so many frames of one of the logs that the file had one after the other.
    struct Snapshot: Hashable {
        let log: Int
        let frames: Int
    }

    enum Judgement {
        /// What was committed last is what the index names.
        case isRight(Snapshot)
        /// This program is changing it.
        case isBeingWritten
        case isWrong
    }

    private struct Frame {
        /// From 1; 0 of a frame that is not known.
        let page: UInt32
        /// The frame before of the same page; 0 where there is none.
        let previous: UInt32
        var sum: UInt64
        /// The sum that the page has in the tables' file when the frame is copied there.
        var copy: UInt64 = 0
    }

    private struct State {
        /// By frame, from 0.
        var frames: [Frame] = []
        /// The newest frame of each page, by page from 0; 0 where there is none.
        var newest: [UInt32] = []
        /// How many logs were begun before.
        var log = 0
        /// What the index says of the last commit; `nil` where it is to say so itself. It has no frames while the log
        /// has no commit, and no salts while they are not known.
        var last: LogHeader? = LogHeader()
        /// What it said before, until the transaction is over that commits.
        var previous: LogHeader?
        /// The commit whose frames are written, and the index does not name it yet.
        var written: LogHeader?
        /// Whether this program has the lock for writing.
        var isBeingWritten = false

        mutating func drop(after count: Int) {
            while frames.count > count {
                let frame = frames.removeLast()
                if frame.page > 0 { newest[Int(frame.page) - 1] = frame.previous }
            }
        }

        mutating func append(page: UInt32, sum: UInt64) {
            if page > newest.count { newest += repeatElement(0, count: Int(page) - newest.count) }
            let previous = page > 0 ? newest[Int(page) - 1] : 0
            frames.append(Frame(page: page, previous: previous, sum: sum))
            if page > 0 { newest[Int(page) - 1] = UInt32(frames.count) }
        }

        /// The newest frame of a page among the first ones; 0 where there is none.
        func newest(of page: Int, through count: Int) -> Int {
            guard page > 0, page <= newest.count else { return 0 }
            var frame = Int(newest[page - 1])
            while frame > count { frame = Int(frames[frame - 1].previous) }
            return frame
        }
    }

    private let state = Mutex(State())

    // MARK: Writing

    /// The log's own header is written: it is begun anew.
    /// - Parameter salts: as they stand there.
    func begin(salts: UInt64) {
        state.withLock { state in
            state.drop(after: 0)
            state.log += 1
            state.written = nil
            // The index named the end of the log before, and then none in a log with the next salts. Of a log that was
            // empty it does not know them yet.
            if let last = state.last, last.commit.frames > 0 {
                state.last = LogHeader(commit: WALCommit(frames: 0, salts: salts, sums: 0), pages: last.pages)
            }
        }
    }

    /// A frame's header is written.
    func note(_ header: FrameHeader, ofFrame frame: Int) {
        state.withLock { state in
            if frame <= state.frames.count && state.frames[frame - 1].page == header.page {
                // In the same transaction, once more.
                state.frames[frame - 1].sum = header.sum
            } else {
                state.drop(after: frame - 1)
                while state.frames.count < frame - 1 { state.append(page: 0, sum: 0) }
                state.append(page: header.page, sum: header.sum)
            }
            if header.pages > 0 {
                state.written = LogHeader(
                    commit: WALCommit(frames: frame, salts: header.salts, sums: header.sum), pages: header.pages)
            }
        }
    }

    /// A frame's page is written.
    /// - Parameter copy: the sum that it has in the tables' file, by the page's number.
    func note(pageOfFrame frame: Int, _ copy: (Int) -> UInt64) {
        state.withLock { state in
            guard frame <= state.frames.count, state.frames[frame - 1].page > 0 else { return }
            state.frames[frame - 1].copy = copy(Int(state.frames[frame - 1].page))
        }
    }

    /// The log was found with the frames that are noted.
    /// - Parameter commit: what it ends with, unless something of it was lost; then SQLite finds where it ends.
    func found(endingWith commit: WALCommit) {
        state.withLock { state in
            state.last = state.written?.commit == commit ? state.written : nil
            state.written = nil
        }
    }

    /// This program has the lock for writing.
    func beginWriting() { state.withLock { $0.isBeingWritten = true } }

    /// The first copy of the index's header is written, which SQLite does when all of a commit is in log and index.
    /// - Returns: what the writer sees from now on; `nil` where it commits nothing.
    func commit() -> Snapshot? {
        state.withLock { state in
            guard let written = state.written.take() else { return nil }
            state.previous = state.last
            state.last = written
            return Snapshot(log: state.log, frames: written.commit.frames)
        }
    }

    /// This program gives the lock for writing back; what was not committed is not there any more.
    func endWriting() {
        state.withLock { state in
            state.previous = nil
            state.written = nil
            state.isBeingWritten = false
            if let last = state.last { state.drop(after: last.commit.frames) }
        }
    }

    // MARK: Reading

    /// Compares what the index says of the last commit with that commit.
    /// - Parameter isWhole: whether the index says it as SQLite writes it.
    func judge(_ header: LogHeader, isWhole: Bool = true) -> Judgement {
        state.withLock { state in
            if state.last == nil && isWhole { OwnFrames.take(header, in: &state) }
            if isWhole {
                if let last = state.last, header.names(last) {
                    return .isRight(Snapshot(log: state.log, frames: last.commit.frames))
                }
                if let previous = state.previous, header.names(previous) {
                    return .isRight(Snapshot(log: state.log, frames: previous.commit.frames))
                }
            }
            return state.isBeingWritten ? .isBeingWritten : .isWrong
        }
    }

    /// What SQLite found as the end of a log that lost its own is an earlier commit.
    private static func take(_ header: LogHeader, in state: inout State) {
        let frames = header.commit.frames
        if frames == 0 {
            state.last = LogHeader()
        } else if frames <= state.frames.count, state.frames[frames - 1].sum == header.commit.sums {
            state.last = header
        } else {
            return
        }
        state.drop(after: frames)
    }

    /// The page that a frame has, where this program wrote the frame that stands there, and a read transaction sees no
    /// newer one of the page.
    /// - Parameters:
    ///   - sum: as it stands in its header.
    ///   - frame: from 1.
    ///   - snapshot: of the read transaction; `nil` where the log is copied.
    func page(ofFrame frame: Int, _ sum: UInt64, in snapshot: Snapshot?) -> UInt32? {
        state.withLock { state in
            guard frame <= state.frames.count, state.frames[frame - 1].sum == sum else { return nil }
            let page = state.frames[frame - 1].page
            guard let snapshot else { return page }
            let isNewest = state.newest(of: Int(page), through: snapshot.frames) == frame
            return snapshot.log == state.log && isNewest ? page : nil
        }
    }

    /// The sum that a page must have in the tables' file for a read transaction that finds it there; `nil` where any
    /// is right that was written last.
    func copy(ofPage page: Int, in snapshot: Snapshot) -> UInt64? {
        state.withLock { state in
            // A log was begun anew: all of the one before is in the file, and stays as it is while it is read there.
            guard snapshot.log == state.log else { return nil }
            let frame = state.newest(of: page, through: snapshot.frames)
            return frame > 0 ? state.frames[frame - 1].copy : nil
        }
    }

    // MARK: Copying

    /// Whether a page with this sum may be written into the tables' file: it is what a committed frame of it has.
    func isCopy(_ sum: UInt64, ofPage page: Int) -> Bool {
        state.withLock { state in
            // Tables that are being made are written without a log at first.
            if state.frames.isEmpty { return true }
            var frame = state.newest(of: page, through: state.last?.commit.frames ?? 0)
            while frame > 0 {
                if state.frames[frame - 1].copy == sum { return true }
                frame = Int(state.frames[frame - 1].previous)
            }
            return false
        }
    }

    /// How many pages the tables have as of the last commit.
    var pages: Int { state.withLock { Int($0.last?.pages ?? 0) } }

    /// How many frames the last commit ends with.
    var committed: Int { state.withLock { $0.last?.commit.frames ?? 0 } }

    /// The sum of each page in the tables' file, by page from 0, when all that was committed is copied there.
    var copies: [(page: Int, sum: UInt64)] {
        state.withLock { state in
            guard let last = state.last else { return [] }
            return state.frames.prefix(last.commit.frames).enumerated().compactMap { place, frame in
                let page = Int(frame.page)
                guard page <= last.pages, state.newest(of: page, through: last.commit.frames) == place + 1 else {
                    return nil
                }
                return (page - 1, frame.copy)
            }
        }
    }
}
