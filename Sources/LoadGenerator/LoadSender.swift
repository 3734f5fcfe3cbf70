import CLinux
import Foundation
import Histogram
import LedgerWire
import Synchronization

/// What is sent in one go: from the first request to the last reply.
struct LoadPhase {
    var kind: RequestSource.Kind
    /// Its first request's index and how many there are at most.
    var requests: Range<Int>
    var batch: Int
    /// No line is begun after it.
    var durationSeconds: Double?
    /// Requests a second.
    var rate: Double?
    /// A line a second that begins with this.
    var progress: String?
}

/// What came of a phase.
package struct PhaseResult {
    package var requests = 0
    package var errors = 0
    package var firstErrors: [String] = []
    var seconds = 0.0
    var requestBytes = 0
    var replyBytes = 0
    /// Nanoseconds from a request's time to its reply.
    var latency = Histogram<UInt64>(highestTrackableValue: 3_600_000_000_000, numberOfSignificantValueDigits: .three)
    var wasInterrupted = false
}

/// Sends requests over its connections and counts the replies, all on the thread that calls `run`. It shares the
/// machine with the server that it loads, so it does little: requests are copied from templates, replies are scanned
/// for line ends, and no memory is allocated on the way.
final class LoadSender {
    private let connections: [LoadConnection]
    private var source: RequestSource
    private let poll: Poll
    private let isInterrupted: @Sendable () -> Bool
    private let tell: @Sendable (String) -> Void

    /// Connects, and authenticates where a token is given.
    init(
        _ address: ServerAddress, token: String?, linesInFlight: [Int], source: RequestSource,
        isInterrupted: @escaping @Sendable () -> Bool, tell: @escaping @Sendable (String) -> Void
    ) throws {
        self.tell = tell
        self.source = source
        self.isInterrupted = isInterrupted
        connections = try linesInFlight.map { linesMax in
            let socket = try LoadSocket(address)
            if let token { try LoadSender.authenticate(socket, token) }
            try socket.makeNonBlocking()
            return LoadConnection(socket, linesMax: linesMax)
        }
        poll = try Poll(connections.map(\.socket.descriptor))
    }

