internal import CZlib

/// Inflates what gzip compressed (RFC 1952), member after member. One owner at a time.
final class Inflation {
    // zlib keeps the address: the stream must not move.
    private let stream: UnsafeMutablePointer<z_stream>
    private let bytesMax: Int
    private var bytes = 0
    /// Between two members: where the file may end.
    private(set) var isComplete = false
    private var output = [UInt8](repeating: 0, count: 64 << 10)

    /// 15 bits of window, and 16 for gzip alone (zlib.h, `inflateInit2`).
    private static let windowBits: Int32 = 15 + 16

    /// - Parameter bytesMax: how many bytes it inflates to at most.
    init(bytesMax: Int) throws(ReportFault) {
        self.bytesMax = bytesMax
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let status = inflateInit2_(
            stream, Inflation.windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard status == Z_OK else {
            stream.deallocate()
            throw ReportFault(.archive, "cannot be inflated: zlib says \(status)")
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Inflates the next bytes of the file, and hands the result on in parts.
    func inflate(
        _ compressed: [UInt8], _ part: (ArraySlice<UInt8>) throws(ReportFault) -> Void
    ) throws(ReportFault) {
        var input = compressed
        var taken = 0
        while taken < input.count {
            if isComplete {
                // Another member follows; a header that is none is told by zlib.
                guard inflateReset(stream) == Z_OK else { throw ReportFault(.archive, "cannot be inflated") }
                isComplete = false
            }
            let (status, used, made) = step(&input, from: taken)
            taken += used
            if made > 0 {
                bytes += made
                guard bytes <= bytesMax else {
                    throw ReportFault(.tooLarge, "inflates to more than \(bytesMax) bytes")
                }
                try part(output[..<made])
            }
            switch status {
            case Z_STREAM_END: isComplete = true
            case Z_OK: break
            // No progress is possible: more input is needed.
            case Z_BUF_ERROR where taken == input.count: break
            default: throw ReportFault(.archive, "what is compressed is damaged")
            }
        }
    }

    /// One call of zlib's.
    private func step(_ input: inout [UInt8], from start: Int) -> (status: Int32, used: Int, made: Int) {
        input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                stream.pointee.next_in = input.baseAddress?.advanced(by: start)
                stream.pointee.avail_in = UInt32(input.count - start)
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = UInt32(output.count)
                let status = CZlib.inflate(stream, Z_NO_FLUSH)
                return (
                    status, input.count - start - Int(stream.pointee.avail_in),
                    output.count - Int(stream.pointee.avail_out)
                )
            }
        }
    }
}
