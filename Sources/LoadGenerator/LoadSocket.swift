import Foundation
import LedgerWire

/// A connected socket, closed with its owner. Blocking until it is told otherwise.
final class LoadSocket {
    let descriptor: Int32

    init(_ address: ServerAddress) throws {
        switch address {
        case .tcp(let host, let port): descriptor = try LoadSocket.connectTCP(host, port, "\(address)")
        case .unix(let path): descriptor = try LoadSocket.connectUnix(path)
        }
    }

    deinit { close(descriptor) }

    func makeNonBlocking() throws {
        guard fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) == 0 else {
            throw LoadError(.machine, "cannot make a socket non-blocking: \(LoadSocket.reason())")
        }
    }

    /// Sends a line and waits for its answer, a line.
    func exchange(_ line: [UInt8]) throws -> String {
        var sent = 0
        while sent < line.count {
            let count = line[sent...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, LoadSocket.sendFlags)
            }
            guard count > 0 else { throw LoadError(.connection, "the connection was lost: \(LoadSocket.reason())") }
            sent += count
        }
        var answer: [UInt8] = []
        var byte: UInt8 = 0
        while true {
            guard recv(descriptor, &byte, 1, 0) == 1 else {
                throw LoadError(.connection, "the server closed a connection")
            }
            if byte == UInt8(ascii: "\n") { return String(decoding: answer, as: UTF8.self) }
            answer.append(byte)
            guard answer.count <= WireLimits.tokenBytesMax else {
                throw LoadError(.service, "the server's answer has no end")
            }
        }
    }

    /// A peer that is gone is an error of the call, not a signal.
    static let sendFlags = Int32(MSG_NOSIGNAL)

    static func reason() -> String { String(cString: strerror(errno)) }

    private static func connectTCP(_ host: String, _ port: Int, _ name: String) throws -> Int32 {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &found)
        guard status == 0 else {
            throw LoadError(.connection, "no service at \(name): \(String(cString: gai_strerror(status)))")
        }
        defer { freeaddrinfo(found) }
        var next = found
        while let entry = next?.pointee {
            let descriptor = socket(entry.ai_family, entry.ai_socktype, entry.ai_protocol)
            if descriptor >= 0 {
                if connect(descriptor, entry.ai_addr, entry.ai_addrlen) == 0 {
                    // Lines are sent whole: waiting for more to fill a segment would only delay them (RFC 896).
                    var on: Int32 = 1
                    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
                    return descriptor
                }
                close(descriptor)
            }
            next = entry.ai_next
        }
        throw LoadError(.connection, "no service at \(name): \(reason())")
    }

    private static func connectUnix(_ path: String) throws -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw LoadError(.machine, "cannot make a socket: \(reason())") }
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard status == 0 else {
            let reason = reason()
            close(descriptor)
            throw LoadError(.connection, "no service at unix:\(path): \(reason)")
        }
        return descriptor
    }
}
