import Glibc

/// A machine on which the engine is simulated: one of its threads runs at a time, in an order that the machine chooses,
/// and waits cost no time. Where it chooses by a seed, the same code takes the same steps whenever the seed is given.
///
/// In operation there is none, and threads, locks, clock and randomness are the operating system's. A thread belongs to
/// the machine that ``SimulatedMachines/current`` gives on it, and so do the locks and threads that are made there.
package protocol SimulatedMachine: AnyObject, Sendable {
    /// The monotonic clock.
    var nanoseconds: UInt64 { get }

    func random() -> UInt64

    /// Has another thread run `body`.
    /// - Returns: its number.
    func begin(_ name: String, _ body: @escaping @Sendable () -> Void) -> Int

    /// Waits for a thread's end.
    func join(_ thread: Int)

    /// Waits until nobody has the lock, and takes it.
    func acquire(_ lock: ObjectIdentifier)

    /// Gives the lock back.
    func release(_ lock: ObjectIdentifier)

    /// Gives the lock back, waits until it is woken or the clock shows `time`, and takes it again. It may be woken for
    /// nothing.
    func wait(_ lock: ObjectIdentifier, until time: UInt64?)

    /// Wakes one of those who wait with the lock, or all of them.
    func wake(_ lock: ObjectIdentifier, all: Bool)
}

package enum SimulatedMachines {
    private final class Box {
        let machine: any SimulatedMachine
        init(_ machine: any SimulatedMachine) { self.machine = machine }
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let code = pthread_key_create(&key) { box in
            if let box { Unmanaged<Box>.fromOpaque(box).release() }
        }
        precondition(code == 0, "the system has no more keys of threads")
        return key
    }()

    /// The machine that the calling thread belongs to; `nil` for the operating system.
    package static var current: (any SimulatedMachine)? {
        get {
            guard let box = pthread_getspecific(key) else { return nil }
            return Unmanaged<Box>.fromOpaque(box).takeUnretainedValue().machine
        }
        set {
            if let box = pthread_getspecific(key) { Unmanaged<Box>.fromOpaque(box).release() }
            pthread_setspecific(key, newValue.map { Unmanaged.passRetained(Box($0)).toOpaque() })
        }
    }
}

/// The monotonic clock, in nanoseconds.
func monotonicNanoseconds() -> UInt64 {
    if let machine = SimulatedMachines.current { return machine.nanoseconds }
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// For how long the calling thread has had a core; 0 on a simulated machine, where work takes no time.
func coreNanoseconds() -> UInt64 {
    if SimulatedMachines.current != nil { return 0 }
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// The randomness of salts: the operating system's.
struct MachineRandom: RandomNumberGenerator {
    private let machine = SimulatedMachines.current
    private var system = SystemRandomNumberGenerator()

    mutating func next() -> UInt64 { machine?.random() ?? system.next() }
}
