import Foundation

/// What the kernel says of the server's process (proc(5)).
struct ServerProbe {
    let pid: Int32

    /// Counters that only grow.
    struct Counters {
        var cpuSeconds: Double
        /// Bytes that reached the disk's queue, as far as this process is charged for them.
        var writtenBytes: Int64
        /// Bytes handed to write(2) and its like, to files and sockets alike.
        var wcharBytes: Int64
    }

    struct Memory {
        var residentBytes: Int64
        var residentPeakBytes: Int64
    }

    func counters() throws -> Counters {
        let stat = try text("stat")
        // The name, in parentheses, may hold anything.
        guard let end = stat.lastIndex(of: ")") else { throw unreadable("stat") }
        let fields = stat[stat.index(after: end)...].split(separator: " ")
        let clockTicks = sysconf(Int32(_SC_CLK_TCK))
        // utime and stime are the 14th and the 15th field, of which the third is the first here.
        guard fields.count > 12, let user = Int64(fields[11]), let system = Int64(fields[12]), clockTicks > 0 else {
            throw unreadable("stat")
        }
        let io = try text("io")
        guard let written = ServerProbe.number("write_bytes:", in: io), let wchar = ServerProbe.number("wchar:", in: io)
        else { throw unreadable("io") }
        return Counters(
            cpuSeconds: Double(user + system) / Double(clockTicks), writtenBytes: written, wcharBytes: wchar)
    }

    func memory() throws -> Memory {
        let status = try text("status")
        guard let resident = ServerProbe.number("VmRSS:", in: status),
            let peak = ServerProbe.number("VmHWM:", in: status)
        else { throw unreadable("status") }
        return Memory(residentBytes: resident * 1_024, residentPeakBytes: peak * 1_024)
    }

    private func text(_ name: String) throws -> String {
        do {
            return try String(contentsOfFile: "/proc/\(pid)/\(name)", encoding: .utf8)
        } catch {
            throw unreadable(name)
        }
    }

    private func unreadable(_ name: String) -> LoadError {
        LoadError(.plan, "--pid: /proc/\(pid)/\(name) cannot be read")
    }

    private static func number(_ name: String, in text: String) -> Int64? {
        for line in text.split(separator: "\n") where line.hasPrefix(name) {
            return line.dropFirst(name.count).split(whereSeparator: \.isWhitespace).first.flatMap { Int64($0) }
        }
        return nil
    }
}

/// Processor time of this process, all threads.
enum OwnProcess {
    static func cpuSeconds() -> Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }
}
