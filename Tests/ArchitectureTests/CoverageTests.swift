import Foundation
import Testing

/// What the sources name stands on its page. The names are read from the sources, so whoever adds one is told. That
/// every method with its roles, every error with its code and every kind of entry is in Protocol, `DocumentationTests`
/// of the wire hold.
@Suite struct CoverageTests {
    // MARK: Settings

    /// The keys of the configuration: the cases of `Setting`, or their raw values.
    private static func settings(_ source: String) -> Set<String> {
        let keys = source.matches(of: /(?m)^ {4}case (\w+)(?: = "([^"]+)")?$/).map { String($0.2 ?? $0.1) }
        return Set(keys)
    }

    /// A key's variable: words apart, in capitals (`app.bundleId` is `LEDGER_APP_BUNDLE_ID`).
    private static func variable(_ key: String) -> String {
        let words = key.replacing(/([a-z])([A-Z])/) { "\($0.1)_\($0.2)" }.replacing(".", with: "_")
        return "LEDGER_" + words.uppercased()
    }

    @Test func everySettingIsInTheTableWithItsVariable() throws {
        let keys = Self.settings(try Repository.source(named: "Setting.swift"))
        #expect(keys.count >= 10 && keys.contains("tokens"))
        var listed: [String: String] = [:]
        for row in try Repository.page(named: "Configuration.md").matches(of: /(?m)^\| `([^`]+)` \| `([^`]+)` \|/) {
            listed[String(row.1)] = String(row.2)
        }
        for key in keys { #expect(listed[key] == Self.variable(key), "\(key)") }
        #expect(Set(listed.keys).subtracting(keys) == [])
    }

    @Test func theKeysAndTheirVariablesAreFound() {
        let source = """
            enum Setting: String {
                case path
                case bundleID = "app.bundleId"
                case tokens
                enum Form {
                    case text
                }
            """
        #expect(Self.settings(source) == ["path", "app.bundleId", "tokens"])
        #expect(Self.variable("app.appAppleId") == "LEDGER_APP_APP_APPLE_ID")
    }

    @Test func everyMemberOfTheCatalogIsNamed() throws {
        let source = try Repository.source(named: "CatalogFile.swift")
        let members = source.matches(of: #/case "(\w+)":/#).map { String($0.1) }
        #expect(members.count >= 8)
        let page = try Repository.page(named: "Configuration.md")
        for member in members {
            #expect(page.contains("`\(member)`") || page.contains("\"\(member)\""), "\(member)")
        }
    }

    /// Variables of the environment that the service or the tests read.
    @Test func everyVariableIsOnAPage() throws {
        let pages = try Repository.pages.map { try Repository.text($0) }.joined(separator: "\n")
        var found = 0
        for path in Repository.swiftFiles where !path.hasPrefix("Tests/ArchitectureTests/") {
            for match in try Repository.text(path).matches(of: /"(LEDGER_[A-Z_]+)"/) {
                found += 1
                #expect(pages.contains("`\(match.1)`") || pages.contains("`\(match.1)="), "\(path): \(match.1)")
            }
        }
        #expect(found > 5)
    }

    // MARK: What the service says

    /// The texts that the sources log from `info` up or hand on as a warning: the parts between what is filled in.
    private static func messages(_ source: String) -> [String] {
        let call =
            #/
            (?: info | notice | warning | error | critical | warn | append ) \( \s*
            (?:
                """ \s* \n (?<lines> [\s\S]*? ) """
                | " (?<line> (?: [^"\\] | \\. )* ) " (?: \s* \+ \s* " (?<more> [^"]* ) " )?
            )
            /#
        return source.matches(of: call).flatMap { match -> [String] in
            let before = source[..<match.range.lowerBound].reversed()
            let receiver = String(before.prefix { $0.isLetter || $0 == "." }.reversed())
            let isAppend = match.0.contains("append")
            guard isAppend ? receiver == "notices." : ["", "self.", "logger."].contains(receiver) else { return [] }
            let text = (match.lines ?? match.line ?? "").replacing(/\\\n\s*/, with: "") + (match.more ?? "")
            return Markdown.flat(String(text)).split(separator: /\\\([^)]*\)+/)
                .map { $0.trimmingCharacters(in: .whitespaces.union(["\""])) }
                .filter { $0.count > 10 }
        }
    }

    @Test func everyMessageOfTheLogIsInOperations() throws {
        let page = Markdown.flat(try Repository.page(named: "Operations.md"))
        var found = 0
        for (path, text) in try Repository.productSources() {
            for message in Self.messages(text) where !path.contains("Wire") {
                found += 1
                #expect(page.contains(message), "\(path): \(message)")
            }
        }
        #expect(found > 15)
    }

