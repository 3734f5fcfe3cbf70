import CLinux
import Foundation

/// Waits for sockets, and for a time that is finer than a millisecond: epoll(7) with a timerfd(2).
final class Poll {
    private let descriptor: Int32
    private let timer: Int32
    private var armed: Int64 = 0
    private let events: UnsafeMutablePointer<epoll_event>
    private let eventsMax: Int32
    /// The timer's place among the sockets.
    private let timerPlace: UInt32

    init(_ sockets: [Int32]) throws {
        descriptor = epoll_create1(0)
        timer = timerfd_create(CLOCK_MONOTONIC, Int32(TFD_NONBLOCK))
        eventsMax = Int32(sockets.count + 1)
        events = .allocate(capacity: sockets.count + 1)
        timerPlace = UInt32(sockets.count)
        guard descriptor >= 0, timer >= 0 else {
            throw LoadError(.machine, "cannot wait for sockets: \(LoadSocket.reason())")
        }
        for (place, socket) in (sockets + [timer]).enumerated() {
            var event = epoll_event()
            // A socket says when it can be written to again; otherwise a full one would be asked at every turn.
            event.events =
                socket == timer ? EPOLLIN.rawValue : EPOLLIN.rawValue | EPOLLOUT.rawValue | EPOLLET.rawValue
            event.data.u32 = UInt32(place)
            guard epoll_ctl(descriptor, EPOLL_CTL_ADD, socket, &event) == 0 else {
                throw LoadError(.machine, "cannot wait for sockets: \(LoadSocket.reason())")
            }
        }
    }

    deinit {
        close(descriptor)
        close(timer)
        events.deallocate()
    }

    /// Waits for a socket or until a time in nanoseconds of the monotonic clock, and hands over the sockets that are
    /// ready.
    func wait(
        until time: Int64, _ ready: (_ place: Int, _ isWritable: Bool, _ isReadable: Bool) throws -> Void
    ) throws {
        if time != armed {
            var spec = itimerspec()
            spec.it_value.tv_sec = Int(time / 1_000_000_000)
            spec.it_value.tv_nsec = Int(time % 1_000_000_000)
            guard timerfd_settime(timer, Int32(TFD_TIMER_ABSTIME), &spec, nil) == 0 else {
                throw LoadError(.machine, "cannot set a timer: \(LoadSocket.reason())")
            }
            armed = time
        }
        let count = epoll_wait(descriptor, events, eventsMax, -1)
        guard count >= 0 else {
            if errno == EINTR { return }
            throw LoadError(.machine, "cannot wait for sockets: \(LoadSocket.reason())")
        }
        for number in 0..<Int(count) {
            let event = events[number]
            if event.data.u32 == timerPlace {
                var expirations: UInt64 = 0
                _ = read(timer, &expirations, 8)
                armed = 0
                continue
            }
            let isReadable = event.events & ~EPOLLOUT.rawValue != 0
            try ready(Int(event.data.u32), event.events & EPOLLOUT.rawValue != 0, isReadable)
        }
    }
}
