import Foundation
import LedgerTestKit
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A line between a standby and its leader that is cut, waits and changes bytes, on Unix-domain sockets: seeded, and
/// with threads that block.
final class BadLine: Sendable {
    /// What it did.
    struct Done: Sendable {
        var connections = 0
        var cuts = 0
        var changed = 0
        var waits = 0
    }

    private struct State {
        var random: SplitMix64
        var done = Done()
        var isGood = false
        var isStopped = false
        var open: Set<Int32> = []
    }

    let address: String
    private let leader: String
    private let listener: Int32
    private let state: Mutex<State>

    var done: Done { state.withLock { $0.done } }

    /// - Parameters:
    ///   - path: where it listens.
    ///   - leader: the path of the leader's socket.
    init(at path: String, to leader: String, seed: UInt64) throws {
        address = "unix:" + path
        self.leader = leader
        state = Mutex(State(random: SplitMix64(seed: seed)))
        listener = try BadLine.socket(path) { bind($0, $1, $2) }
        guard listen(listener, 16) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        inThread { [self] in accepting() }
    }

    /// From now on everything passes as it is, on new connections.
    func becomeGood() {
        let open = state.withLock { state in
            state.isGood = true
            return state.open
        }
        for end in open { shutdown(end, Int32(SHUT_RDWR)) }
    }

    func stop() {
        let open = state.withLock { state in
            state.isStopped = true
            return state.open
        }
        for end in open { shutdown(end, Int32(SHUT_RDWR)) }
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    private static func socket(
        _ path: String, _ use: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws -> Int32 {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                use(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard code == 0 else {
            let error = POSIXError(.init(rawValue: errno) ?? .EIO)
            close(descriptor)
            throw error
        }
        return descriptor
    }

    private func accepting() {
        while true {
            let client = accept(listener, nil, nil)
            if client < 0 { return }
            guard let server = try? BadLine.socket(leader, { connect($0, $1, $2) }) else {
                close(client)
                continue
            }
            let isStopped = state.withLock { state in
                state.done.connections += 1
                state.open.formUnion([client, server])
                return state.isStopped
            }
            if isStopped { shutdown(client, Int32(SHUT_RDWR)) }
            let ends = Mutex(2)
            let ended: @Sendable () -> Void = { [self] in
                let isLast = ends.withLock { ends in
                    ends -= 1
                    return ends == 0
                }
                guard isLast else { return }
                state.withLock { $0.open.subtract([client, server]) }
                close(client)
                close(server)
            }
            inThread { [self] in pass(client, server, ended) }
            inThread { [self] in pass(server, client, ended) }
        }
    }

    /// Hands on what comes, until one side ends or the line is cut.
    private func pass(_ from: Int32, _ to: Int32, _ ended: @Sendable () -> Void) {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        loop: while true {
            let count = read(from, &buffer, buffer.count)
            if count <= 0 { break }
            var length = count
            let (isCut, wait) = state.withLock { state -> (Bool, UInt32) in
                if state.isGood { return (false, 0) }
                if state.random.chance(6) {
                    let place = Int.random(in: 0..<count, using: &state.random)
                    buffer[place] ^= 1 << UInt8.random(in: 0..<7, using: &state.random)
                    state.done.changed += 1
                }
                let isCut = state.random.chance(4)
                if isCut {
                    length = Int.random(in: 0..<count, using: &state.random)
                    state.done.cuts += 1
                }
                guard state.random.chance(10) else { return (isCut, 0) }
                state.done.waits += 1
                return (isCut, .random(in: 1...20, using: &state.random))
            }
            if wait > 0 { pause(milliseconds: wait) }
            var sent = 0
            while sent < length {
                let now = buffer.withUnsafeBytes { bytes in
                    send(to, bytes.baseAddress! + sent, length - sent, Int32(MSG_NOSIGNAL))
                }
                if now <= 0 { break loop }
                sent += now
            }
            if isCut { break }
        }
        shutdown(from, Int32(SHUT_RDWR))
        shutdown(to, Int32(SHUT_RDWR))
        ended()
    }
}
