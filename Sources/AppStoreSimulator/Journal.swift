#if canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// The simulator's file: lines that are only ever appended, each a JSON object of one thing that happened. A line is
/// written before anybody is told of it; it outlives the process, not the machine's power.
///
/// One owner at a time: the actor that opened it.
final class Journal {
    private let path: String
    private let descriptor: Int32
    private var isReleased = false
    /// The next line begins here.
    private(set) var end = 0

    /// Opens the file, or makes it. A last line without an end was never told to anybody, and is cut off.
    /// - Parameter line: gets each line without its end, and where it begins.
    /// - Throws: ``SimulatorError``, also what `line` throws.
    init(path: String, line: (_ bytes: [UInt8], _ start: Int) throws(SimulatorError) -> Void) throws(SimulatorError) {
        self.path = path
        descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Journal.fault(path, "cannot be opened") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            if errno == EWOULDBLOCK { throw SimulatorError(.unavailable, "\(path): another simulator has it open") }
            throw Journal.fault(path, "cannot be locked")
        }
        try readLines(line)
        guard ftruncate(descriptor, off_t(end)) == 0 else { throw Journal.fault(path, "cannot be cut") }
    }

    deinit { release() }

    /// Closes the file: another may open it.
    func release() {
        if !isReleased { close(descriptor) }
        isReleased = true
    }

    private static func fault(_ path: String, _ what: String) -> SimulatorError {
        SimulatorError(.unavailable, "\(path) \(what): \(String(cString: strerror(errno)))")
    }

    private func readLines(_ line: ([UInt8], Int) throws(SimulatorError) -> Void) throws(SimulatorError) {
        var rest: [UInt8] = []
        var position = 0
        while true {
            let part = try read(position..<position + (1 << 20), isWhole: false)
            if part.isEmpty { return }
            position += part.count
            var start = 0
            while let feed = part[start...].firstIndex(of: UInt8(ascii: "\n")) {
                rest += part[start..<feed]
                try line(rest, end)
                end += rest.count + 1
                rest.removeAll(keepingCapacity: true)
                start = feed + 1
            }
            rest += part[start...]
            guard rest.count <= SimulatorLimits.lineBytesMax else {
                throw SimulatorError(.unavailable, "\(path): the line at byte \(end) is too long")
            }
        }
    }

    /// Appends whole lines; all of them, or none.
    /// - Returns: where they begin.
    @discardableResult
    func append(_ lines: [UInt8]) throws(SimulatorError) -> Int {
        if isReleased { throw SimulatorError(.unavailable, "the simulator ends") }
        var done = 0
        while done < lines.count {
            let count = lines[done...].withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                let error = Journal.fault(path, "cannot be written")
                // What is left of it would be taken for the beginning of the next line.
                guard ftruncate(descriptor, off_t(end)) == 0 else { throw Journal.fault(path, "cannot be cut") }
                throw error
            }
            done += count
        }
        defer { end += lines.count }
        return end
    }

    /// What stands at a place.
    func read(_ range: Range<Int>) throws(SimulatorError) -> [UInt8] { try read(range, isWhole: true) }

    private func read(_ range: Range<Int>, isWhole: Bool) throws(SimulatorError) -> [UInt8] {
        if isReleased { throw SimulatorError(.unavailable, "the simulator ends") }
        var bytes = [UInt8](repeating: 0, count: range.count)
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeMutableBytes { buffer in
                pread(
                    descriptor, buffer.baseAddress?.advanced(by: done), buffer.count - done,
                    off_t(range.lowerBound + done))
            }
            if count < 0 {
                if errno == EINTR { continue }
                throw Journal.fault(path, "cannot be read")
            }
            if count == 0 {
                if isWhole { throw SimulatorError(.unavailable, "\(path) was cut by somebody else") }
                bytes.removeLast(bytes.count - done)
                break
            }
            done += count
        }
        return bytes
    }
}
