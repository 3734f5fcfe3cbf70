import Foundation
import LedgerWire
import NIOPosix

/// A socket and nothing else, for what no well-behaved client sends or leaves undone. Its calls block, so they run on
/// a thread pool; each waits ten seconds at most.
final class RawClient: @unchecked Sendable {
    struct Failure: Error {
        let description: String
        init(_ description: String) { self.description = "\(description): \(String(cString: strerror(errno)))" }
    }

    private let socket: Int32
    /// Used by one call at a time.
    private var received: [UInt8] = []

    /// - Parameter receiveBufferBytes: of the kernel, small where a test wants it full soon.
    init(_ address: ServerAddress, receiveBufferBytes: Int32? = nil) async throws {
        socket = try await RawClient.blocking { try RawClient.connect(address, receiveBufferBytes) }
    }

    deinit { close(socket) }

    private static func blocking<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws
        -> Result
    {
        try await NIOThreadPool.singleton.runIfActive(body)
    }

    private static func connect(_ address: ServerAddress, _ receiveBufferBytes: Int32?) throws -> Int32 {
        let descriptor: Int32
        let result: Int32
        switch address {
        case .tcp(_, let port):
            descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            if var bytes = receiveBufferBytes {
                setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
            }
            var socketAddress = sockaddr_in()
            socketAddress.sin_family = sa_family_t(AF_INET)
            socketAddress.sin_port = in_port_t(port).bigEndian
            socketAddress.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            result = withUnsafePointer(to: &socketAddress) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        case .unix(let path):
            descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            var socketAddress = sockaddr_un()
            socketAddress.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &socketAddress.sun_path) { $0.copyBytes(from: path.utf8) }
            result = withUnsafePointer(to: &socketAddress) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
        }
        guard result == 0 else { throw Failure("connect") }
        var timeout = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        return descriptor
    }

    /// The kernel's buffer for what the server receives from it, where the server is in this process; `nil` while the
    /// connection is not accepted.
    var receiveBufferBytesOfPeer: Int? {
        let port = RawClient.port(of: socket, getsockname)
        for descriptor in Int32(0)..<4_096
        where descriptor != socket && RawClient.port(of: descriptor, getpeername) == port {
            var bytes: Int32 = 0
            var length = socklen_t(MemoryLayout<Int32>.size)
            return getsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, &length) == 0 ? Int(bytes) : nil
        }
        return nil
    }

    /// - Parameter name: of which side.
    private static func port(
        of descriptor: Int32,
        _ name: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> in_port_t? {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { name(descriptor, $0, &length) }
        }
        return result == 0 && address.sin_family == sa_family_t(AF_INET) ? address.sin_port : nil
    }

    func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) async throws {
        try await RawClient.blocking { [socket] in
            var sent = 0
            while sent < bytes.count {
                let count = bytes.withUnsafeBytes {
                    Glibc.send(socket, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { throw Failure("send") }
                sent += count
            }
        }
    }

    /// Sends as much as the server takes without waiting; gives how much.
    func sendWithoutWaiting(_ bytes: [UInt8]) -> Int {
        max(
            0,
            bytes.withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            })
    }

    /// Whether the server has closed, and all it sent was read.
    var isEnded: Bool {
        var byte: UInt8 = 0
        return recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) == 0
    }

    func closeOutput() { shutdown(socket, Int32(SHUT_WR)) }

    /// The next line without its end; `nil` where the server has closed.
    func line() async throws -> String? {
        try await RawClient.blocking { [self] in
            var searched = 0
            while true {
                if let end = received[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                    let line = String(decoding: received[..<end], as: UTF8.self)
                    received.removeSubrange(...end)
                    return line
                }
                searched = received.count
                var chunk = [UInt8](repeating: 0, count: 65_536)
                let count = recv(socket, &chunk, chunk.count, 0)
                guard count >= 0 else { throw Failure("recv") }
                if count == 0 { return nil }
                received += chunk[..<count]
            }
        }
    }

    /// So many bytes.
    func bytes(_ count: Int) async throws -> [UInt8] {
        try await RawClient.blocking { [self] in
            while received.count < count {
                var chunk = [UInt8](repeating: 0, count: 65_536)
                let read = recv(socket, &chunk, chunk.count, 0)
                guard read > 0 else { throw Failure("recv after \(received.count) of \(count) bytes") }
                received += chunk[..<read]
            }
            defer { received.removeSubrange(..<count) }
            return Array(received[..<count])
        }
    }

    func lines(_ count: Int) async throws -> [String] {
        try await RawClient.blocking { [self] in
            var lines: [String] = []
            var start = 0
            while lines.count < count {
                if let end = received[start...].firstIndex(of: UInt8(ascii: "\n")) {
                    lines.append(String(decoding: received[start..<end], as: UTF8.self))
                    start = end + 1
                    continue
                }
                received.removeSubrange(..<start)
                start = 0
                var chunk = [UInt8](repeating: 0, count: 65_536)
                let read = recv(socket, &chunk, chunk.count, 0)
                guard read > 0 else { throw Failure("recv after \(lines.count) of \(count) lines") }
                received += chunk[..<read]
            }
            received.removeSubrange(..<start)
            return lines
        }
    }

    /// Sends requests, a line each, and reads as many replies.
    func ask(_ requests: [String]) async throws -> [JSON] {
        try await send(requests.joined(separator: "\n") + "\n")
        return try await lines(requests.count).map { try JSON($0) }
    }

    func ask(_ request: String) async throws -> JSON { try await ask([request])[0] }
}
