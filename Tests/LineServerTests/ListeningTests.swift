import Foundation
import Ledger
import LedgerTestKit
import LedgerWire
import NIOConcurrencyHelpers
import Testing

@testable import LineServer

extension ServerTests {
    /// Where the server listens, and who may do what.
    @Suite struct Listening {
        private static func socketPath() -> String {
            FileManager.default.temporaryDirectory.appendingPathComponent("ledger-\(UUID().uuidString.prefix(8)).sock")
                .path
        }

        private static func failure(
            listen: [ServerAddress], tokens: [Token] = [], store: MemoryStore = MemoryStore(),
            allowsInsecurePlaintext: Bool = false
        ) async -> String? {
            do {
                try await TestServer.run(
                    store: store, listen: listen, tokens: tokens, allowsInsecurePlaintext: allowsInsecurePlaintext
                ) { _ in }
                return nil
            } catch let error as ServerError {
                #expect(
                    error.kind
                        == (error.description.contains("from other machines")
                            ? .unprotected
                            : error.description.hasSuffix("another server does") ? .alreadyServed : .unavailable))
                return "\(error)"
            } catch {
                return "\(error)"
            }
        }

        @Test func oneLineSaysWhereItListens() async throws {
            let logs = LogCapture()
            let path = Self.socketPath()
            try await TestServer.run(
                listen: [.tcp(host: "127.0.0.1", port: 0), .unix(path: path), .tcp(host: "localhost", port: 0)],
                logs: logs
            ) { server in
                #expect(server.addresses.count == 3)
                let addresses = server.addresses.map(\.description).joined(separator: " ")
                #expect(logs.lines.contains("listening addresses=\(addresses)"))
                #expect(logs.lines.contains { $0.contains("no tokens") && $0.contains("admin") })
                #expect(server.addresses[1] == .unix(path: path))
                for address in server.addresses.prefix(2) {
                    let pong = try await RawClient(address).ask(Requests.ping(3))
                    #expect(pong.id == 3)
                }
            }
            #expect(!FileManager.default.fileExists(atPath: path))
        }

