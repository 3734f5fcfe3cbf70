import Foundation
import LedgerWire
import Synchronization
import Testing

@testable import currency_ledger

/// What systemd learns of the service, and when.
@Suite(.serialized) struct ServiceManagerTests {
    @Test(arguments: [false, true])
    func theManagerHearsWhenTheServiceIsReadyWorksReloadsAndStops(isAbstract: Bool) async throws {
        let studio = try Studio()
        let manager = try ListeningManager(studio.folder, isAbstract: isAbstract)
        defer { manager.stop() }
        let service = try RunningService(
            studio.folder, environment: ["NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "400000"])
        try await manager.hears("READY=1") { $0.contains("READY=1") }
        try await manager.hears("how the service is") { lines in
            lines.contains { $0.hasPrefix("STATUS=Serving \(service.address): block ") }
        }
        // Each is sent after all parts have answered.
        try await manager.hears("three times that it works") { $0.count { $0 == "WATCHDOG=1" } >= 3 }
        kill(service.process.processIdentifier, SIGHUP)
        try await manager.hears("of the reload and its end") { lines in
            guard let begin = lines.firstIndex(of: "RELOADING=1") else { return false }
            return lines[begin...].contains("READY=1")
        }
        let heard = manager.heard
        let begin = try #require(heard.firstIndex(of: "RELOADING=1"))
        #expect(heard[begin + 1].wholeMatch(of: /MONOTONIC_USEC=[1-9][0-9]*/) != nil)
        #expect(heard.firstIndex(of: "READY=1").map { $0 < begin } == true)
        #expect(!heard.contains("STOPPING=1"))
        #expect(service.stop() == 0)
        try await manager.hears("STOPPING=1") { $0.contains("STOPPING=1") }
    }

    /// A service manager that is gone is no reason to end.
    @Test func aSocketThatNobodyReadsKeepsTheServiceFromNothing() throws {
        let studio = try Studio()
        let service = try RunningService(
            studio.folder, environment: ["NOTIFY_SOCKET": studio.folder.path("none"), "WATCHDOG_USEC": "400000"])
        #expect(service.stop() == 0)
    }

    @Test func onlyAManagersSocketAndOnlyItsOwnWatchdogAreHeeded() {
        #expect(ServiceManager(environment: [:]) == nil)
        #expect(ServiceManager(environment: ["NOTIFY_SOCKET": "vsock:2:1"]) == nil)
        let times: [(String, String?, UInt64?)] = [
            ("60000000", nil, 60_000_000), ("60000000", "7", 60_000_000), ("60000000", "8", nil), ("0", nil, nil),
            ("soon", nil, nil),
        ]
        for (time, process, expected) in times {
            var environment = ["NOTIFY_SOCKET": "/run/notify", "WATCHDOG_USEC": time]
            environment["WATCHDOG_PID"] = process
            #expect(ServiceManager(environment: environment, process: 7)?.watchdogMicroseconds == expected, "\(time)")
        }
        #expect(ServiceManager(environment: ["NOTIFY_SOCKET": "@manager"])?.watchdogMicroseconds == nil)
    }

    /// Parts whose answers a test holds back.
    private final class Held: Sendable {
        private let waiting = Mutex<[@Sendable () -> Void]>([])

        func ask(_ answered: @escaping @Sendable () -> Void) -> Int {
            waiting.withLock { $0 += [answered, answered] }
            return 2
        }

        func answer(_ count: Int) {
            let answers = waiting.withLock { waiting in
                defer { waiting.removeFirst(count) }
                return waiting.prefix(count)
            }
            for answer in answers { answer() }
        }
    }

    @Test func theWatchdogIsSilentWhileAPartDoesNotAnswer() {
        let (loops, others) = (Held(), Held())
        let watchdog = Watchdog(loops: loops.ask, others: others.ask, waitsForDisk: { false })
        // Nobody was asked before.
        #expect(watchdog.look())
        #expect(!watchdog.look())
        loops.answer(2)
        #expect(!watchdog.look())
        others.answer(1)
        loops.answer(2)
        #expect(!watchdog.look())
        others.answer(1)
        loops.answer(2)
        #expect(watchdog.look())
    }

    /// A restart would make no disk faster.
    @Test func aWaitForTheDiskExcusesWhatNeedsItAndNoEventLoop() {
        let (loops, others) = (Held(), Held())
        let watchdog = Watchdog(loops: loops.ask, others: others.ask, waitsForDisk: { true })
        #expect(watchdog.look())
        loops.answer(2)
        #expect(watchdog.look())
        others.answer(2)
        #expect(!watchdog.look())
    }

    @Test(arguments: [
        (["7 (ledger-write) S 1 7", "8 (ledger-append) D 1 7"], true),
        (["7 (ledger-write) S 1 7", "8 (ledger-append) R 1 7"], false),
        // A name may have brackets.
        (["7 (a) D (b) S 1 7"], false), (["7 (a) S (b) D 1 7"], true), ([], false),
    ])
    func aThreadWaitsForTheDiskWhereTheKernelSaysSo(lines: [String], waits: Bool) throws {
        let folder = try TemporaryFolder()
        for (number, line) in lines.enumerated() {
            try FileManager.default.createDirectory(
                atPath: folder.path("\(number)"), withIntermediateDirectories: false)
            try folder.write("\(number)/stat", line + "\n")
        }
        #expect(ProcessThreads.anyWaitsForDisk(in: folder.url.path) == waits)
    }
}
