import Foundation
import LedgerClient
import LedgerWire
import Testing

/// The service as a process that may have few files open.
@Suite(.serialized) struct DescriptorTests {
    private static let token = "the game's own token"

    private static func studio() throws -> Studio {
        let studio = try Studio()
        try studio.folder.write(
            "ledger.json",
            """
            {"path": "ledger", "listen": ["127.0.0.1:0"], "tokens": \(Studio.tokens(("game", "admin", token))),
             "app": {"bundleId": "com.example.game", "environment": "Sandbox"},
             "anchors": ["root.der"], "catalog": "catalog.json"}
            """)
        return studio
    }

    private static func connect(_ service: RunningService) async throws -> LedgerClient {
        try await LedgerClient.connect(
            to: try ServerAddress(service.address), token: token,
            configuration: ClientConfiguration(requestTimeoutMilliseconds: 60_000, connectTimeoutMilliseconds: 60_000))
    }

    /// Sockets that connect and say nothing.
    private final class Strangers {
        private(set) var sockets: [Int32] = []

        /// - Parameter hosts: from so many addresses of this machine in turn.
        init(_ count: Int, from hosts: Int = 1, to address: String) throws {
            guard case .tcp(_, let port) = try ServerAddress(address) else { return }
            for number in 0..<count {
                let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
                if hosts > 1 {
                    var own = sockaddr_in()
                    own.sin_family = sa_family_t(AF_INET)
                    own.sin_addr.s_addr = UInt32(0x7F00_0001 + number % hosts).bigEndian
                    let result = withUnsafePointer(to: &own) {
                        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                            Glibc.bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                        }
                    }
                    #expect(result == 0)
                }
                var address = sockaddr_in()
                address.sin_family = sa_family_t(AF_INET)
                address.sin_port = in_port_t(port).bigEndian
                address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
                let result = withUnsafePointer(to: &address) {
                    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                    }
                }
                #expect(result == 0)
                sockets.append(socket)
            }
        }

        deinit { for socket in sockets { close(socket) } }
    }

    private static func limit(_ service: RunningService) throws -> (soft: Int, hard: Int) {
        let text = try String(contentsOfFile: "/proc/\(service.process.processIdentifier)/limits", encoding: .utf8)
        let match = try #require(text.firstMatch(of: /Max open files +(\d+) +(\d+)/))
        return (try #require(Int(match.1)), try #require(Int(match.2)))
    }

    private static func openFiles(_ service: RunningService) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(service.process.processIdentifier)/fd").count
    }

    /// Clock ticks, of which a second has a hundred.
    private static func processorTicks(_ service: RunningService) throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(service.process.processIdentifier)/stat", encoding: .utf8)
        let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
        return (Int(fields[12]) ?? 0) + (Int(fields[13]) ?? 0)
    }

    @Test func theLimitIsRaisedAtTheStart() throws {
        let studio = try Self.studio()
        let service = try RunningService(studio.folder, through: "ulimit -Sn 64")
        let limit = try Self.limit(service)
        #expect(limit.soft == limit.hard && limit.soft > 64)
        let few = try service.said.contains("fewer connections are served")
        #expect(few == (limit.hard < 1_248))
        #expect(service.stop() == 0)
    }

    @Test func fewFilesLeaveFewerPlacesAndEverythingElseGoesOn() async throws {
        let studio = try Self.studio()
        let service = try RunningService(studio.folder, through: "ulimit -n 300")
        #expect(try service.said.contains("fewer connections are served than could be"))
        #expect(try service.said.contains("connections=76"))
        let client = try await Self.connect(service)
        let strangers = try Strangers(400, to: service.address)
        // Connections are let in side by side, so one that comes with so many may be taken for an older one.
        for _ in 0..<200 where try !service.said.contains("connections that had not authenticated were closed") {
            try await Task.sleep(for: .milliseconds(20))
        }
        try await Task.sleep(for: .milliseconds(500))
        // Clients with a token come in, write and read the log and the tables.
        for number in 0..<20 {
            let other = try await Self.connect(service)
            let account = try #require(AccountName("player-\(number)"))
            _ = try await other.credit(signedTransaction: try studio.purchase(number), account: account)
            #expect(try await client.balance(account).balances.isEmpty == false)
            #expect(try await other.journal(after: 0, limit: 1).entries.count == 1)
            try await other.close()
        }
        #expect(try Self.openFiles(service) < 300)
        #expect(try !service.said.contains("cannot be accepted"), "places end before descriptors do")
        withExtendedLifetime(strangers) {}
        try await client.close()
        #expect(service.stop() == 0)
    }

    /// As many as there are places at all, from sixteen addresses, and as many again: those who have a token come in,
    /// between them and after them, and who is in stays.
    @Test func aThousandStrangersThatNeverAuthenticateLockNobodyOut() async throws {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let count = 1_024
        try #require(
            Int(clamping: limit.rlim_cur) >= 2 * count + 200, "the tests may have too few files open (ulimit -Hn)")
        let studio = try Self.studio()
        let service = try RunningService(studio.folder)
        let before = try Self.openFiles(service)
        let early = try await Self.connect(service)
        var strangers: [Strangers] = []
        for round in 0..<2 {
            strangers.append(try Strangers(count, from: 16, to: service.address))
            // Of all these the newest stay: those that had to go are gone when the service has no more than these open.
            #expect(try await eventually { try Self.openFiles(service) <= before + 128 + 22 })
            for number in 0..<20 {
                let late = try await Self.connect(service)
                let account = try #require(AccountName("player-\(round)-\(number)"))
                _ = try await late.credit(
                    signedTransaction: try studio.purchase(round * 20 + number), account: account)
                #expect(try await early.balance(account).balances.first?.balance.available == 500)
                try await late.close()
            }
        }
        #expect(try service.said.contains("connections that had not authenticated were closed"))
        #expect(try !service.said.contains("cannot be accepted"))
        withExtendedLifetime(strangers) {}
        try await early.close()
        #expect(service.stop() == 0)
    }

    @Test func tooFewFilesForOneConnectionAreAClearError() throws {
        let studio = try Self.studio()
        let finished = try Command.run(
            URL(fileURLWithPath: "/bin/sh"),
            [
                "-c", "ulimit -n 100; exec \"$0\" \"$@\"", Command.executable.path, "serve", "--create", "--config",
                studio.folder.path("ledger.json"),
            ])
        #expect(finished.status == 1 && finished.error.contains("may have 100 files open"), "\(finished.error)")
    }

    /// Somebody takes the descriptors away while it runs: connections wait, nothing spins, and the log says it.
    @Test func withoutDescriptorsConnectionsWaitAndNothingSpins() async throws {
        let studio = try Self.studio()
        let service = try RunningService(studio.folder)
        let pid = service.process.processIdentifier
        let client = try await Self.connect(service)
        let account = try #require(AccountName("player-1"))
        _ = try await client.credit(signedTransaction: try studio.purchase(1), account: account)
        let limit = try Self.limit(service)
        func setLimit(_ soft: Int) throws {
            let set = try Command.run(
                URL(fileURLWithPath: "/usr/bin/env"), ["prlimit", "--pid=\(pid)", "--nofile=\(soft):\(limit.hard)"])
            #expect(set.status == 0, "\(set.error)")
        }
        try setLimit(1)
        let strangers = try Strangers(3, to: service.address)
        async let waiting = Self.connect(service)
        for _ in 0..<200 where try !service.said.contains("connections cannot be accepted") {
            try await Task.sleep(for: .milliseconds(50))
        }
        let ticks = try Self.processorTicks(service)
        try await Task.sleep(for: .seconds(2))
        let used = try Self.processorTicks(service) - ticks
        #expect(used < 100, "\(used) hundredths of a second within two")
        // Who is connected is served, from the log and from the tables.
        #expect(try await client.balance(account).balances.isEmpty == false)
        #expect(try await client.journal(after: 0, limit: 1).entries.count == 1)
        let said = try service.said.matches(of: /connections cannot be accepted; it is tried again/).count
        #expect(said == 1, "said \(said) times")
        try setLimit(limit.soft)
        let late = try await waiting
        #expect(try await late.balance(account).balances.isEmpty == false)
        withExtendedLifetime(strangers) {}
        try await late.close()
        try await client.close()
        #expect(service.stop() == 0)
    }
}
