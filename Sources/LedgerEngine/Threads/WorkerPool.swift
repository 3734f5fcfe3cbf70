import DequeModule

/// Threads that carry out what they are handed: each thing once, first come, first served.
final class WorkerPool: Sendable {
    typealias Work = @Sendable () -> Void

    private struct State {
        var waiting = Deque<Work>()
        var threads: [EngineThread] = []
        var isStopping = false
    }

    private let state = Monitor(State())

    /// - Parameters:
    ///   - name: of each thread; at most 15 bytes.
    ///   - prepare: what each thread does first, as asking for a priority of its own.
    /// - Throws: ``StoreError`` where the system has no more threads.
    init(_ name: String, threads: Int, prepare: @escaping Work = {}) throws {
        do {
            for _ in 0..<threads {
                let thread = try EngineThread(name) { [self] in
                    prepare()
                    serve()
                }
                state.withLock { $0.threads.append(thread) }
            }
        } catch {
            stop()
            throw error
        }
    }

    func submit(_ work: @escaping Work) {
        state.withLock { state in
            precondition(!state.isStopping, "work was submitted to threads that have ended")
            state.waiting.append(work)
        }
        state.wakeOne()
    }

    /// Carries out what was submitted, and ends the threads.
    func stop() {
        let threads = state.withLock { state in
            defer { state.threads = [] }
            state.isStopping = true
            return state.threads
        }
        state.wakeAll()
        for thread in threads { thread.join() }
    }

    private func serve() {
        while true {
            let work: Work?? = state.wait { state in
                if let work = state.waiting.popFirst() { return .some(work) }
                return state.isStopping ? .some(nil) : nil
            }
            guard case .some(.some(let work)) = work else { return }
            work()
        }
    }
}
