/// Which traces are recorded: those whose parent is, and of those that begin here a part.
struct Sampler: Sendable {
    /// The trace's last seven bytes are random, and at least this where it is recorded: OpenTelemetry's consistent
    /// probability sampling, so that other services with the same ratio choose the same traces.
    private let threshold: UInt64
    private static let randomBits: UInt64 = 1 << 56

    /// - Parameter ratio: 0 … 1.
    init(ratio: Double) {
        precondition((0...1).contains(ratio), "a ratio is from 0 to 1")
        threshold = Sampler.randomBits - UInt64(ratio * Double(Sampler.randomBits))
    }

    /// A trace that begins here; `nil` where it is not recorded.
    func newTrace(_ random: inout some RandomNumberGenerator) -> SpanIdentity? {
        let low = random.next()
        if low & (Sampler.randomBits - 1) < threshold { return nil }
        return SpanIdentity(
            traceHigh: Sampler.nonzero(&random), traceLow: low, span: Sampler.nonzero(&random), isSampled: true)
    }

    /// A name for a trace that began here and is not recorded, for others who are called in it.
    func unrecordedTrace(_ random: inout some RandomNumberGenerator) -> SpanIdentity {
        SpanIdentity(
            traceHigh: Sampler.nonzero(&random), traceLow: random.next(), span: Sampler.nonzero(&random),
            isSampled: false)
    }

    /// A span of the same trace.
    func child(of parent: SpanIdentity, _ random: inout some RandomNumberGenerator) -> SpanIdentity {
        var child = parent
        child.span = Sampler.nonzero(&random)
        return child
    }

    private static func nonzero(_ random: inout some RandomNumberGenerator) -> UInt64 { max(1, random.next()) }
}
