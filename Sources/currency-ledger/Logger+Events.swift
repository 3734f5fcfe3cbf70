import AppStore
import Ledger
import LedgerEngine
import Logging

extension Logger {
    /// Tells the operator which currencies players still have though the catalog lacks them: nothing is lost, but what
    /// the catalog said of them is.
    func warn(ofCurrenciesMissingFrom catalog: Catalog, _ state: ProjectedState) {
        for (index, code) in state.currencies.enumerated() where catalog.currencies[code] == nil {
            let currency = CurrencyID(index + 1)
            let available = -state.totals[currency, .wallet].balance
            let held = -state.totals[currency, .held].balance
            let debt = state.totals[currency, .receivable].balance
            if available == 0 && held == 0 && debt == 0 { continue }
            let settings = CurrencySettings()
            warning(
                """
                the catalog lacks a currency that players have: no product grants it, and it is spent and refunded by \
                the default settings
                """,
                metadata: [
                    "currency": "\(code)", "available": "\(available)", "held": "\(held)", "debt": "\(debt)",
                    "spendOrder": "\(settings.spendOrder.rawValue)",
                    "refundShortfall": "\(settings.refundShortfall.rawValue)",
                ])
        }
    }

    /// Tells the operator whose signatures a service of Production believes beside Apple's: whoever has the key of such
    /// an anchor can credit what nobody bought.
    func warn(ofAnchorsBesideApples anchors: [Certificate]) {
        for anchor in anchors where !anchor.isAppleRoot {
            warning(
                "purchases of Production are believed under an anchor that is not Apple's: anchors names it",
                metadata: [
                    "subject": "\(anchor.subject)", "sha256": "\(Digest(anchor.fingerprint)?.hexadecimal ?? "")",
                ])
        }
    }

    /// Tells the operator what an engine reports of a ledger whose log several nodes have in common.
    func reportOfNode(_ event: LedgerEvent) {
        if case .nameOwed(let words) = event {
            return self.error(
                """
                a name that was to be erased is in the log still; the node that leads erases it once what is damaged \
                was mended: see "When something is wrong" on the page Nodes
                """, metadata: ["error": "\(words)"])
        }
        guard case .owedNameNotNoted(let error) = event else { return report(event) }
        self.error(
            """
            that a name is to be erased could not be noted in the database, and no node erases it: see "When something \
            is wrong" on the page Nodes
            """, metadata: ["error": "\(error)"])
    }

    /// Tells the operator what an engine reports.
    func report(_ event: LedgerEvent) {
        switch event {
        case .projectionFailed(let error):
            self.error("the tables cannot be written; it is tried again", metadata: ["error": "\(error)"])
        case .tablesDamaged(let error):
            self.error(
                "the tables are damaged: requests that need what is damaged fail until the tables are made anew",
                metadata: ["error": "\(error)"])
        case .tablesBeingRenewed(let reason):
            notice("the tables are made anew beside those in use", metadata: ["reason": "\(reason)"])
        case .renewalPutOff(let reason, let seconds):
            self.error(
                "the tables were made anew not long ago and are damaged again: they are made anew after a wait",
                metadata: ["reason": "\(reason)", "seconds": "\(seconds)"])
        case .tablesRenewed(let block, let failures):
            notice(
                "the tables were made anew and are in use", metadata: ["block": "\(block)", "failures": "\(failures)"])
        case .renewalFailed(let error):
            self.error("the tables could not be made anew; it is tried again", metadata: ["error": "\(error)"])
        case .projectionWorksAgain:
            notice("the tables are written again")
        case .logFailed(let error):
            self.error(
                "nothing can be made durable; it is tried again, and reads go on where the tables can be written",
                metadata: ["kind": "\(error.kind)", "error": "\(error)"])
        case .logWorksAgain(let head):
            notice("the log is written again", metadata: ["block": "\(head.number)", "term": "\(head.term)"])
        case .erasureRefused(let error):
            self.error(
                "a player was not forgotten: the log is damaged where it has the name", metadata: ["error": "\(error)"])
        case .nameOwed(let words):
            self.error(
                "a name that was to be erased is in the log still; it is erased at a start after the log was mended",
                metadata: ["error": "\(words)"])
        case .owedNameNotNoted(let error):
            self.error(
                """
                that a name is to be erased could not be noted: write the word owed into names.unproven in the \
                ledger's folder before the next start, or no start erases it
                """, metadata: ["error": "\(error)"])
        case .namesMarkLeft(let error):
            warning(
                """
                the names in the log were compared with its blocks, and names.unproven could not be brought up to \
                date: make the ledger's folder writable, or each start reads the log for it again
                """, metadata: ["error": "\(error)"])
        case .clockHeldBack(let clock, let time):
            warning(
                """
                the clock is far ahead of the ledger: entries go on from the last time that was reasonable; where the \
                clock is right, restart with --accept-clock
                """, metadata: ["clock": "\(clock)", "time": "\(time)"])
        case .clockReasonable:
            notice("the clock is believed again")
        case .standbysLacking(let required, let block, let connected):
            self.error(
                "too few standbys have the last blocks in time: nothing is answered until they have",
                metadata: ["required": "\(required)", "connected": "\(connected)", "block": "\(block)"])
        case .standbysEnough(let block):
            notice("enough standbys have the last blocks again", metadata: ["block": "\(block)"])
        case .standbyCame(let name):
            notice("a standby has come", metadata: ["standby": "\(name)"])
        case .standbyLeft(let name):
            notice("a standby is gone", metadata: ["standby": "\(name)"])
        case .follows(let block):
            notice("following the leader", metadata: ["block": "\(block)"])
        case .leaderLost(let reason):
            warning("no blocks come from the leader; it is tried again", metadata: ["reason": "\(reason)"])
        case .promoted(let head):
            notice("promoted: this ledger leads", metadata: ["block": "\(head.number)", "term": "\(head.term)"])
        case .followsNode(let leader, let block):
            notice(
                "another node leads: this one follows",
                metadata: ["leader": "\(leader.node)", "address": "\(leader.address)", "block": "\(block)"])
        case .leads(let head):
            notice("this node leads", metadata: ["block": "\(head.number)", "term": "\(head.term)"])
        case .steppedDown(let error):
            notice("this node leads no more", metadata: ["reason": "\(error)"])
        case .logNotFollowed(let error):
            warning(
                "this node cannot follow the log; it is tried again",
                metadata: ["kind": "\(error.kind)", "error": "\(error)"])
        case .commitFailed(let error, let requests):
            self.error("a commit failed", metadata: ["error": "\(error)", "requests": "\(requests)"])
        case .cameTooLate(let requests):
            warning(
                "more is asked than can be done: requests waited too long and were not carried out",
                metadata: ["requests": "\(requests)"])
        case .slowCommit(let slow):
            warning(
                "a commit took long",
                metadata: [
                    "milliseconds": "\(slow.total)", "queued": "\(slow.queued)", "deciding": "\(slow.deciding)",
                    "durable": "\(slow.durable)", "requests": "\(slow.requests)", "more": "\(slow.more)",
                ])
        case .readFailed(let error):
            self.error("a read failed", metadata: ["error": "\(error)"])
        case .headNotWritten(let error):
            self.error("the signed head could not be written; it is tried again", metadata: ["error": "\(error)"])
        case .headWrittenAgain:
            notice("the signed head is written again")
        }
    }
}