    @Test func messagesAreFoundHoweverTheyAreWritten() {
        let source = #"""
            logger.notice("made a new ledger", metadata: ["path": "\(path)"])
            self.error(
                "the tables are damaged: the next start makes them anew",
                metadata: [:])
            warning(
                """
                the clock is far ahead of the ledger: entries go on \
                from the last time
                """, metadata: [:])
            warn("the log of the tables has \(pages) pages: someone keeps a read open")
            notices.append("a block after block \(number), which was never acknowledged")
            rows.append("this is no message at all")
            Console.error("and neither is this one here")
            logger.debug("nor this, which nobody is told")
            """#
        #expect(
            Self.messages(source) == [
                "made a new ledger", "the tables are damaged: the next start makes them anew",
                "the clock is far ahead of the ledger: entries go on from the last time",
                "the log of the tables has", "pages: someone keeps a read open", "a block after block",
                ", which was never acknowledged",
            ])
    }

    /// Counters and gauges, should the service have some: their names stand where operators look.
    @Test func everyMetricIsInOperations() throws {
        let page = try Repository.page(named: "Operations.md")
        for (path, text) in try Repository.productSources() {
            for name in Self.metrics(text) { #expect(page.contains("`\(name)`"), "\(path): \(name)") }
        }
        #expect(Self.metrics(#"let a = Counter(label: "ledger_commits"); Logger(label: "x")"#) == ["ledger_commits"])
    }

    private static func metrics(_ source: String) -> [String] {
        source.matches(of: /\b(?:Counter|FloatingPointCounter|Gauge|Meter|Recorder|Timer)\(\s*label: "([^"]+)"/)
            .map { String($0.1) }
    }

    // MARK: Bounds

    /// A bound as a page writes it: `4 << 20` bytes are 4 MiB, `1_024` is 1,024.
    private static func written(_ literal: Substring) -> String {
        let parts = literal.split(separator: " << ")
        if parts.count == 2 { return "\(parts[0]) \(parts[1] == "20" ? "MiB" : "KiB")" }
        return String(literal.map { $0 == "_" ? "," : $0 })
    }

    /// The bounds that stand in Architecture, by their names in the sources, with the words before or behind them.
    @Test(arguments: [
        "connectionsMax": "at most # connections", "requestsInFlightMax": "at most # requests",
        "bytesInFlightMax": "# of lines", "unreadReplyBytesMax": "# of unread replies",
        "operationsPerSubmissionMax": "# go together at most", "verificationBatchMax": "| JWS of a chunk | # |",
        "operationsPerCommitMax": "from 64 to # |", "blocksAheadMax": "| blocks decided and not durable | # |",
        "unprojectedBytesMax": "| # or 20,000 |", "unprojectedBlocksMax": "12 MiB or # |",
        "eventLoopThreads": "event loops, # threads", "readerThreads": "ledger-read, # threads",
        "verifierNiceness": "AppStore; nice #", "projectorNiceness": "6 MiB; nice #",
    ])
    func everyBoundOfTheDrawingIsThatOfTheSources(name: String, words: String) throws {
        let sources = try Repository.productSources().filter { $0.path.contains("Limits") }
        let values = sources.flatMap { source in
            source.text.matches(of: /var (\w+)(?:: \w+)? = ([\d_]+(?: << (?:10|20))?)\n/).filter { $0.1 == name }
                .map { Self.written($0.2) }
        }
        try #require(values.count == 1, "\(values)")
        let said = words.replacing("#", with: values[0])
        #expect(try Repository.page(named: "Architecture.md").contains(said), "\(said)")
    }

    // MARK: What the command and the repository have

    @Test func everyCommandIsOnAPage() throws {
        let source = try Repository.source(named: "CurrencyLedger.swift")
        let list = try #require(source.firstMatch(of: /subcommands: \[([^\]]+)\]/)).1
        let commands = list.matches(of: /(\w+)\.self/).map {
            // As swift-argument-parser names them.
            $0.1.replacing(/Command$/, with: "").replacing(/([a-z])([A-Z])/) { "\($0.1)-\($0.2)" }.lowercased()
        }
        #expect(commands.count > 5)
        let pages = try Repository.pages.map { try Repository.text($0) }.joined(separator: "\n")
        for command in commands { #expect(pages.contains("currency-ledger \(command)"), "\(command)") }
    }

    /// Tests by their function, suites and fuzz targets by their file.
    @Test func everyTestThatTheThreatModelNamesIsOne() throws {
        let said = try Repository.page(named: "ThreatModel.md").matches(of: /Shown by\s([^.]+)\./)
        let names = said.flatMap { $0.1.matches(of: /`(\w+)`/).map { String($0.1) } }
        #expect(names.count > 20)
        let tests = try Repository.swiftFiles.filter { $0.hasPrefix("Tests/") }.map { ($0, try Repository.text($0)) }
        for name in names {
            let isOne = tests.contains { path, text in
                text.contains("func \(name)(") || path.hasSuffix("/\(name).swift") || path.contains("/\(name)/")
            }
            #expect(isOne, "\(name)")
        }
    }

    @Test func everyFolderHasItsLineInTheReadme() throws {
        let readme = try Repository.text("README.md")
        let folders = try FileManager.default.contentsOfDirectory(
            atPath: Repository.root.appendingPathComponent("Sources").path)
        for folder in folders {
            #expect(readme.contains("`Sources/\(folder)`"), "\(folder)")
        }
    }

    /// The sections of a block by tag, as the page has them.
    @Test func everySectionOfABlockIsOnItsPage() throws {
        let source = try Repository.source(named: "BlockSection.swift")
        let page = try Repository.page(named: "BlockFormat.md")
        let sections = source.matches(of: /(?m)^    case (\w+) = (\d+)$/)
        #expect(sections.count > 20)
        for section in sections {
            #expect(page.contains("| \(section.2) | \(section.1) |"), "\(section.1)")
            #expect(page.lowercased().contains("\n### \(section.2) \(section.1)"), "\(section.1)")
        }
    }
}
