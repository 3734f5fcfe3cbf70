import AppStore
import AppStoreServer
import FileLog
import Foundation
import Ledger
import LedgerEngine
import LedgerWire
import LineServer
import Logging

/// Carries out what Apple's notification history has and the webhook missed: at the start, and then at an interval.
struct HistoryReading {
    let client: AppStoreServerClient
    let caller: LedgerCaller
    let folder: LedgerFolder
    let environment: AppStore.Environment
    /// From when on the history is read where nothing says how far it was read, in milliseconds since the UNIX epoch.
    let beginning: @Sendable () throws -> Timestamp
    let seconds: Int
    /// Whether the ledger may be written to: a standby's leader does all this.
    let leads: @Sendable () -> Bool
    let figures: AppStoreFigures
    let logger: Logger

    /// Goes on until its task is cancelled.
    func run() async {
        var history: HistoryCatchUp?
        var isFailing = false
        var told: Told?
        while !Task.isCancelled {
            if leads() {
                do {
                    let current = try history ?? begin()
                    history = current
                    try await catchUp(current, &told)
                    if isFailing { logger.notice("Apple's notification history can be read again") }
                    isFailing = false
                } catch is CancellationError {
                    return
                } catch {
                    if !isFailing {
                        logger.warning(
                            "Apple's notification history cannot be carried out; it is tried again",
                            metadata: ["error": "\(error)", "seconds": "\(seconds)"])
                    }
                    isFailing = true
                }
            } else {
                // Its leader reads the history. Where this one leads one day, it reads it all.
                history = nil
                figures.readThrough.set(0)
            }
            try? await Task.sleep(for: .seconds(seconds))
        }
    }

    private func begin() throws -> HistoryCatchUp {
        var position = try folder.historyPosition()
        if let noted = position, noted > Clock.now() {
            logger.warning(
                "the place in Apple's history is in the future: the history is read from its beginning",
                metadata: ["place": "\(noted)"])
            position = nil
        }
        let start = try position ?? beginning()
        figures.readThrough.set(start)
        return HistoryCatchUp(client: client, environment: environment, position: start) {
            [caller] signedPayloads in
            let operations = signedPayloads.map { LedgerOperation.signed(.notification(Array($0.utf8)), account: nil) }
            return zip(await caller.answers(to: operations), signedPayloads).map { answer, payload in
                HistoryCatchUp.Delivery(answer, of: payload)
            }
        }
    }

    /// What the last log line said of what is not in the books. Each run meets the same notifications again, so only
    /// changes are logged.
    private struct Told: Equatable {
        var refused = 0
        var postponed = 0
    }

    private func catchUp(_ history: HistoryCatchUp, _ told: inout Told?) async throws {
        let run = try await history.catchUp(to: Clock.now()) { [folder] _, position in
            try folder.noteHistoryPosition(position)
        }
        figures.readThrough.set(run.readThrough)
        figures.postponed.set(Int64(run.postponed))
        figures.refused.set(Int64(run.refused))
        let outside = Told(refused: run.refused, postponed: run.postponed)
        defer { told = outside }
        if run.new == 0, outside == told ?? Told() { return }
        if run.new > 0 || outside.refused > told?.refused ?? 0 {
            var metadata: Logger.Metadata = [
                "new": "\(run.new)", "known": "\(run.known)", "refused": "\(run.refused)",
            ]
            if let reason = run.refusalReason { metadata["reason"] = "\(reason)" }
            logger.notice(
                "carried out what Apple's notification history had and the ledger had not", metadata: metadata)
        }
        if let reason = run.postponementReason, outside.postponed != told?.postponed {
            logger.warning(
                "notifications of Apple's history wait, and are tried again",
                metadata: ["waiting": "\(run.postponed)", "reason": "\(reason)"])
        } else if run.postponed == 0, told?.postponed ?? 0 > 0 {
            logger.notice("no notification of Apple's history waits any more")
        }
    }
}

extension HistoryCatchUp.Delivery {
    init(_ answer: Answer, of signedPayload: String) {
        switch Reply(answer) {
        case .outcome(.notification(let receipt)): self = receipt.duplicate ? .known : .new
        case .outcome(.refused(let refusal)): self.init(WireError(refusal), of: signedPayload)
        case .error(let error): self.init(error, of: signedPayload)
        case let outcome: preconditionFailure("a notification was answered \(outcome)")
        }
    }

    /// With a reason that says which notification it is.
    init(_ error: WireError, of signedPayload: String) {
        let subject = SignedObject.notification(Array(signedPayload.utf8)).subject
        let names = [subject?.notificationName, subject?.purchaseName].compactMap { $0 }.joined(separator: ", ")
        let reason = ForeignText.shown(error.detailedDescription) + (names.isEmpty ? "" : ": \(names)")
        self = NotificationVerdict.isFinal(error) ? .refused(reason) : .postponed(reason)
    }
}
