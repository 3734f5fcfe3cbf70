#if canImport(Musl)
import Musl
#else
import Glibc
#endif

/// What of a disk can be written by who is not root.
struct DiskRoom {
    let free: UInt64
    let size: UInt64

    /// - Parameter path: of a file or folder on it. Blocks, for as long as the disk takes.
    /// - Returns: `nil` where that is not there.
    init?(at path: String) {
        var room = statvfs()
        guard statvfs(path, &room) == 0 else { return nil }
        free = UInt64(room.f_bavail) * UInt64(room.f_frsize)
        size = UInt64(room.f_blocks) * UInt64(room.f_frsize)
    }
}

/// What this process takes.
struct ProcessUse {
    let processorSeconds: Double
    /// `nil` where the system does not say.
    let residentBytes: UInt64?

    init() {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        processorSeconds = Double(time.tv_sec) + Double(time.tv_nsec) / 1_000_000_000
        residentBytes = ProcessUse.resident()
    }

    /// proc_pid_statm(5): "size resident …", in pages.
    private static func resident() -> UInt64? {
        guard let file = fopen("/proc/self/statm", "r") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        guard fgets(&line, Int32(line.count), file) != nil else { return nil }
        let words = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            .split(separator: " ")
        guard words.count > 1, let pages = UInt64(words[1]) else { return nil }
        return pages * UInt64(sysconf(Int32(_SC_PAGESIZE)))
    }
}

/// Milliseconds since the UNIX epoch.
func wallClock() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
}