    private static func authenticate(_ socket: LoadSocket, _ token: String) throws {
        var writer = RequestWriter()
        writer.write(Methods.authenticate, Authentication(token: token), id: .integer(0))
        let answer = try socket.exchange(writer.bytes)
        guard answer.contains(#""result":"#) else { throw LoadError(.service, "--token: \(answer)") }
    }

    /// The state of a phase.
    private struct Course {
        let phase: LoadPhase
        let start: Int64
        let end: Int64?
        /// Nanoseconds from one line to the next, in a paced phase.
        let interval: Double?
        var nextRequest: Int
        var linesBegun = 0
        var nextConnection = 0
        var result = PhaseResult()
        var lastReply: Int64
        var inFlight = 0

        init(_ phase: LoadPhase, now: Int64) {
            self.phase = phase
            start = now
            end = phase.durationSeconds.map { now + Int64($0 * 1e9) }
            interval = phase.rate.map { 1e9 * Double(phase.batch) / $0 }
            nextRequest = phase.requests.lowerBound
            lastReply = now
        }

        /// When the next line should be sent.
        var due: Int64? { interval.map { start + Int64(Double(linesBegun) * $0) } }

        func mayBegin(_ now: Int64) -> Bool {
            guard nextRequest < phase.requests.upperBound, !result.wasInterrupted else { return false }
            // In a paced phase what should have been sent in time is sent, however late.
            guard let end else { return true }
            return (due ?? now) < end
        }
    }

    func run(_ phase: LoadPhase) throws -> PhaseResult {
        for connection in connections { connection.resetCounters() }
        var course = Course(phase, now: LoadClock.nanoseconds())
        var progress = ProgressLine(phase.progress, start: course.start, tell)
        var now = course.start
        try begin(&course, now)
        while course.inFlight > 0 || course.mayBegin(now) {
            try poll.wait(until: wakeUp(course, progress, now)) { place, isWritable, isReadable in
                now = LoadClock.nanoseconds()
                if isReadable { try receive(connections[place], &course, now) }
                if isWritable { try connections[place].flush() }
            }
            now = LoadClock.nanoseconds()
            if isInterrupted() { course.result.wasInterrupted = true }
            try begin(&course, now)
            progress.show(course.result, inFlight: course.inFlight, now: now)
            if course.inFlight > 0, now - course.lastReply > Int64(LoadLimits.silenceSecondsMax) * 1_000_000_000 {
                throw LoadError(
                    .connection,
                    "no reply for \(LoadLimits.silenceSecondsMax) seconds with \(course.inFlight) in flight")
            }
            if course.result.wasInterrupted, now - course.lastReply > 1_000_000_000 { break }
        }
        course.result.seconds = Double(course.lastReply - course.start) / 1e9
        course.result.requestBytes = connections.reduce(0) { $0 + $1.sentBytes }
        course.result.replyBytes = connections.reduce(0) { $0 + $1.receivedBytes }
        return course.result
    }

    private func wakeUp(_ course: Course, _ progress: ProgressLine, _ now: Int64) -> Int64 {
        guard let due = course.due, due > now, course.mayBegin(now) else { return progress.next }
        let ticks = (due - course.start + LoadLimits.tickNanoseconds - 1) / LoadLimits.tickNanoseconds
        return min(course.start + ticks * LoadLimits.tickNanoseconds, progress.next)
    }

    /// Begins the lines that may be sent now, and sends them.
    private func begin(_ course: inout Course, _ now: Int64) throws {
        let milliseconds = LoadClock.milliseconds()
        // Silence begins to count when there is something to be answered.
        if course.inFlight == 0, course.mayBegin(now) { course.lastReply = max(course.lastReply, now) }
        guard course.interval != nil else {
            for connection in connections {
                repeat {
                    while connection.mayTakeLine, course.mayBegin(now) {
                        line(on: connection, &course, time: now, milliseconds)
                    }
                    if connection.hasUnsent { try connection.flush() }
                } while !connection.hasUnsent && connection.mayTakeLine && course.mayBegin(now)
            }
            return
        }
        // What became due since the last tick goes out on one connection, in one write.
        while let due = course.due, due <= now, course.mayBegin(now), let connection = freeConnection(&course) {
            var due: Int64? = due
            while let time = due, time <= now, course.mayBegin(now), connection.mayTakeLine {
                line(on: connection, &course, time: time, milliseconds)
                due = course.due
            }
        }
        for connection in connections where connection.hasUnsent { try connection.flush() }
    }

    /// The connections take turns; one whose replies are outstanding is passed over.
    private func freeConnection(_ course: inout Course) -> LoadConnection? {
        for _ in connections.indices {
            let connection = connections[course.nextConnection]
            course.nextConnection = (course.nextConnection + 1) % connections.count
            if connection.mayTakeLine { return connection }
        }
        return nil
    }

    private func line(on connection: LoadConnection, _ course: inout Course, time: Int64, _ milliseconds: Int64) {
        let phase = course.phase
        let count = min(phase.batch, phase.requests.upperBound - course.nextRequest)
        connection.append(time: time, first: course.nextRequest, count: count, isBatch: phase.batch > 1) { index, out in
            source.write(index, phase.kind, now: milliseconds, to: out)
        }
        course.nextRequest += count
        course.linesBegun += 1
        course.inFlight += count
    }

    private func receive(_ connection: LoadConnection, _ course: inout Course, _ now: Int64) throws {
        try connection.receive { answer, line in
            course.inFlight -= answer.count
            course.result.requests += answer.count
            course.lastReply = now
            _ = course.result.latency.record(UInt64(max(0, now - answer.time)), count: UInt64(answer.count))
            guard answer.errors > 0 else { return }
            course.result.errors += answer.errors
            if course.result.firstErrors.count < LoadLimits.errorsShownMax {
                course.result.firstErrors.append(ReplyScan.firstError(line))
            }
        }
    }
}

/// A line a second for whoever watches.
private struct ProgressLine {
    private let title: String?
    private let start: Int64
    private var lastRequests = 0
    private var lastTime: Int64
    private(set) var next: Int64

    private let tell: @Sendable (String) -> Void

    init(_ title: String?, start: Int64, _ tell: @escaping @Sendable (String) -> Void) {
        self.tell = tell
        self.title = title
        self.start = start
        lastTime = start
        next = start + 1_000_000_000
    }

    mutating func show(_ result: PhaseResult, inFlight: Int, now: Int64) {
        guard now >= next else { return }
        let perSecond = Double(result.requests - lastRequests) * 1e9 / Double(now - lastTime)
        if let title {
            tell(
                "\(title) \((now - start) / 1_000_000_000) s  \(result.requests) requests  \(Int(perSecond))/s  "
                    + "\(inFlight) in flight  \(result.errors) errors")
        }
        lastRequests = result.requests
        lastTime = now
        while next <= now { next += 1_000_000_000 }
    }
}
