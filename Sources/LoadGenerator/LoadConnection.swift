import Foundation
import LedgerWire

/// One connection of the generator: lines that are on their way out, and for each line without a reply when it was, or
/// should have been, sent.
final class LoadConnection {
    let socket: LoadSocket
    private let out = ByteQueue(capacity: 64 << 10)
    private let replies = ByteQueue(capacity: 64 << 10)
    private var cutter = LineCutter(lineBytesMax: WireLimits.replyBytesMax)
    private(set) var sentBytes = 0
    private(set) var receivedBytes = 0

    /// A line without a reply.
    private struct Pending {
        var time: Int64
        var first: Int
        var count: Int
    }

    private let ring: UnsafeMutablePointer<Pending>
    private let ringMask: Int
    private var oldest = 0
    private var next = 0
    let linesMax: Int

    init(_ socket: LoadSocket, linesMax: Int) {
        self.socket = socket
        self.linesMax = linesMax
        var capacity = 1
        while capacity < linesMax { capacity *= 2 }
        ring = .allocate(capacity: capacity)
        ringMask = capacity - 1
    }

    deinit { ring.deallocate() }

    var linesInFlight: Int { next - oldest }
    var mayTakeLine: Bool { linesInFlight < linesMax && out.count < LoadLimits.unsentBytesMax }
    var hasUnsent: Bool { out.count > 0 }

    func resetCounters() {
        sentBytes = 0
        receivedBytes = 0
    }

    // MARK: Sending

    /// Puts a line of `count` requests behind what waits to be sent; `write` writes each without a line end.
    func append(time: Int64, first: Int, count: Int, isBatch: Bool, write: (Int, ByteQueue) -> Void) {
        if isBatch {
            out.append(UInt8(ascii: "["))
            for index in first..<first + count {
                if index > first { out.append(UInt8(ascii: ",")) }
                write(index, out)
            }
            out.append(UInt8(ascii: "]"))
        } else {
            write(first, out)
        }
        out.append(UInt8(ascii: "\n"))
        ring[next & ringMask] = Pending(time: time, first: first, count: count)
        next += 1
    }

    /// Sends what the socket takes.
    func flush() throws {
        while out.count > 0 {
            let bytes = out.readable
            let count = send(socket.descriptor, bytes.baseAddress, bytes.count, LoadSocket.sendFlags)
            if count > 0 {
                out.take(count)
                sentBytes += count
            } else if errno == EAGAIN || errno == EWOULDBLOCK {
                return
            } else if errno != EINTR {
                throw LoadError(.connection, "the connection was lost: \(LoadSocket.reason())")
            }
        }
    }

    // MARK: Receiving

    /// A line that was answered.
    struct Answer {
        /// When its request was, or should have been, sent.
        var time: Int64
        var count: Int
        var errors: Int
    }

    /// Reads what is there and hands over the answers; `line` is good during the call only.
    func receive(_ answer: (Answer, _ line: UnsafeBufferPointer<UInt8>) throws -> Void) throws {
        while true {
            let room = replies.room(32 << 10)
            let count = recv(socket.descriptor, room.baseAddress, room.count, 0)
            if count < 0 {
                if errno == EINTR { continue }
                if errno == EAGAIN || errno == EWOULDBLOCK { return }
                throw LoadError(.connection, "the connection was lost: \(LoadSocket.reason())")
            }
            guard count > 0 else {
                throw LoadError(.connection, "the server closed a connection with \(linesInFlight) lines unanswered")
            }
            replies.wrote(count)
            receivedBytes += count
            try takeLines(answer)
            // epoll(7): a short read has emptied the socket, and what comes after it is a new event.
            if count < room.count { return }
        }
    }

    private func takeLines(_ answer: (Answer, _ line: UnsafeBufferPointer<UInt8>) throws -> Void) throws {
        while let base = replies.readable.baseAddress {
            switch cutter.front(of: UnsafeRawBufferPointer(replies.readable)) {
            case .line(let range, let end):
                // The line's end makes way for the NUL that strstr(3) stops at.
                base[range.upperBound] = 0
                let line = UnsafeBufferPointer(start: UnsafePointer(base + range.lowerBound), count: range.count)
                try answer(try settle(line), line)
                replies.take(end)
                cutter.dropped(end)
            case .unfinished(let empty):
                replies.take(empty)
                cutter.dropped(empty)
                return
            case .tooLong: throw LoadError(.service, "the server's line has no end")
            }
        }
    }

    private func settle(_ line: UnsafeBufferPointer<UInt8>) throws -> Answer {
        guard oldest < next else {
            throw LoadError(.service, "the server sent a line that nobody asked for: \(ReplyScan.excerpt(line))")
        }
        let pending = ring[oldest & ringMask]
        oldest += 1
        let errors = try ReplyScan.errors(in: line, first: pending.first, count: pending.count)
        return Answer(time: pending.time, count: pending.count, errors: errors)
    }
}
