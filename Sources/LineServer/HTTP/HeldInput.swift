import NIOCore

/// Bytes that came and were not handed on yet. What was handed on keeps no memory, also where more comes before all of
/// it is.
struct HeldInput {
    private var bytes = ByteBuffer()

    /// How many there are.
    var count: Int { bytes.readableBytes }

    var isEmpty: Bool { count == 0 }

    /// Bytes of memory that are kept for them.
    var memoryBytes: Int { bytes.storageCapacity }

    mutating func append(_ more: ByteBuffer) {
        if isEmpty {
            bytes = more
        } else {
            // By itself a buffer keeps all that was ever read from it.
            bytes.discardReadBytes()
            bytes.writeImmutableBuffer(more)
        }
    }

    /// Takes the first bytes, as many as there are up to `bytesMax`; `nil` where there are none.
    mutating func removeFirst(_ bytesMax: Int) -> ByteBuffer? {
        if isEmpty { return nil }
        let piece = bytes.readSlice(length: min(bytesMax, count))
        if isEmpty { removeAll() }
        return piece
    }

    mutating func removeAll() { bytes = ByteBuffer() }
}
