/// Bytes between a writer and a reader: raw memory that is used again, without checks on the way.
final class ByteQueue {
    private var base: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    private var head = 0
    private var tail = 0

    init(capacity: Int) {
        self.capacity = capacity
        base = .allocate(capacity: capacity)
    }

    deinit { base.deallocate() }

    var count: Int { tail - head }

    /// What was written and not taken; good until the next change.
    var readable: UnsafeMutableBufferPointer<UInt8> { UnsafeMutableBufferPointer(start: base + head, count: count) }

    func take(_ count: Int) {
        head += count
        if head == tail {
            head = 0
            tail = 0
        }
    }

    /// Room for at least so many bytes after what was written.
    func room(_ least: Int) -> UnsafeMutableBufferPointer<UInt8> {
        if capacity - tail < least { makeRoom(least) }
        return UnsafeMutableBufferPointer(start: base + tail, count: capacity - tail)
    }

    func wrote(_ count: Int) { tail += count }

    func append(_ byte: UInt8) {
        room(1)[0] = byte
        wrote(1)
    }

    func append(_ bytes: UnsafePointer<UInt8>, _ count: Int) {
        guard count > 0, let start = room(count).baseAddress else { return }
        start.update(from: bytes, count: count)
        wrote(count)
    }

    private func makeRoom(_ least: Int) {
        let count = count
        if capacity - count >= least, head >= capacity / 2 {
            base.update(from: base + head, count: count)
        } else {
            var larger = capacity
            while larger - count < least { larger *= 2 }
            if larger == capacity { larger *= 2 }
            let moved = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
            moved.update(from: base + head, count: count)
            base.deallocate()
            base = moved
            capacity = larger
        }
        head = 0
        tail = count
    }
}
