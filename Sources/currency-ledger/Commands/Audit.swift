import AppStore
import ArgumentParser
import FileLog
import Foundation
import HeadSigning
import Ledger
import LedgerAudit

struct Audit: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Computes a ledger again from its blocks, and says what does not hold.",
        discussion: """
            Beside the running service or without one; nothing is written. Checked are every byte of the log's files, \
            or every row of its tables in PostgreSQL, \
            the chain, sums, lots, holds, keys and their answers, closed periods, each purchase against what Apple \
            signed, every signature again from the root, and then every row of the tables.

            Each thing that does not hold is a line. The exit status is 0 where everything holds, and 1 otherwise.
            """)

    @Argument(
        help: "The ledger's folder, or the URI of its log in PostgreSQL. Default: the configuration's, or ledger",
        completion: .directory)
    var ledger: String?

    @Option(
        help: """
            An archive of the ledger, whose blocks are audited as one chain with it, beside those of the \
            configuration. May be given several times.
            """, completion: .directory)
    var archive: [String] = []

    @Option(
        help: """
            The tables that are compared: a ledger's folder, or the URI of what `project` keeps in PostgreSQL. \
            Default: those in the ledger's folder, or of the node that the configuration is of
            """, completion: .directory)
    var tables: String?

    @Option(
        name: .long, help: "The configuration file of the service (JSON), for the ledger and the anchors.",
        completion: .file(extensions: ["json"]))
    var config: String?

    @Option(name: .customLong("ledger"), help: "Which ledger of the configuration, where that has several.")
    var name: String?

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

    @Option(
        help: """
            A file of signed heads, one a line, as head.file or the method head gave them: the ledger must still be \
            what they say. May be given several times.
            """, completion: .file())
    var head: [String] = []

    @Option(
        help: "The public key that signed heads are verified by (PEM). Default: the configuration's head.publicKey",
        completion: .file(extensions: ["pem"]))
    var headKey: String?

    func validate() throws {
        if !head.isEmpty, headKey == nil, config == nil {
            throw ValidationError("--head needs the key that verifies it: --head-key FILE.")
        }
        if head.isEmpty, headKey != nil { throw ValidationError("--head-key is for --head, which is not given.") }
        if let jobs, !(1...256).contains(jobs) { throw ValidationError("--jobs must be 1 to 256, not \(jobs).") }
        if since < 0 { throw ValidationError("--since is the number of a block, not \(since).") }
    }

    func run() throws {
        let (place, anchors, key, nodeTables) = try named()
        let archives = try Composition.archives(archive, config: config, ledger: name).map { LedgerFolder($0) }
        if archives.isEmpty, !head.isEmpty, case .folder(let folder) = place, try LogInspection.beginsLater(folder) {
            throw Failure(
                "--head: what was signed of \(folder.path) is compared with all of its blocks, of which some were "
                    + "archived; name their archive by --archive")
        }
        // Before the log is looked at: it has what was signed by then.
        let heads = try heads(key)
        let configuration = LedgerAudit.Audit.Configuration(
            anchors: try Composition.anchors(anchors), jobs: jobs ?? Composition.cores, since: since, heads: heads)
        let bar = ProgressBar("auditing blocks")
        let scratch = ScratchFolder()
        defer { scratch.remove() }
        let summary: AuditSummary
        do {
            summary = try Composition.audit(
                place, archives: archives, tables: tables ?? nodeTables, configuration, scratch: scratch
            ).run { done, all in
                bar.show(done, of: all)
            } tell: { finding in
                bar.end()
                Console.print("\(finding)")
            }
        } catch let failure as Failure {
            bar.end()
            throw failure
        } catch {
            bar.end()
            throw Failure("\(error)")
        }
        bar.end()
        tell(summary, "\(place)")
        if summary.findings > 0 { throw ExitCode.failure }
    }

    /// The ledger, the anchors, the key that verifies heads, and where a node's own tables are.
    private func named() throws -> (place: LogPlace, anchors: [String], headKey: String?, nodeTables: String?) {
        let named = anchors.map { $0.split(separator: ",").map(String.init) } ?? []
        guard let config else { return (try LogPlace(ledger ?? "ledger"), named, headKey, nil) }
        let settings = try Composition.ledgerSettings(config: config, ledger: name)
        let place = try ledger.map { text throws(Failure) in try LogPlace(text) } ?? LogPlace(settings)
        return (
            place, settings.anchors + named, headKey ?? settings.headPublicKey,
            ledger == nil && settings.node != nil ? settings.path : nil
        )
    }

    /// Reads the heads that are to be compared.
    private func heads(_ key: String?) throws -> [FoundHead] {
        if head.isEmpty { return [] }
        guard let key else {
            throw ConfigurationError(["--head needs the key that verifies it: --head-key FILE, or head.publicKey"])
        }
        let publicKey = try Composition.headPublicKey(key)
        return try head.flatMap { path in
            let lines = try File.read(path, bytesMax: Settings.headsBytesMax)
                .split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            let texts = lines.enumerated().map { ($0.offset + 1, String(decoding: $0.element, as: UTF8.self)) }
                .map { ($0, $1.trimmingCharacters(in: .whitespaces)) }.filter { !$1.isEmpty }
            if texts.isEmpty { throw FileError(path, "holds no signed head") }
            return texts.map { number, text in
                let place = texts.count == 1 ? path : "\(path), line \(number)"
                do throws(SignedHeadFault) {
                    return FoundHead(place: place, head: .success(try SignedHead(jws: text.utf8, key: publicKey)))
                } catch {
                    return FoundHead(place: place, head: .failure(error))
                }
            }
        }
    }

    private func tell(_ summary: AuditSummary, _ path: String) {
        let last = summary.position
        if let base = summary.base { return tell(summary, path, behind: base) }
        Console.print("ledger \(path): \(summary.bundleID) \(summary.environment)")
        Console.print(
            """
            \(summary.head?.number ?? 0) blocks, \(last.entry) entries, \(last.transfer) transfers, \(last.account) \
            accounts, \(summary.purchases) purchases, \(last.request) keys, \(last.notification) notifications, \
            \(summary.signatures) signatures verified
            """)
        for (index, code) in summary.currencies.enumerated() {
            let currency = CurrencyID(index + 1)
            let kinds = AccountKind.allCases.filter {
                !$0.isListedOnceUsed || summary.totals[currency, $0] != Totals.Turnover()
            }
            let balances = kinds.map { "\($0.name) \(summary.totals[currency, $0].balance)" }
            Console.print("\(code): \(balances.joined(separator: ", "))")
        }
        if let tables = summary.tables {
            Console.print("\(summary.tableRows) rows of the tables compared, as of block \(tables)")
        } else {
            Console.print("the tables were not compared")
        }
        if !head.isEmpty { Console.print("\(summary.heads) signed heads hold") }
        tellEnd(summary)
    }

    /// Of a log whose first blocks were archived, where their archive is not named.
    private func tell(_ summary: AuditSummary, _ path: String, behind base: LogHead) {
        Console.print(
            """
            ledger \(path): audited from block \(base.number + 1) on, which continues \(base.hash.hexadecimal): files, \
            chain and blocks. Sums, purchases, signatures and tables need the blocks before it: name their archive by \
            --archive
            """)
        tellEnd(summary)
    }

    private func tellEnd(_ summary: AuditSummary) {
        if let head = summary.head {
            Console.print("head: block \(head.number), term \(head.term), \(head.hash.hexadecimal)")
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
