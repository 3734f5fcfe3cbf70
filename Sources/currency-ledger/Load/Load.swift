import ArgumentParser

struct Load: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Loads a service over TCP and measures it, beside what the machine itself can do.",
        discussion: """
            Without --server it starts one, with a ledger of its own that is deleted afterwards. Purchases are signed and \
            wallets filled before the clock starts. With --rate requests are sent when they are due, and each latency is \
            counted from then, so that a stall is seen by every request that it delays.

            The exit status is 1 where any request was answered with an error.
            """)

    @OptionGroup var options: LoadOptions

    func validate() throws { _ = try options.plan() }

    func run() async throws {
        var run = LoadRun(options: options, plan: try options.plan())
        let summary = try await run.measure()
        Console.error("")
        Console.print(options.json ? String(decoding: summary.json, as: UTF8.self) : summary.text)
        guard summary.result.errors == 0 else {
            for error in summary.result.firstErrors { Console.error(error) }
            throw Failure("\(summary.result.errors) of \(summary.result.requests) requests were answered with an error")
        }
    }
}
