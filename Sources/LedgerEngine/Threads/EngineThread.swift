internal import CLinux
import Glibc
import Ledger

/// The thread of a type that runs one of its own: begun once, when the rest of the type is there, and joined by whoever
/// stops it.
final class OwnThread: Sendable {
    private let thread = Monitor<EngineThread?>(nil)

    /// - Throws: ``StoreError`` where the system has no more threads.
    func begin(_ name: String, _ run: @escaping @Sendable () -> Void) throws {
        let begun = try EngineThread(name, run)
        thread.withLock { thread in
            guard case .none = thread else { preconditionFailure("the thread \(name) was begun before") }
            thread = begun
        }
    }

    /// Waits for its end. Does nothing where it was joined before, or never begun.
    func join() {
        let own = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        own?.join()
    }
}

/// Makes the calling thread nicer than the others. (setpriority(2), "C library/kernel differences": on Linux a niceness
/// is a thread's own.) Where the system refuses, everything goes on, only slower.
func beNicer(by niceness: Int32) {
    if SimulatedMachines.current != nil { return }
    _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness)
}

/// A thread's time slices. The scheduler lets a thread that wakes in before the slice of another is over where its own
/// are shorter, so that it runs soon although others keep its core busy; where they are as long it may wait for the
/// scheduler's next tick. So threads that work for a short time at once, and for which more wait, have shorter ones.
package enum TimeSlices: UInt64 {
    /// The shortest that Linux gives (sched(7): 0.1 ms): of the thread that decides, of that which appends, and of
    /// those that verify what was not put aside. (Where those that verify had 0.3 ms, credits beside clients that read
    /// no reply waited nearly twice as long.)
    case shortest = 100_000
    /// Event loops.
    case ofAnswering = 200_000
    /// Threads that give way (``giveWay()``), which costs them the rest of the slice: those that read or apply blocks,
    /// and those that verify what was put aside.
    case ofGivingWay = 500_000

    /// Has the calling thread have such slices. Where the system refuses, or knows no such slices (Linux before 6.12),
    /// everything goes on, only later.
    package func ask() {
        if SimulatedMachines.current != nil { return }
        _ = ledger_ask_for_slices(rawValue)
    }
}

/// Lets threads go first that wait for this core. Nice threads ask for that every 0.1 – 0.3 ms while they compute.
///
/// The scheduler lets a thread with short slices in when it wakes, unless it has just had more than its share. Then it
/// looks again only with its next tick (every 4 ms where the kernel has 250 a second), however nice the one is that
/// computes. Here it looks at once.
func giveWay() {
    if SimulatedMachines.current == nil { sched_yield() }
}

/// A thread of the engine's own, which runs until its body returns.
struct EngineThread {
    private final class Body {
        let name: String
        let run: @Sendable () -> Void
        init(_ name: String, _ run: @escaping @Sendable () -> Void) { (self.name, self.run) = (name, run) }
    }

    private enum Handle {
        case system(pthread_t)
        case simulated(any SimulatedMachine, Int)
    }

    private let thread: Handle

    /// - Parameter name: at most 15 bytes, as `top` and `perf` show it.
    /// - Throws: ``StoreError`` where the system has no more threads.
    init(_ name: String, _ run: @escaping @Sendable () -> Void) throws {
        if let machine = SimulatedMachines.current {
            thread = .simulated(machine, machine.begin(name, run))
            return
        }
        var thread = pthread_t()
        let body = Unmanaged.passRetained(Body(name, run))
        let code = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                let body = Unmanaged<Body>.fromOpaque(context).takeRetainedValue()
                EngineThread.show(body.name)
                body.run()
                return nil
            }, body.toOpaque())
        guard code == 0 else {
            body.release()
            throw StoreError("a thread cannot be started: \(String(cString: strerror(code)))")
        }
        self.thread = .system(thread)
    }

    /// Names the calling thread, for those who look at the process. (proc(5): a thread writes its own `comm`.)
    private static func show(_ name: String) {
        let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        _ = write(file, name, name.utf8.count)
        close(file)
    }

    /// Waits for its end. Called once, or ``detach()`` is.
    func join() {
        switch thread {
        case .system(let thread): pthread_join(thread, nil)
        case .simulated(let machine, let number): machine.join(number)
        }
    }

    /// Nobody waits for its end.
    func detach() {
        switch thread {
        case .system(let thread): pthread_detach(thread)
        case .simulated: break
        }
    }
}
