import Foundation
import Testing

/// README, done from top to bottom by a newcomer: every command that it shows is run as it stands there.
@Suite struct ReadmeTests {
    /// Commands that install or build are not run within a test, which a build runs itself.
    private static let notRun = [
        // `ServiceTests` runs the demo of the built command; `CITests` compares the line with what CI runs.
        ".ci/setup && swift run currency-ledger demo",
        // This test is a part of it.
        ".ci/test",
        // The command that the tests run is what this builds, in another folder.
        "swift build -c release && export PATH=\"$PWD/.build/release:$PATH\"",
    ]

    private static func page() throws -> PageBlocks { try PageBlocks("README.md") }

    /// A folder in place of the page's, and of its port, on which another service may listen: programs of the same
    /// names come first in `PATH` and call the real ones with a port that is free.
    private static func bench(_ folder: TemporaryFolder, port: Int) throws {
        let programs = [
            "currency-ledger": """
            #!/bin/sh
            case $1 in
            call | export) exec '\(Command.executable.path)' "$@" --server 127.0.0.1:\(port) ;;
            *) exec '\(Command.executable.path)' "$@" ;;
            esac
            """,
            // A person takes some seconds from one command to the next; by then the service listens.
            "nc": """
            #!/bin/sh
            tries=0
            until /bin/nc.openbsd -z 127.0.0.1 \(port) || [ $tries -eq 600 ]; do
                tries=$((tries + 1))
                sleep 0.1
            done
            [ "$*" = '-N 127.0.0.1 7117' ] || exit 64
            exec /bin/nc.openbsd -N 127.0.0.1 \(port)
            """,
        ]
        for (name, text) in programs {
            try folder.write(name, text + "\n")
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path(name))
        }
    }

    /// A port that nobody listens on.
    private static func freePort() throws -> Int {
        let script = "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); print(s.getsockname()[1])"
        let finished = try Command.run(URL(fileURLWithPath: "/usr/bin/python3"), ["-c", script])
        return try #require(Int(finished.output.trimmingCharacters(in: .whitespacesAndNewlines)))
    }

    @Test func whatIsNotRunIsOnThePage() throws {
        let lines = try Self.page().blocks(in: ["sh"]).flatMap { $0.text.split(separator: "\n").map(String.init) }
        for line in Self.notRun { #expect(lines.contains(line), "\(line)") }
    }

    @Test func everyOtherCommandIsRunAndSaysWhatThePageSays() throws {
        let folder = try TemporaryFolder()
        let port = try Self.freePort()
        try Self.bench(folder, port: port)
        // As a newcomer's shell would do it, but ending at the first command that fails. What each console command
        // says goes to a file of its own.
        // What it starts ends with it, for whoever waits for it waits for that too.
        var script = "set -e -o pipefail\ntrap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n"
        var steps: [PageBlocks.Step] = []
        for block in try Self.page().blocks(in: ["sh", "console"]) {
            if block.language == "console" {
                for step in block.steps {
                    script += "{ \(step.command)\n} > '\(folder.path("said-\(steps.count)"))'\n"
                    steps.append(step)
                }
            } else {
                for line in block.text.split(separator: "\n", omittingEmptySubsequences: false)
                where !Self.notRun.contains(String(line)) {
                    script += line + "\n"
                }
            }
        }
        try #require(script.contains("/tmp/game") && script.contains("kill %1") && steps.count > 2)
        try folder.write(
            "script", script.replacing("/tmp/game", with: folder.path("game")) + "wait %1 && echo stopped\n")
        let finished = try Command.run(
            URL(fileURLWithPath: "/bin/bash"), ["-m", folder.path("script")],
            environment: [
                "PATH": folder.url.path + ":/usr/bin:/bin", "LEDGER_LISTEN": "127.0.0.1:\(port)",
            ])
        #expect(finished.status == 0, "\(finished.error)")
        for (number, step) in steps.enumerated() {
            #expect(
                try String(contentsOfFile: folder.path("said-\(number)"), encoding: .utf8) == step.output,
                "\(step.command)")
        }
        #expect(finished.output.contains(#""available": 380"#) && finished.output.contains(#""kind": "spend""#))
        #expect(finished.output.contains("player-1,gems,380,0,0,380,0\r\n"))
        #expect(finished.output.hasSuffix("stopped\n"))
    }
}
