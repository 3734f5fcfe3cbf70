package import Ledger

#if canImport(Musl)
import Musl
#else
import Glibc
#endif

extension SQLiteProjection {
    /// Says how much room tables need that are made anew, where the disk may not have it.
    /// - Parameters:
    ///   - path: where the tables are, or are to be.
    ///   - entries: of which they are made.
    package static func wantOfRoom(at path: String, entries: EntryID) -> String? {
        let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        var status = statvfs()
        guard statvfs(folder, &status) == 0 else { return nil }
        let free = Int64(clamping: UInt64(status.f_bavail) &* UInt64(status.f_frsize))
        let (rows, isHuge) = entries.multipliedReportingOverflow(by: SQLiteLimits.bytesPerEntry)
        let needed = (isHuge ? Int64.max / 2 : rows) + Int64(SQLiteLimits.walBytesKept)
        if free >= needed { return nil }
        return
            """
            tables that are made anew need about \(mebibytes(needed)) MiB at most, beside the old ones, and the disk \
            of \(folder) has \(mebibytes(free)) MiB left
            """
    }

    private static func mebibytes(_ bytes: Int64) -> Int64 { bytes / (1 << 20) + (bytes % (1 << 20) > 0 ? 1 : 0) }
}
