#if Postgres
import Foundation
import LedgerTestKit
import Synchronization

/// What happens to an append on its way to the server, or to its answer. The server commits its transaction when it has
/// read its Sync message (protocol, "Extended Query").
enum NetworkFault: Hashable, Sendable {
    /// Nothing of it reaches the server.
    case cutBefore
    /// The server carries it out, and is never told to commit.
    case cutBeforeCommit
    /// The server is told to commit, and the connection is gone when it answers.
    case cutAfterCommit
    /// The server commits and answers, and the answer is lost.
    case loseReply
    /// The server is sent it twice, and the answer to the second is lost.
    case duplicate
    case delay(milliseconds: Int)
    case delayReply(milliseconds: Int)
}

/// A server's socket at another place. It passes messages on, and knows enough of PostgreSQL's protocol to see where
/// those of an append begin and end. Each connection has a thread for each direction.
final class FaultyProxy: Sendable {
    private struct Plan {
        /// Asked at each append what happens to it.
        var fault: @Sendable () -> NetworkFault? = { nil }
        var isHeld = false
        var appends = 0
        var connections: [Int32] = []
    }

    /// Where its socket is.
    let folder: String
    private let target: String
    private let listener: Int32
    private let plan = Mutex(Plan())

    init(of server: PostgresServer) throws {
        folder =
            FileManager.default.temporaryDirectory
            .appendingPathComponent("ledger-proxy-\(UInt32.random(in: 0 ... .max))").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        target = server.socket
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let code = FaultyProxy.withAddress("\(folder)/.s.PGSQL.\(PostgresServer.port)") { bind(listener, $0, $1) }
        guard code == 0, listen(listener, 20) == 0 else {
            throw PostgresServer.Failure(description: "the proxy cannot listen: errno \(errno)")
        }
        inThread { [self] in accept() }
    }

    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        plan.withLock { plan in
            plan.isHeld = false
            for connection in plan.connections { shutdown(connection, Int32(SHUT_RDWR)) }
        }
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// What happens to the appends that come from now on, one after the other.
    func fail(_ faults: NetworkFault...) {
        let rest = Mutex(faults)
        decide { rest.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
    }

    /// - Parameter fault: asked at each append that comes from now on.
    func decide(_ fault: @escaping @Sendable () -> NetworkFault?) { plan.withLock { $0.fault = fault } }

    /// Passes nothing on until ``release()``: both sides believe that the other one is slow.
    func hold() { plan.withLock { $0.isHeld = true } }
    func release() { plan.withLock { $0.isHeld = false } }

    /// Passes nothing on for a while, and returns at once.
    func hold(milliseconds: Int) {
        hold()
        inThread { [self] in
            usleep(UInt32(milliseconds) * 1000)
            release()
        }
    }

    /// How many appends came.
    var appends: Int { plan.withLock { $0.appends } }

    // MARK: - Connections

    /// One connection's two sockets, and what is to become of the next answer.
    private final class Link: Sendable {
        enum Reply {
            case pass
            case lose
            case delay(milliseconds: Int)
            /// This one passes, and the one behind it does not.
            case passOne
            case skipOne
        }

        let client: Int32
        let server: Int32
        let reply = Mutex(Reply.pass)
        private let users = Mutex(2)

        init(client: Int32, server: Int32) {
            self.client = client
            self.server = server
        }

        /// Whether the answer to a statement that was sent twice is still to come.
        var isAnswering: Bool {
            reply.withLock { reply in
                switch reply {
                case .passOne, .skipOne: true
                case .pass, .lose, .delay: false
                }
            }
        }

        func cut() {
            shutdown(client, Int32(SHUT_RDWR))
            shutdown(server, Int32(SHUT_RDWR))
        }

        /// One direction is done with; the second closes both sockets.
        func leave() {
            cut()
            let isLast = users.withLock { users in
                users -= 1
                return users == 0
            }
            if isLast {
                close(client)
                close(server)
            }
        }
    }

    private func accept() {
        while true {
            let client = Foundation.accept(listener, nil, nil)
            guard client >= 0 else { break }
            let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            guard FaultyProxy.withAddress(target, { connect(server, $0, $1) }) == 0 else {
                close(client)
                close(server)
                continue
            }
            let link = Link(client: client, server: server)
            plan.withLock { $0.connections += [client] }
            inThread { [self] in forward(link) }
            inThread { [self] in answer(link) }
        }
        close(listener)
    }

    /// From the client to the server, up to each Sync at once.
    private func forward(_ link: Link) {
        defer {
            plan.withLock { plan in plan.connections.removeAll { $0 == link.client } }
            link.leave()
        }
        // The first message has no type.
        guard var group = message(link.client, hasType: false) else { return }
        guard write(link.server, group) else { return }
        group = []
        var isAppend = false
        while let message = message(link.client, hasType: true) {
            isAppend = isAppend || FaultyProxy.bindsAppend(message)
            let isEnd = [UInt8(ascii: "S"), UInt8(ascii: "Q"), UInt8(ascii: "X")].contains(message.first)
            if !isEnd {
                group += message
                continue
            }
            waitWhileHeld()
            while link.isAnswering { usleep(200) }
            let fault = isAppend ? nextFault() : nil
            switch fault {
            case .cutBefore: return
            case .cutBeforeCommit:
                _ = write(link.server, group)
                usleep(3000)
                return
            case .cutAfterCommit:
                link.reply.withLock { $0 = .lose }
                _ = write(link.server, group + message)
                return
            case .loseReply: link.reply.withLock { $0 = .lose }
            case .duplicate:
                link.reply.withLock { $0 = .passOne }
                guard write(link.server, group + message) else { return }
            case .delay(let milliseconds): usleep(UInt32(milliseconds) * 1000)
            case .delayReply(let milliseconds): link.reply.withLock { $0 = .delay(milliseconds: milliseconds) }
            case nil: break
            }
            guard write(link.server, group + message) else { return }
            group = []
            isAppend = false
        }
    }

    private func nextFault() -> NetworkFault? {
        let fault = plan.withLock { plan in
            plan.appends += 1
            return plan.fault
        }
        return fault()
    }

    /// From the server to the client.
    private func answer(_ link: Link) {
        defer {
            link.reply.withLock { $0 = .lose }
            link.leave()
        }
        while let message = message(link.server, hasType: true) {
            waitWhileHeld()
            let isReady = message.first == UInt8(ascii: "Z")
            switch link.reply.withLock({ $0 }) {
            case .pass: break
            case .lose:
                if isReady { return }
                continue
            case .passOne: if isReady { link.reply.withLock { $0 = .skipOne } }
            case .skipOne:
                if isReady { link.reply.withLock { $0 = .pass } }
                continue
            case .delay(let milliseconds):
                usleep(UInt32(milliseconds) * 1000)
                link.reply.withLock { $0 = .pass }
            }
            guard write(link.client, message) else { return }
        }
    }

    private func waitWhileHeld() { while plan.withLock({ $0.isHeld }) { usleep(1000) } }

    /// Whether it gives values (Bind) to one of the statements that append.
    private static func bindsAppend(_ message: [UInt8]) -> Bool {
        guard message.first == UInt8(ascii: "B") else { return false }
        let names = message.dropFirst(5).split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
        return names.count > 1 && String(decoding: names[1], as: UTF8.self).hasPrefix("append")
    }

    /// A whole message; `nil` at the connection's end.
    private func message(_ socket: Int32, hasType: Bool) -> [UInt8]? {
        guard var bytes = read(socket, hasType ? 5 : 4) else { return nil }
        let count = bytes.suffix(4).reduce(0) { $0 << 8 | Int($1) }
        guard count >= 4, let rest = read(socket, count - 4) else { return nil }
        bytes += rest
        return bytes
    }

    private func read(_ socket: Int32, _ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var done = 0
        while done < count {
            let more = bytes.withUnsafeMutableBytes { recv(socket, $0.baseAddress! + done, count - done, 0) }
            guard more > 0 else { return nil }
            done += more
        }
        return bytes
    }

    private func write(_ socket: Int32, _ bytes: [UInt8]) -> Bool {
        var done = 0
        while done < bytes.count {
            let more = bytes.withUnsafeBytes {
                send(socket, $0.baseAddress! + done, bytes.count - done, Int32(MSG_NOSIGNAL))
            }
            guard more > 0 else { return false }
            done += more
        }
        return true
    }

    private static func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
        }
    }
}
#endif
