import Foundation
import Testing

/// What the pages tell people to type is what the command takes.
@Suite struct PagesTests {
    /// README and the articles.
    private static func pages() throws -> [String] {
        let files = FileManager.default.enumerator(
            at: Command.root.appendingPathComponent("Sources"), includingPropertiesForKeys: nil)
        let articles = (files?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "md" }
        return try ([Command.root.appendingPathComponent("README.md")] + articles).map {
            try String(contentsOf: $0, encoding: .utf8)
        }
    }

    @Test func everyFlagOfAPageIsOneOfItsCommand() throws {
        // At a line's beginning or as code within a line.
        let typed =
            #/
            (?: ^ \h* | ` ) currency-ledger \h
            (
                app-store \h [a-z-]+ | reconcile \h [a-z]+ | sandbox \h [a-z]+ (?: -consumption )? | catalog \h import
                | [a-z][a-z-]*
                (?: \h (?: init | sign | notify | new ) \b )?
            ) ( [^`\n]* )
            /#.anchorsMatchLineEndings()
        var flags: [String: Set<String>] = [:]
        for page in try Self.pages() {
            for match in page.matches(of: typed) {
                let names = match.2.matches(of: /--[a-z][a-z-]*/).map { String($0.0) }
                flags[String(match.1), default: []].formUnion(names)
            }
        }
        #expect(flags.count >= 7 && flags["load"]?.contains("--in-flight") == true)
        for (command, names) in flags {
            let finished = try Command.run(command.split(separator: " ").map(String.init) + ["--help"])
            let help = finished.output
            #expect(finished.status == 0 && help.contains("USAGE: currency-ledger \(command)"), "\(command)")
            for name in names { #expect(help.contains("\(name) ") || help.contains("\(name)\n"), "\(command) \(name)") }
        }
    }
}
