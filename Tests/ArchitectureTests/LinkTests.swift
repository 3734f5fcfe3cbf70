import Foundation
import Testing

/// Links lead somewhere, on a forge and in a checkout: they are relative paths, and anchors of headings that are there.
@Suite struct LinkTests {
    /// What is wrong with a page's links.
    private static func faults(of path: String, _ page: String) throws -> [String] {
        var faults: [String] = []
        let folder = Repository.root.appendingPathComponent(path).deletingLastPathComponent()
        for link in Markdown.links(page) where !link.hasPrefix("https://") {
            let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let target = parts[0].isEmpty ? nil : folder.appendingPathComponent(parts[0]).standardizedFileURL
            if let target, !FileManager.default.fileExists(atPath: target.path) {
                faults.append("\(link): there is no such file")
                continue
            }
            guard parts.count == 2 else { continue }
            let text = try target.map { try String(contentsOf: $0, encoding: .utf8) } ?? page
            if !Markdown.anchors(text).contains(parts[1]) { faults.append("\(link): there is no such heading") }
        }
        for match in Markdown.prose(page).matches(of: /<doc:[^>]*>/) {
            faults.append("\(match.0): a link that works in DocC alone")
        }
        return faults
    }

    @Test(arguments: Repository.pages)
    func everyLinkLeadsSomewhere(path: String) throws {
        for fault in try Self.faults(of: path, Repository.text(path)) { Issue.record("\(path): \(fault)") }
    }

    @Test func aLinkThatLeadsNowhereIsFound() throws {
        let page = """
            # A page
            ## What `it` is, and why

            [a](#what-it-is-and-why) [b](#nowhere) [c](Package.swift) [d](missing.md) [e](README.md#nowhere)
            `[f](in-code.md)` <doc:Page> [g](https://example.com/elsewhere)

            ```
            [h](in-a-block.md)
            ## no-heading
            ```
            """
        let faults = try Self.faults(of: "a-page.md", page)
        #expect(faults.count == 4)
        for name in ["#nowhere", "missing.md", "README.md#nowhere", "<doc:Page>"] {
            #expect(faults.contains { $0.hasPrefix(name) }, "\(name)")
        }
    }

    /// From README every article is one or two links away.
    @Test func everyPageIsReachedFromTheReadme() throws {
        var reached: Set<String> = []
        var next = ["README.md"]
        while let path = next.popLast() {
            guard reached.insert(path).inserted else { continue }
            let folder = URL(fileURLWithPath: "/" + path).deletingLastPathComponent()
            for link in Markdown.links(try Repository.text(path)) where !link.hasPrefix("https://") {
                let file = link.split(separator: "#", omittingEmptySubsequences: false)[0]
                guard file.hasSuffix(".md") else { continue }
                next.append(String(folder.appendingPathComponent(String(file)).standardizedFileURL.path.dropFirst()))
            }
        }
        #expect(Set(Repository.pages).subtracting(reached) == [])
    }
}
