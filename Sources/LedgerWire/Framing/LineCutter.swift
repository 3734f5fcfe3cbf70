#if canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Finds lines in bytes as they come: the one place that knows how a line ends. It looks at each byte once, however
/// many pieces a line comes in, and holds no bytes itself.
package struct LineCutter {
    /// What stands at the front of the bytes.
    package enum Front: Hashable {
        /// A whole line, without its end. Empty lines before it, and its end, are not in the range.
        /// - end: where what follows it begins.
        case line(Range<Int>, end: Int)
        /// A line that is longer than may be, ended or not.
        case tooLong
        /// Less than a line, behind so many bytes of empty lines.
        case unfinished(empty: Int)
    }

    /// How long a line may be without its end; it may change at any time.
    package var lineBytesMax: Int
    /// How many bytes of empty lines stand at the front, and how much of the front is known to hold no other end.
    private var start = 0
    private var searched = 0

    package init(lineBytesMax: Int) { self.lineBytesMax = lineBytesMax }

    /// Says that bytes were taken away from the front.
    package mutating func dropped(_ count: Int) {
        start = max(start - count, 0)
        searched = max(searched - count, 0)
    }

    /// - Parameter bytes: those of the last time but for what was dropped, and more behind them.
    package mutating func front(of bytes: UnsafeRawBufferPointer) -> Front {
        guard let base = bytes.baseAddress else { return .unfinished(empty: 0) }
        while searched < bytes.count,
            let found = memchr(base + searched, Int32(UInt8(ascii: "\n")), bytes.count - searched)
        {
            let index = base.distance(to: UnsafeRawPointer(found))
            let length = (index > start && bytes[index - 1] == UInt8(ascii: "\r") ? index - 1 : index) - start
            // Asked again it is found again at once.
            searched = index
            if length > lineBytesMax { return .tooLong }
            if length > 0 { return .line(start..<start + length, end: index + 1) }
            start = index + 1
            searched = start
        }
        searched = bytes.count
        // One byte over, for it may be the `\r` before the end.
        return searched - start > lineBytesMax + 1 ? .tooLong : .unfinished(empty: start)
    }
}
