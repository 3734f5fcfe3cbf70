import NIOCore

/// What stands between the callers of one connection and its event loop: lines on their way there, and calls that wait
/// for room. A value, kept under the connection's lock.
struct Outbox {
    /// Lines that the event loop has not fetched.
    private(set) var bytes: [UInt8] = []
    /// The calls of those lines.
    private(set) var calls: [PendingCall] = []
    /// Calls that wait for room, in the order in which they came. Some may have been given up.
    private(set) var queue = CircularBuffer<PendingCall>()
    /// How many calls were given up and may still stand in the queue. Once this is half of the queue's count, all
    /// calls that were given up are removed from the queue.
    private var abandoned = 0
    /// What was placed and is not answered.
    private(set) var inFlight = 0
    private(set) var bytesInFlight = 0
    private let inFlightMax: Int
    private let bytesInFlightMax: Int
    /// The event loop knows that there is something to fetch.
    var isScheduled = false
    /// The event loop looks after deadlines at this time, or earlier.
    var watch: NIODeadline?
    /// How many calls were answered.
    private(set) var answers = 0
    /// Why nothing can be sent any more.
    var end: (any Error)?

    init(inFlightMax: Int, bytesInFlightMax: Int) {
        precondition(inFlightMax >= 1 && bytesInFlightMax >= 1, "a connection has room for one request")
        self.inFlightMax = inFlightMax
        self.bytesInFlightMax = bytesInFlightMax
    }

    /// Takes a call, to be sent as soon as there is room.
    mutating func add(_ call: PendingCall) {
        if queue.isEmpty, hasRoom(for: call) { place(call) } else { queue.append(call) }
    }

    /// Makes room of what was answered, and fills it.
    mutating func release(calls: Int, bytes: Int) {
        inFlight -= calls
        bytesInFlight -= bytes
        answers += calls
        while let next = queue.first {
            if next.hasEnded {
                abandoned = max(0, abandoned - 1)
            } else {
                guard hasRoom(for: next) else { return }
                place(next)
            }
            queue.removeFirst()
        }
        abandoned = 0
    }

    /// A call was given up, here or on the wire.
    mutating func noteAbandoned() {
        guard !queue.isEmpty else { return }
        abandoned += 1
        if abandoned * 2 >= queue.count { prune() }
    }

    /// Clears the queue of calls that were given up.
    mutating func prune() {
        queue.removeAll { $0.hasEnded }
        abandoned = 0
    }

    /// Hands over what is to be sent; the buffer's memory is kept unless it has grown large.
    mutating func fetch(into buffer: inout ByteBuffer, _ each: (PendingCall) -> Void) {
        isScheduled = false
        buffer.writeBytes(bytes)
        bytes.removeAll(keepingCapacity: bytes.capacity <= ClientLimits.keptBufferBytesMax)
        calls.forEach(each)
        calls.removeAll(keepingCapacity: true)
    }

    /// Ends it for the first reason that there was, and hands over the calls that never reached the event loop.
    mutating func finish(_ error: any Error) -> (reason: any Error, unsent: [PendingCall]) {
        let reason = end ?? error
        end = reason
        defer {
            calls = []
            bytes = []
            queue = []
        }
        return (reason, calls + queue)
    }

    /// A line longer than all that may be in flight goes alone.
    private func hasRoom(for call: PendingCall) -> Bool {
        guard inFlight < inFlightMax else { return false }
        return inFlight == 0 || bytesInFlight + call.line.count <= bytesInFlightMax
    }

    private mutating func place(_ call: PendingCall) {
        guard call.beginSending() else { return }
        inFlight += 1
        bytesInFlight += call.line.count
        bytes.append(contentsOf: call.line)
        calls.append(call)
    }
}
