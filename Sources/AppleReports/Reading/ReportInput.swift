#if canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

/// Where a report's bytes are, plain or compressed by gzip.
public struct ReportInput: Sendable {
    private enum Place: Sendable {
        case file(String)
        case memory([UInt8])
    }

    private let place: Place

    /// A file, which may be a pipe.
    public init(path: String) { place = .file(path) }

    /// Bytes in memory.
    public init(bytes: [UInt8]) { place = .memory(bytes) }

    func open() throws(ReportFault) -> ByteStream {
        switch place {
        case .file(let path): try ByteStream(path: path)
        case .memory(let bytes): ByteStream(bytes: bytes)
        }
    }
}

/// The bytes of a file, or of an array, part by part. One owner at a time.
final class ByteStream {
    /// Bytes of a part. What is compressed inflates to a thousand times as much at most, which is in memory at once.
    private static let partBytesMax = 16 << 10

    /// -1 of an array.
    private let descriptor: Int32
    private var rest: ArraySlice<UInt8>

    init(path: String) throws(ReportFault) {
        #if canImport(Musl)
        descriptor = Musl.open(path, O_RDONLY | O_CLOEXEC)
        #else
        descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        #endif
        rest = []
        guard descriptor >= 0 else { throw ByteStream.fault("cannot be read") }
    }

    init(bytes: [UInt8]) {
        descriptor = -1
        rest = bytes[...]
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// The next bytes; none at the end.
    func next() throws(ReportFault) -> [UInt8] {
        guard descriptor >= 0 else {
            defer { rest = rest.dropFirst(ByteStream.partBytesMax) }
            return Array(rest.prefix(ByteStream.partBytesMax))
        }
        var part = [UInt8](repeating: 0, count: ByteStream.partBytesMax)
        while true {
            let count = part.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 { return Array(part[..<count]) }
            guard errno == EINTR else { throw ByteStream.fault("cannot be read") }
        }
    }

    private static func fault(_ what: String) -> ReportFault {
        ReportFault(.unreadable, "\(what): \(String(cString: strerror(errno)))")
    }
}
