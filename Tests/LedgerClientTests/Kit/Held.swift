import LedgerWire
import NIOConcurrencyHelpers

/// Answers held back until so many are there, and how many there were at most.
final class Held: Sendable {
    private struct State {
        var answers: [[UInt8]] = []
        var countMax = 0
    }

    private let state = NIOLockedValueBox(State())
    private let full: Int

    init(until full: Int) { self.full = full }

    var countMax: Int { state.withLockedValue { $0.countMax } }

    func add(_ line: [UInt8], _ reply: (Request) -> Reply = echo) -> [Peer.Step] {
        let all = state.withLockedValue { state -> [UInt8] in
            state.answers.append(answer(line, reply))
            state.countMax = max(state.countMax, state.answers.count)
            guard state.answers.count >= full else { return [] }
            defer { state.answers = [] }
            return state.answers.flatMap { $0 }
        }
        return all.isEmpty ? [] : [.send(all)]
    }
}
