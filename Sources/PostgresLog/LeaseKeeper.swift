#if Postgres
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A thread that does something again and again, until it is stopped.
final class LeaseKeeper: Sendable {
    private final class Job: Sendable {
        let milliseconds: Int
        let isStopped = Atomic(false)
        let body: @Sendable () -> Bool

        init(_ milliseconds: Int, _ body: @escaping @Sendable () -> Bool) {
            self.milliseconds = milliseconds
            self.body = body
        }
    }

    private let running = Mutex<Job?>(nil)

    deinit { running.withLock { $0?.isStopped.store(true, ordering: .relaxed) } }

    /// - Parameter body: false: there is nothing left to do.
    func begin(everyMilliseconds milliseconds: Int, _ body: @escaping @Sendable () -> Bool) {
        let job = Job(milliseconds, body)
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let job = Unmanaged<Job>.fromOpaque(argument).takeRetainedValue()
                repeat {
                    pause(milliseconds: job.milliseconds)
                } while !job.isStopped.load(ordering: .relaxed) && job.body()
                return nil
            }, Unmanaged.passRetained(job).toOpaque())
        precondition(code == 0, "a thread cannot be made")
        pthread_detach(thread)
        running.withLock { $0 = job }
    }

    /// It does nothing more, except what it is doing now.
    func stop() { running.withLock { $0?.isStopped.store(true, ordering: .relaxed) } }
}

func pause(milliseconds: Int) { usleep(UInt32(clamping: milliseconds * 1000)) }
#endif
