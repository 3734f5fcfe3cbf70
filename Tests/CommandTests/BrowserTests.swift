import Foundation
import LedgerTestKit
import Testing

/// The page of a month in a browser without a screen.
@Suite(.enabled(if: Browser.isInstalled, "Chromium is not installed")) struct BrowserTests {
    private static func page() throws -> (Studio, String) {
        let studio = try Studio()
        let folder = try GeneratedGame.write(1_000, seed: 3, from: 1_757_894_400_000, days: 61, to: studio)
        let finished = try Command.run(["export", "month", "--month", "2025-10", "--path", folder])
        try #require(finished.status == 0, "\(finished.error)")
        return (studio, finished.output)
    }

    /// The text of every cell, in their order.
    private static func cells(_ markup: String) -> [String] {
        markup.matches(of: /<t[dh](?:\s[^>]*)?>(?:<bdi>)?([^<]*)/).map { String($0.1) }
    }

    @Test func thePageLoadsWithoutAComplaintAndHasItsFigures() throws {
        let (studio, page) = try Self.page()
        let (markup, said) = try Browser.load(page, in: studio.folder)
        #expect(said == [])
        let found = Self.cells(markup)
        #expect(found.count > 500)
        // A browser writes quotation marks in texts as they are.
        let expected = Self.cells(page).map { $0.replacing("&quot;", with: "\"").replacing("&#39;", with: "'") }
        #expect(found == expected)
        #expect(markup.matches(of: /<svg role="img"/).count == page.matches(of: /<svg role="img"/).count)
    }

    /// Whatever came into the page, the browser would not run it; and a complaint of it is one that is found.
    @Test func aScriptInThePageIsNotRun() throws {
        let (studio, page) = try Self.page()
        let script = "<script>document.title = 'run'</script></body>"
        let (markup, said) = try Browser.load(page.replacing("</body>", with: script), in: studio.folder)
        #expect(said.count == 1 && said[0].contains("Content Security Policy"), "\(said)")
        #expect(markup.contains("<title>October 2025: com.example.game</title>"))
    }

    /// Only tables that are wider may be moved to the side, not the page.
    @Test(arguments: [360, 768, 1_280]) func thePageIsNotWiderThanItsScreen(_ width: Int) throws {
        let (studio, page) = try Self.page()
        try studio.folder.write("inner.html", page)
        // Same origin: the page stands in the outer one's own text.
        let text = page.replacing(/<meta http-equiv[^>]*>/, with: "").replacing("&", with: "&amp;")
            .replacing("\"", with: "&quot;")
        let outer = """
            <!DOCTYPE html><html><body><p id="told">nothing</p>
            <iframe id="frame" width="\(width)" height="800" style="border:0" srcdoc="\(text)"></iframe>
            <script>
            const frame = document.getElementById("frame");
            frame.addEventListener("load", () => {
              const root = frame.contentDocument.documentElement;
              document.getElementById("told").textContent = `wide: ${root.scrollWidth}, seen: ${root.clientWidth}.`;
              frame.remove();
            });
            </script></body></html>
            """
        let (markup, said) = try Browser.load(outer, in: studio.folder)
        #expect(said == [])
        let told = try #require(markup.firstMatch(of: /wide: (\d+), seen: (\d+)\./), "\(markup.prefix(300))")
        #expect(told.1 == told.2)
    }
}

/// Chromium, as a program that prints what it has made of a page.
enum Browser {
    private static let command = URL(fileURLWithPath: "/usr/bin/chromium")
    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: command.path) }

    /// - Returns: the page's markup once it is loaded, and what its console was told.
    static func load(_ page: String, in folder: TemporaryFolder) throws -> (markup: String, console: [String]) {
        try folder.write("page.html", page)
        // Its own sandbox is not one that root may have.
        let options = [
            "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0",
            "--user-data-dir=\(folder.path("browser"))",
        ]
        let url = URL(fileURLWithPath: folder.path("page.html")).absoluteString
        let finished = try Command.run(command, options + ["--dump-dom", url])
        try #require(finished.status == 0, "\(finished.error.suffix(500))")
        return (
            finished.output, finished.error.split(separator: "\n").map(String.init).filter { $0.contains(":CONSOLE") }
        )
    }
}
