import AppStore
import ArgumentParser
import Foundation
import Ledger
import LedgerAudit
import NIOCore

struct Audit: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Computes a ledger again from its blocks, and says what does not hold.",
        discussion: """
            Beside the running service or without one; nothing is written. Checked are every byte of the log's files, \
            the chain, sums, lots, holds, keys and their answers, closed periods, each purchase against what Apple \
            signed, every signature again from the root, and then every row of the tables.

            Each thing that does not hold is a line. The exit status is 0 where everything holds, and 1 otherwise.
            """)

    @Argument(help: "The ledger's folder. Default: the configuration's, or ledger", completion: .directory)
    var ledger: String?

    @Option(
        name: .long, help: "The configuration file of the service (JSON), for the folder and the anchors.",
        completion: .file(extensions: ["json"]))
    var config: String?

    @Option(help: "Certificates (DER or PEM files, separated by commas) trusted beside Apple Root CA - G3.")
    var anchors: String?

    @Option(help: "Threads that verify. Default: one for each core")
    var jobs: Int?

    @Option(
        help: """
            Signatures of blocks up to this one count as verified by an earlier audit; all else is computed from the \
            first block on.
            """)
    var since: Int64 = 0

    func validate() throws {
        if let jobs, !(1...256).contains(jobs) { throw ValidationError("--jobs must be 1 to 256, not \(jobs).") }
        if since < 0 { throw ValidationError("--since is the number of a block, not \(since).") }
    }

    func run() throws {
        let (path, anchors) = try ledgerAndAnchors()
        let configuration = LedgerAudit.Audit.Configuration(
            anchors: try Composition.anchors(anchors), jobs: jobs ?? System.coreCount, since: since)
        let bar = ProgressBar("auditing blocks")
        let scratch = ScratchFolder()
        defer { scratch.remove() }
        let summary: AuditSummary
        do {
            summary = try Composition.audit(path, configuration, scratch: scratch).run { done, all in
                bar.show(done, of: all)
            } tell: { finding in
                bar.end()
                Console.print("\(finding)")
            }
        } catch {
            bar.end()
            throw Failure("\(error)")
        }
        bar.end()
        tell(summary, path)
        if summary.findings > 0 { throw ExitCode.failure }
    }

    private func ledgerAndAnchors() throws -> (path: String, anchors: [String]) {
        let named = anchors.map { $0.split(separator: ",").map(String.init) } ?? []
        guard let config else { return (ledger ?? "ledger", named) }
        let settings = try Settings.load(
            file: config, flags: [.path: ledger].compactMapValues { $0 },
            environment: ProcessInfo.processInfo.environment)
        return (settings.path, settings.anchors + named)
    }

    private func tell(_ summary: AuditSummary, _ path: String) {
        let last = summary.position
        Console.print("ledger \(path): \(summary.bundleID) \(summary.environment)")
        Console.print(
            """
            \(summary.head?.number ?? 0) blocks, \(last.entry) entries, \(last.transfer) transfers, \(last.account) \
            accounts, \(summary.purchases) purchases, \(last.request) keys, \(last.notification) notifications, \
            \(summary.signatures) signatures verified
            """)
        for (index, code) in summary.currencies.enumerated() {
            let currency = CurrencyID(index + 1)
            let balances = AccountKind.allCases.map { kind in
                "\(kind.name) \(summary.totals[currency, kind].balance)"
            }
            Console.print("\(code): \(balances.joined(separator: ", "))")
        }
        if let tables = summary.tables {
            Console.print("\(summary.tableRows) rows of the tables compared, as of block \(tables)")
        } else {
            Console.print("the tables were not compared")
        }
        if let head = summary.head {
            let hash = head.hash.bytes.map { String(format: "%02x", $0) }.joined()
            Console.print("head: block \(head.number), term \(head.term), \(hash)")
        }
        switch summary.findings {
        case 0: Console.print("everything holds")
        case ...AuditLimits.findingsToldMax: Console.print("\(summary.findings) things do not hold")
        default:
            Console.print(
                "\(summary.findings) things do not hold, of which the first \(AuditLimits.findingsToldMax) are above")
        }
    }
}
