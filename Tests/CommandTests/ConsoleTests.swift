import Foundation
import LedgerClient
import LedgerTestKit
import Testing

/// The console of the built command, in a browser without a screen.
@Suite(.serialized, .enabled(if: Browser.isInstalled, "Chromium is not installed")) struct ConsoleBrowserTests {
    /// A player with many entries, and a purchase that was refunded after its gems were spent; and one whose name is
    /// markup.
    private static func serve() async throws -> (Studio, RunningService, String) {
        let studio = try Studio()
        let service = try RunningService(studio.folder, arguments: ["--console-listen", "127.0.0.1:0"])
        let client = try await service.client()
        let (player, gems) = (AccountName("player-1")!, CurrencyCode("gems")!)
        _ = try await client.credit(signedTransaction: try studio.purchase(1), account: player)
        for number in 1...60 {
            _ = try await client.spend(
                Spend(
                    key: RequestKey("spend-\(number)")!, account: player,
                    debits: [CurrencyAmount(currency: gems, amount: Amount(5)!)], note: "sword \(number)"))
        }
        _ = try await client.grant(
            Grant(
                key: RequestKey("<img src=x onerror=alert(1)>")!,
                account: AccountName("<script>document.title='run'</script>\u{202E}gpj")!, currency: gems,
                amount: Amount(7)!))
        try? await client.close()
        let address = try #require(try service.said.firstMatch(of: /console=(\S+)/).map { String($0.1) })
        return (studio, service, "http://\(address)")
    }

    private static let pages = [
        "/", "/statement?account=player-1", "/purchase?transactionId=2000000000000001", "/request?key=spend-1",
        "/entry?entry=1",
        "/circulation", "/consumption", "/nowhere", "/login",
        "/statement?account=%3Cscript%3Edocument.title%3D%27run%27%3C%2Fscript%3E%E2%80%AEgpj",
    ]

    @Test func theConsoleIsReadInABrowser() async throws {
        let (studio, service, console) = try await Self.serve()
        for page in Self.pages {
            let (markup, said) = try Browser.open(console + page, in: studio.folder)
            // What a browser says of a page that is not found is no complaint of the page's.
            #expect(said.filter { !$0.contains("404") } == [], "\(page)")
            #expect(markup.contains("</main>") && !markup.contains("<title>run"), "\(page)")
            #expect(markup.matches(of: /<h1/).count == 1 && markup.contains("<html lang=\"en\""), "\(page)")
            // Each drawing has a name, each field a label, and each column says what it heads.
            #expect(!markup.contains(/<svg role="img"(?![^>]*aria-labelledby)/), "\(page)")
            for field in markup.matches(of: /<input id="([a-z]+)"/) {
                #expect(markup.contains("<label for=\"\(field.1)\""), "\(page)")
            }
            #expect(!markup.contains(/<th(?![^>]*scope=)[\s>]/), "\(page)")
        }
        #expect(service.stop() == 0)
    }

    /// A picture as wide as the window and no wider: what is behind the edge would be in the page's width.
    @Test(arguments: [360, 1_280]) func theConsoleIsNotWiderThanItsScreen(_ width: Int) async throws {
        let (studio, service, console) = try await Self.serve()
        let style = try Browser.open(console + "/console.css", in: studio.folder).markup
        let css = style.replacing(/^[\s\S]*?<pre[^>]*>/, with: "").replacing(/<\/pre>[\s\S]*$/, with: "")
            .replacing("&gt;", with: ">").replacing("&amp;", with: "&").replacing("&lt;", with: "<")
        try #require(css.contains("@media"))
        for page in Self.pages where !["/nowhere", "/consumption", "/entry?entry=1"].contains(page) {
            let printed = try Browser.open(console + page, in: studio.folder).markup
            let inner = printed.replacing(/<link rel="stylesheet"[^>]*>/, with: "<style>\(css)</style>")
            let (markup, _) = try Browser.load(Self.measured(inner, width), in: studio.folder)
            let told = try #require(markup.firstMatch(of: /wide: (\d+), seen: (\d+)\./), "\(page)")
            #expect(told.1 == told.2, "\(page)")
        }
        #expect(service.stop() == 0)
    }

    /// A page around another, that says how wide that is.
    private static func measured(_ page: String, _ width: Int) -> String {
        let text = page.replacing("&", with: "&amp;").replacing("\"", with: "&quot;")
        return """
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
    }
}
