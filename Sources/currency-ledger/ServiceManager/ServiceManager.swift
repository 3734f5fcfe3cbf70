import Foundation
import Synchronization

/// Who started this process as a service and wants to hear of it: systemd, by the protocol of sd_notify(3), which is a
/// datagram of lines to the socket that the environment names. Where that cannot be sent, the service goes on: who
/// waits for it notices by itself.
final class ServiceManager: Sendable {
    /// Its socket; one whose name begins with `@` is in no file system.
    private let socket: String
    /// Within how many microseconds it wants to hear each time that the service works; `nil` where it does not.
    let watchdogMicroseconds: UInt64?
    private let isReady = Atomic(false)

    /// - Parameters:
    ///   - environment: that of the process.
    ///   - process: its own id, for which alone the watchdog's time is meant.
    /// - Returns: `nil` where nobody wants to hear of it.
    init?(environment: [String: String], process: Int32 = getpid()) {
        guard let socket = environment["NOTIFY_SOCKET"], socket.hasPrefix("/") || socket.hasPrefix("@") else {
            return nil
        }
        self.socket = socket
        let isOurs = environment["WATCHDOG_PID"].map { $0 == "\(process)" } ?? true
        let time = isOurs ? environment["WATCHDOG_USEC"].flatMap(UInt64.init) : nil
        watchdogMicroseconds = time == 0 ? nil : time
    }

    /// That of this process. Its variables are unset: no program that this one starts is the service.
    static func take() -> ServiceManager? {
        let manager = ServiceManager(environment: ProcessInfo.processInfo.environment)
        for variable in ["NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC"] { unsetenv(variable) }
        return manager
    }

    /// The service can do what it is asked.
    func ready() {
        isReady.store(true, ordering: .relaxed)
        send("READY=1")
    }

    /// It reads its settings again, until ``reloaded()``. Before it is ready nobody is told.
    func reloading() {
        guard isReady.load(ordering: .relaxed) else { return }
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        send("RELOADING=1\nMONOTONIC_USEC=\(Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000)")
    }

    /// It goes on, by the new settings or by the old ones.
    func reloaded() {
        if isReady.load(ordering: .relaxed) { send("READY=1") }
    }

    func stopping() { send("STOPPING=1") }

    /// It works: the next time of the watchdog begins.
    func working() { send("WATCHDOG=1") }

    /// How it is, as `systemctl status` shows it in one line.
    func status(_ words: String) { send("STATUS=\(words.replacing(/\s+/, with: " "))") }

    /// It is still starting, and may for a while more.
    func needsMore(seconds: Int64) { send("EXTEND_TIMEOUT_USEC=\(seconds * 1_000_000)") }

    private func send(_ lines: String) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var name = Array(socket.utf8)
        if socket.hasPrefix("@") { name[0] = 0 }
        let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 0
        guard name.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        // A manager that takes nothing any more keeps the service from nothing.
        var patience = timeval(tv_sec: 5, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        let size = socklen_t(start + name.count)
        _ = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                sendto(descriptor, lines, lines.utf8.count, Int32(MSG_NOSIGNAL), pointer, size)
            }
        }
    }
}
