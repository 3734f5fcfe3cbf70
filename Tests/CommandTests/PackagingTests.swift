import Foundation
import Testing

@testable import currency_ledger

/// What is cheap to know of the package; `.ci/test-package` builds it and installs it.
@Suite struct PackagingTests {
    private static func text(_ name: String) throws -> String {
        try String(contentsOf: file(name), encoding: .utf8)
    }

    private static func file(_ name: String) -> URL { Command.root.appendingPathComponent(".ci/debian/\(name)") }

    @Test func theVersionSaysOfWhichCommitItIs() throws {
        let finished = try Command.run(["--version"])
        let form = /([0-9.]+) \((?:development build|commit [0-9a-f]{12}(?:-changed)?)\)\n/
        let version = try #require(finished.output.wholeMatch(of: form), "\(finished.output)")
        #expect(String(version.1) == Version.current)
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func theCompletionsOfAShellAreRead(shell: String) throws {
        let folder = try TemporaryFolder()
        let script = try Command.run(["--generate-completion-script", shell])
        #expect(script.status == 0 && script.output.contains("accept-clock"))
        guard
            let program = ["/bin", "/usr/bin"].map({ "\($0)/\(shell)" }).first(where: {
                FileManager.default.isExecutableFile(atPath: $0)
            })
        else { return }
        try folder.write("script", script.output)
        let read = try Command.run(URL(fileURLWithPath: program), ["-n", folder.path("script")])
        #expect(read.status == 0 && read.error.isEmpty, "\(read.error)")
    }

    @Test func theManualPageHasEveryCommandAndEveryFlag() throws {
        let page = try Command.run(Self.file("manpage"), [Command.executable.path, "1.0"])
        #expect(page.status == 0, "\(page.error)")
        let plain = page.output.replacing("\\-", with: "-")
        let dump = try Command.run(["--experimental-dump-help"]).output
        let command = try #require(
            (JSONSerialization.jsonObject(with: Data(dump.utf8)) as? [String: Any])?["command"] as? [String: Any])
        var flags = 0
        func check(_ command: [String: Any], _ path: [String]) {
            if !path.isEmpty { #expect(plain.contains(".SS \"\(path.joined(separator: " "))\"\n"), "\(path)") }
            for argument in command["arguments"] as? [[String: Any]] ?? [] {
                guard argument["shouldDisplay"] as? Bool != false else { continue }
                for case let name in argument["names"] as? [[String: String]] ?? [] where name["kind"] == "long" {
                    #expect(plain.contains("\\fB--\(name["name"] ?? "?")\\fR"), "\(path) \(name)")
                    flags += 1
                }
            }
            for below in command["subcommands"] as? [[String: Any]] ?? [] {
                let name = below["commandName"] as? String ?? "?"
                if name != "help" { check(below, path + [name]) }
            }
        }
        check(command, [])
        #expect(flags > 100)
    }

    /// Prints a file of the package as it is for whoever builds it so.
    private static func fields(_ name: String, _ variables: [String: String] = [:]) throws -> Finished {
        let unset = ["MAINTAINER": "", "COPYRIGHT": "", "LICENSE": ""]
        return try Command.run(file("fields"), [name], environment: unset.merging(variables) { $1 })
    }

    @Test func whoseThePackageIsSaysWhoeverBuildsIt() throws {
        let neutral = try Self.fields("control").output
        #expect(neutral.contains("\nMaintainer: currency-ledger maintainers <maintainers@currency-ledger.example>\n"))
        #expect(try Self.fields("copyright").output.contains("\nLicense: proprietary\n Whoever has it "))
        let own = [
            "MAINTAINER": "Ops & Co. <ops+debian@studio.example>", "COPYRIGHT": "2026 Smith & Söhne",
            "LICENSE": "Studio-1.0",
        ]
        let control = try Self.fields("control", own).output
        #expect(control.contains("\nMaintainer: Ops & Co. <ops+debian@studio.example>\n"))
        let copyright = try Self.fields("copyright", own).output
        #expect(copyright.contains("\nCopyright: 2026 Smith & Söhne\nLicense: Studio-1.0\n Whoever has it "))
    }

    @Test(arguments: [
        ("MAINTAINER", "nobody"), ("MAINTAINER", "a, b <c@d>"), ("MAINTAINER", "a <b@c>\nDepends: x"),
        ("MAINTAINER", "a <b@c>, d <e@f>"), ("MAINTAINER", "<b@c>"), ("MAINTAINER", " a <b@c>"),
        ("MAINTAINER", "a\u{202E} <b@c>"), ("MAINTAINER", "\u{A0}a <b@c>"), ("MAINTAINER", "a <b@c..>"),
        ("MAINTAINER", "a <b@-c>"), ("COPYRIGHT", "@TERMS@"), ("COPYRIGHT", "x "), ("COPYRIGHT", "."),
        ("COPYRIGHT", String(repeating: "x", count: 5_000)), ("COPYRIGHT", "x\nLicense: y"), ("LICENSE", "a b"),
        ("LICENSE", "../x"),
    ])
    func whatIsNoFieldOfAPackageIsRefusedByName(_ name: String, _ value: String) throws {
        let finished = try Self.fields("control", [name: value])
        #expect(finished.status == 1 && finished.output.isEmpty)
        #expect(finished.error.hasPrefix("\(name) must be "), "\(finished.error)")
    }

    @Test func theUnitKeepsTheServiceToItsOwn() throws {
        let unit = try Self.text("currency-ledger.service").split(separator: "\n").map(String.init)
        for line in [
            "Type=notify", "WatchdogSec=3min", "TimeoutStopSec=2min", "Restart=on-failure",
            "RestartPreventExitStatus=78", "ExecReload=/bin/kill -HUP $MAINPID",
            "User=currency-ledger", "StateDirectory=currency-ledger", "StateDirectoryMode=0750", "NoNewPrivileges=yes",
            "ProtectSystem=strict", "ProtectHome=yes", "PrivateTmp=yes", "CapabilityBoundingSet=", "MemoryMax=4G",
            "LimitNOFILE=65536", "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6",
            "SystemCallFilter=@system-service", "SystemCallFilter=~@privileged",
        ] {
            #expect(unit.contains(line), "\(line)")
        }
        let start = "ExecStart=/usr/bin/currency-ledger serve --config /etc/currency-ledger/ledger.json"
        #expect(unit.contains(start), "a unit that makes ledgers would make one where a disk is not mounted")
    }

    @Test func theExamplesAreAConfiguration() throws {
        let settings = try Settings.load(file: Self.file("ledger.json").path, flags: [:], environment: [:])
        #expect(settings.ledgers.map(\.path) == ["/var/lib/currency-ledger/ledger"])
        let catalog = try CatalogFile.edition(settings.ledgers[0].catalog).catalog
        #expect(catalog.currencies.keys.map(\.text) == ["gems"])
    }

    @Test func aLedgerIsMadeOnceAndServedWithoutMakingOne() async throws {
        let studio = try Studio()
        let create = ["create", "--config", studio.folder.path("ledger.json")]
        let made = try Command.run(create)
        #expect(made.status == 0 && made.output == "made a new ledger at \(studio.folder.path("ledger"))\n")
        let again = try Command.run(create)
        #expect(again.status == 1 && again.error.contains("there is something at"), "\(again.error)")
        let service = try Command.start(
            ["serve", "--config", studio.folder.path("ledger.json")], studio.folder)
        try await service.waits(for: "listening")
        kill(service.process.processIdentifier, SIGTERM)
        #expect(try service.finish().status == 0)
    }
}
