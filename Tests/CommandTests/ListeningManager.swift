import Foundation
import Synchronization
import Testing

/// In the place of systemd: a datagram socket, and all lines that came to it.
final class ListeningManager: Sendable {
    /// As `NOTIFY_SOCKET` has it.
    let name: String
    private let descriptor: Int32
    private let lines = Mutex<[String]>([])

    /// - Parameter isAbstract: whether the socket has its name in no file system.
    init(_ folder: TemporaryFolder, isAbstract: Bool) throws {
        name = isAbstract ? "@currency-ledger-\(UUID().uuidString)" : folder.path("notify")
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        try #require(descriptor >= 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = isAbstract ? [0] + Array(name.utf8.dropFirst()) : Array(name.utf8)
        try #require(bytes.count < MemoryLayout.size(ofValue: address.sun_path))
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let start = try #require(MemoryLayout<sockaddr_un>.offset(of: \.sun_path))
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, socklen_t(start + bytes.count))
            }
        }
        try #require(code == 0)
        // It ends when the socket is shut down.
        Thread.detachNewThread { [self, descriptor] in
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = recv(descriptor, &buffer, buffer.count, 0)
                if count <= 0 { break }
                let text = String(decoding: buffer[..<count], as: UTF8.self)
                lines.withLock { $0 += text.split(separator: "\n").map(String.init) }
            }
            close(descriptor)
        }
    }

    /// What it has heard, in order.
    var heard: [String] { lines.withLock { $0 } }

    /// Waits until what it has heard is enough.
    func hears(_ what: String, _ isEnough: ([String]) -> Bool) async throws {
        for _ in 0..<1_200 {
            if isEnough(heard) { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        Issue.record("the service manager never heard \(what): \(heard)")
    }

    func stop() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}
