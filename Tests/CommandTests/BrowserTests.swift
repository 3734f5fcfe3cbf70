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

    /// On paper nothing is outside of the margins, and nothing that the page says is missing.
    @Test(.enabled(if: Browser.canReadPaper, "poppler-utils is not installed"))
    func thePageIsPrintedOnA4() throws {
        let (studio, page) = try Self.page()
        let words = try Browser.printed(page, in: studio.folder)
        let (width, height) = (595.3, 841.9)
        #expect(words.pages.count > 2 && words.pages.count < 20)
        for paper in words.pages { #expect(abs(paper.width - width) < 1.5 && abs(paper.height - height) < 1.5) }
        // Margins of 14 and 13 mm, in points.
        let (top, side) = (14 * 72 / 25.4, 13 * 72 / 25.4)
        for word in words.words {
            #expect(word.left > side - 1 && word.right < width - side + 1.5, "\(word)")
            #expect(word.top > top - 4 && word.bottom < height - top + 4, "\(word)")
        }
        let text = Set(words.words.map(\.text))
        let figures = Self.cells(page).filter { $0.wholeMatch(of: /[0-9][0-9,.]*/) != nil }
        #expect(figures.count > 300 && figures.allSatisfy { text.contains($0) }, "figures are missing on paper")
    }

    /// By the screen's wish it is dark, with letters that stand out; on paper it is not.
    @Test(arguments: [false, true]) func thePageIsDarkWhereTheScreenIs(_ isDark: Bool) throws {
        let (studio, page) = try Self.page()
        let script = """
            <p id="told"></p><script>
            const seen = (element) => getComputedStyle(element);
            const parts = ["body", "caption", "header p", "a"].map(
              (name) => `${name} ${seen(document.querySelector(name)).color}`);
            document.getElementById("told").textContent =
              `seen: ${seen(document.body).backgroundColor}; ${parts.join("; ")}.`;
            </script></body>
            """
        let open = page.replacing(/<meta http-equiv[^>]*>/, with: "").replacing("</body>", with: script)
        let (markup, said) = try Browser.load(open, in: studio.folder, isDark: isDark)
        #expect(said == [])
        let told = try #require(markup.firstMatch(of: /seen: ([^<]*)\./)).1
        let colours = told.matches(of: /rgb\((\d+), (\d+), (\d+)\)/).map { match in
            [match.1, match.2, match.3].compactMap { Double($0) }
        }
        try #require(colours.count == 5, "\(told)")
        let lightness = colours.map(Self.luminance)
        #expect(isDark ? lightness[0] < 0.05 : lightness[0] > 0.9, "\(told)")
        // WCAG 2.2, 1.4.3: at least 4.5 to 1.
        for text in lightness.dropFirst() {
            let (lighter, darker) = (max(text, lightness[0]), min(text, lightness[0]))
            #expect((lighter + 0.05) / (darker + 0.05) >= 4.5, "\(told)")
        }
    }

    /// WCAG 2.2, relative luminance.
    private static func luminance(_ colour: [Double]) -> Double {
        let parts = colour.map { $0 / 255 }.map { $0 <= 0.04045 ? $0 / 12.92 : pow(($0 + 0.055) / 1.055, 2.4) }
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
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
    static var isInstalled: Bool {
        NeededPrograms.contain("chromium") || FileManager.default.isExecutableFile(atPath: command.path)
    }

    private static let reader = URL(fileURLWithPath: "/usr/bin/pdftotext")
    static var canReadPaper: Bool {
        NeededPrograms.contain("pdftotext") || FileManager.default.isExecutableFile(atPath: reader.path)
    }

    private static func run(_ page: String, _ options: [String], in folder: TemporaryFolder) throws -> Finished {
        try folder.write("page.html", page)
        return try run(url: URL(fileURLWithPath: folder.path("page.html")).absoluteString, options, in: folder)
    }

    private static func run(url: String, _ options: [String], in folder: TemporaryFolder) throws -> Finished {
        // Its own sandbox is not one that root may have.
        let own = [
            "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0",
            "--user-data-dir=\(folder.path("browser"))",
        ]
        let finished = try Command.run(command, own + options + [url])
        try #require(finished.status == 0, "\(finished.error.suffix(500))")
        return finished
    }

    /// A word on paper, in points from the upper left corner.
    struct Word {
        var text: String
        var left, top, right, bottom: Double
    }

    /// - Returns: the sizes of the pages, in points, and the words on them.
    static func printed(
        _ page: String, in folder: TemporaryFolder
    ) throws -> (pages: [(width: Double, height: Double)], words: [Word]) {
        let path = folder.path("page.pdf")
        _ = try run(page, ["--no-pdf-header-footer", "--print-to-pdf=\(path)"], in: folder)
        let read = try Command.run(reader, ["-bbox", path, folder.path("page.bbox")])
        try #require(read.status == 0, "\(read.error)")
        let text = try String(contentsOfFile: folder.path("page.bbox"), encoding: .utf8)
        let pages = text.matches(of: /<page width="([0-9.]+)" height="([0-9.]+)">/).map {
            (width: Double($0.1) ?? 0, height: Double($0.2) ?? 0)
        }
        let words = text.matches(
            of: /<word xMin="([-0-9.]+)" yMin="([-0-9.]+)" xMax="([-0-9.]+)" yMax="([-0-9.]+)">([^<]*)</
        ).map {
            Word(
                text: String($0.5), left: Double($0.1) ?? 0, top: Double($0.2) ?? 0, right: Double($0.3) ?? 0,
                bottom: Double($0.4) ?? 0)
        }
        return (pages, words)
    }

    /// - Parameter isDark: what the screen wishes; `nil` where it does not say.
    /// - Returns: the page's markup once it is loaded, and what its console was told.
    static func load(
        _ page: String, in folder: TemporaryFolder, isDark: Bool? = nil
    ) throws -> (markup: String, console: [String]) {
        // Blink's own names of the two: 0 and 1.
        let wish = isDark.map { ["--blink-settings=preferredColorScheme=\($0 ? 0 : 1)"] } ?? []
        return told(try run(page, wish + ["--dump-dom"], in: folder))
    }

    /// The same of a page that a server has.
    static func open(_ url: String, in folder: TemporaryFolder) throws -> (markup: String, console: [String]) {
        told(try run(url: url, ["--dump-dom"], in: folder))
    }

    private static func told(_ finished: Finished) -> (markup: String, console: [String]) {
        (finished.output, finished.error.split(separator: "\n").map(String.init).filter { $0.contains(":CONSOLE") })
    }
}
