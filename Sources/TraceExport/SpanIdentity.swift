import Tracing

/// Which span of which trace: W3C Trace Context's `trace-id` and `parent-id`, and whether it is sampled
/// (https://www.w3.org/TR/trace-context/).
struct SpanIdentity: Hashable, Sendable {
    /// The trace's 16 bytes; never all zero.
    var traceHigh: UInt64
    var traceLow: UInt64
    /// The span's 8 bytes; never zero.
    var span: UInt64
    var isSampled: Bool

    init(traceHigh: UInt64, traceLow: UInt64, span: UInt64, isSampled: Bool) {
        precondition((traceHigh | traceLow) != 0 && span != 0, "zeros name no trace and no span")
        self.traceHigh = traceHigh
        self.traceLow = traceLow
        self.span = span
        self.isSampled = isSampled
    }

    /// The value of a header `traceparent` (§3.2); `nil` where it is none: then it is as if it had not come.
    init?(traceParent text: String) {
        let bytes = Array(text.utf8)
        let parts = bytes.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.count >= 4, parts[1].count == 32, let version = SpanIdentity.number(parts[0], digits: 2),
            let high = SpanIdentity.number(parts[1].prefix(16), digits: 16),
            let low = SpanIdentity.number(parts[1].suffix(16), digits: 16),
            let span = SpanIdentity.number(parts[2], digits: 16),
            let flags = SpanIdentity.number(parts[3], digits: 2)
        else { return nil }
        // "Version ff is invalid"; version 00 has four parts, and later ones may have more behind these.
        guard version != 0xFF, version > 0 || parts.count == 4, high | low != 0, span != 0 else { return nil }
        self.init(traceHigh: high, traceLow: low, span: span, isSampled: flags & 1 == 1)
    }

    var traceParent: String { "00-\(traceID)-\(spanID)-\(isSampled ? "01" : "00")" }
    var traceID: String { SpanIdentity.hexadecimal(traceHigh) + SpanIdentity.hexadecimal(traceLow) }
    var spanID: String { SpanIdentity.hexadecimal(span) }

    static func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Of small hexadecimal digits, as many as there have to be.
    private static func number(_ text: ArraySlice<UInt8>, digits: Int) -> UInt64? {
        if text.count != digits { return nil }
        var number: UInt64 = 0
        for byte in text {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt64(byte - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): number = number << 4 | UInt64(byte - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return number
    }
}

extension ServiceContext {
    private enum Key: ServiceContextKey {
        typealias Value = SpanIdentity
        static var nameOverride: String? { "traceparent" }
    }

    /// The span that what has this context is in.
    var span: SpanIdentity? {
        get { self[Key.self] }
        set { self[Key.self] = newValue }
    }

    private enum UnrecordedKey: ServiceContextKey {
        typealias Value = Void
        static var nameOverride: String? { "unrecorded" }
    }

    /// Whether what has this context is in a trace that began here and is not recorded: such a trace has no name.
    var isUnrecorded: Bool {
        get { self[UnrecordedKey.self] != nil }
        set { self[UnrecordedKey.self] = newValue ? () : nil }
    }
}
