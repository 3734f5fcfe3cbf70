import Synchronization

/// The sums of the write-ahead log's frames that this program wrote, in memory: what another program adds to the log
/// while it is used, whether or not it heeds locks, is not believed where it is read.
///
/// Each frame's header has a sum that goes on from that of the frame before
/// (https://sqlite.org/fileformat2.html#walformat), so it fits no other frame of this log or an earlier one.
final class OwnFrames: Sendable {
    /// By frame, from 0; 0 of a frame that is not known.
    private let sums = Mutex<[UInt64]>([])

    /// The log is begun anew.
    func begin() { sums.withLock { $0.removeAll(keepingCapacity: true) } }

    /// A frame is written.
    /// - Parameters:
    ///   - sum: as it stands in its header.
    ///   - frame: from 1.
    func note(_ sum: UInt64, ofFrame frame: Int) {
        sums.withLock { sums in
            if frame > sums.count { sums += repeatElement(0, count: frame - sums.count) }
            sums[frame - 1] = sum
        }
    }

    /// Whether this program wrote the frame that stands there.
    func isOwn(_ sum: UInt64, ofFrame frame: Int) -> Bool {
        sums.withLock { frame <= $0.count && $0[frame - 1] == sum }
    }
}
