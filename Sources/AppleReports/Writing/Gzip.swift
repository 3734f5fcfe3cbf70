internal import CZlib

/// Compresses by gzip (RFC 1952).
package enum Gzip {
    /// 15 bits of window, and 16 for gzip (zlib.h, `deflateInit2`).
    private static let windowBits: Int32 = 15 + 16
    /// zlib.h: the usual one.
    private static let memoryLevel: Int32 = 8

    /// The same bytes for the same bytes: no time and no name are in them.
    package static func compress(_ bytes: [UInt8]) -> [UInt8] {
        var stream = z_stream()
        let status = deflateInit2_(
            &stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, windowBits, memoryLevel, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size))
        precondition(status == Z_OK, "zlib has no memory")
        defer { deflateEnd(&stream) }
        var input = bytes
        var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))))
        let count = input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                let status = deflate(&stream, Z_FINISH)
                precondition(status == Z_STREAM_END, "deflateBound is enough for one call")
                return output.count - Int(stream.avail_out)
            }
        }
        return Array(output[..<count])
    }
}