        @Test func withoutTokensAndTLSOtherMachinesCannotConnect() async throws {
            let store = MemoryStore()
            let message = try #require(
                await Self.failure(
                    listen: [.tcp(host: "127.0.0.1", port: 0), .tcp(host: "0.0.0.0", port: 0)], store: store))
            #expect(message.contains("0.0.0.0:0") && message.contains("no tokens are configured"))
            #expect(message.contains("TLS is not configured"))
            #expect(store.isClosed)
            let everywhere = [ServerAddress.tcp(host: "0.0.0.0", port: 0)]
            let tokens = [Token(token: "t", role: .admin)]
            let withTokens = try #require(await Self.failure(listen: everywhere, tokens: tokens))
            #expect(!withTokens.contains("tokens") && withTokens.contains("insecurePlaintext"))
            let plaintext = try #require(await Self.failure(listen: everywhere, allowsInsecurePlaintext: true))
            #expect(plaintext.contains("no tokens are configured") && !plaintext.contains("TLS"))
            #expect(await Self.failure(listen: everywhere, tokens: tokens, allowsInsecurePlaintext: true) == nil)
        }

        @Test func anAddressInUseIsAClearError() async throws {
            let path = Self.socketPath()
            try await TestServer.run(listen: [.tcp(host: "127.0.0.1", port: 0), .unix(path: path)]) { server in
                for address in server.addresses {
                    let message = try #require(await Self.failure(listen: [address]))
                    let why = address == .unix(path: path) ? "another server does" : "Address already in use"
                    #expect(message == "cannot listen on \(address): \(why)")
                }
                // The one who was there first is still there.
                let pong = try await RawClient(.unix(path: path)).ask(Requests.ping(1))
                #expect(pong.id == 1)
            }
        }

        @Test func whatIsNoAddressOfThisMachineIsAClearError() async throws {
            let file = Self.socketPath()
            try Data("a letter".utf8).write(to: URL(fileURLWithPath: file))
            let folder = FileManager.default.temporaryDirectory.path
            for path in [file, folder] {
                let message = await Self.failure(listen: [.unix(path: path)])
                #expect(
                    message
                        == "cannot listen on unix:\(path): what is at this path is no socket; it is left as it is")
            }
            #expect(try String(contentsOfFile: file, encoding: .utf8) == "a letter")
            try FileManager.default.removeItem(atPath: file)
            let nowhere = await Self.failure(listen: [.unix(path: "\(file)/socket")])
            #expect(nowhere == "cannot listen on unix:\(file)/socket: No such file or directory")
            let unknown = try #require(await Self.failure(listen: [.tcp(host: "nobody.invalid", port: 0)]))
            #expect(unknown.hasPrefix("cannot listen on nobody.invalid:0: the host nobody.invalid is not known: "))
            // 192.0.2.0/24 is nobody's (RFC 5737).
            let other = await Self.failure(
                listen: [.tcp(host: "192.0.2.1", port: 0)], tokens: [.init(token: "t", role: .admin)],
                allowsInsecurePlaintext: true)
            #expect(other == "cannot listen on 192.0.2.1:0: Cannot assign requested address")
        }

        @Test(arguments: [0o660, 0o600, 0o666] as [UInt32])
        func aSocketFileHasItsModeWhateverTheUmask(mode: UInt32) async throws {
            for mask in [0, 0o077] as [mode_t] {
                let path = Self.socketPath()
                let before = umask(mask)
                defer { umask(before) }
                try await TestServer.run(listen: [.unix(path: path)], socketMode: mode) { server in
                    var status = stat()
                    #expect(stat(path, &status) == 0 && status.st_mode & 0o7777 == mode)
                    let pong = try await RawClient(server.address).ask(Requests.ping(1))
                    #expect(pong.id == 1)
                }
            }
        }

        /// Another thread looks all the time, under a umask that takes nothing away.
        @Test func aSocketFileIsAtNoMomentWider() async throws {
            let path = Self.socketPath()
            let before = umask(0)
            defer { umask(before) }
            let looks = NIOLockedValueBox((count: 0, modes: Set<mode_t>(), isOver: false))
            Thread.detachNewThread {
                while !looks.withLockedValue({ $0.isOver }) {
                    var status = stat()
                    guard stat(path, &status) == 0 else { continue }
                    let mode = status.st_mode & 0o7777
                    looks.withLockedValue {
                        $0.count += 1
                        $0.modes.insert(mode)
                    }
                }
            }
            // As often as it takes for the other thread to have looked often enough.
            for _ in 0..<100_000 where looks.withLockedValue({ $0.count }) < 1_000 {
                let descriptor = try UnixSocket.bind(path, mode: 0o600)
                // Nobody can connect to what does not listen yet.
                close(descriptor)
            }
            let (count, seen, _) = looks.withLockedValue { looks in
                looks.isOver = true
                return looks
            }
            unlink(path)
            #expect(seen == [0o600] && count >= 1_000, "\(seen.map { String($0, radix: 8) }), \(count) looks")
        }

        @Test func aSocketWhoseQueueIsFullIsNotTakenOver() async throws {
            let path = Self.socketPath()
            let listener = try UnixSocket.bind(path, mode: 0o600)
            defer {
                close(listener)
                unlink(path)
            }
            #expect(try !UnixSocket.isServed(path), "it does not listen yet")
            #expect(listen(listener, 1) == 0)
            // None of them is ever accepted.
            for _ in 0..<8 { #expect(try UnixSocket.isServed(path)) }
            let message = await Self.failure(listen: [.unix(path: path)])
            #expect(message == "cannot listen on unix:\(path): another server does")
            #expect(try UnixSocket.isServed(path))
        }

        @Test func whereTheSystemDoesNotSayWhetherSomebodyListensNothingIsTakenOver() async throws {
            let path = Self.socketPath()
            let datagrams = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
            defer {
                close(datagrams)
                unlink(path)
            }
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            let bound = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(datagrams, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            #expect(bound == 0)
            let message = await Self.failure(listen: [.unix(path: path)])
            #expect(message == "cannot listen on unix:\(path): Protocol wrong type for socket")
            #expect(FileManager.default.fileExists(atPath: path))
        }

        @Test func aShutdownLeavesTheSocketOfASuccessor() async throws {
            let path = Self.socketPath()
            let successor = NIOLockedValueBox<Int32>(-1)
            try await TestServer.run(listen: [.unix(path: path)]) { _ in
                #expect(unlink(path) == 0)
                let descriptor = try UnixSocket.bind(path, mode: 0o600)
                #expect(listen(descriptor, 1) == 0)
                successor.withLockedValue { $0 = descriptor }
            }
            #expect(try UnixSocket.isServed(path))
            close(successor.withLockedValue { $0 })
            unlink(path)
        }

        @Test func aSocketFileLeftBehindIsTakenOver() async throws {
            let path = Self.socketPath()
            try await TestServer.run(listen: [.unix(path: path)]) { _ in
                let copy = path + ".kept"
                try FileManager.default.linkItem(atPath: path, toPath: copy)
            }
            try FileManager.default.moveItem(atPath: path + ".kept", toPath: path)
            try await TestServer.run(listen: [.unix(path: path)]) { server in
                let pong = try await RawClient(server.address).ask(Requests.ping(1))
                #expect(pong.id == 1)
            }
        }

        @Test func aWrongTokenChangesNothing() async throws {
            try await TestServer.run(
                tokens: [.init(token: "right", role: .game)], limits: { $0.wrongTokensMax = 5 }
            ) { server in
                let client = try await server.connect()
                let replies = try await client.ask([
                    Requests.authenticate("righ"), Requests.authenticate("right "), Requests.authenticate(""),
                    Requests.balance("a"), Requests.authenticate("right"), Requests.authenticate("wrong"),
                    Requests.balance("a"),
                ])
                #expect(replies[0].reason == "unauthenticated" && replies[1].reason == "unauthenticated")
                #expect(replies[2].reason != nil)
                #expect(replies[3].reason == "unauthenticated")
                #expect(replies[4].result["role"].string == "game")
                #expect(replies[5].reason == "unauthenticated")
                #expect(replies[6].result["account"].string == "a")
            }
        }
    }
}
