/// The client's own bounds, each with its reason.
enum ClientLimits {
    /// Milliseconds until an attempt to connect is given up: a host that drops packets never answers.
    static let connectTimeoutMilliseconds: Int64 = 10_000
    /// Bytes of the reply buffer kept between reads: a larger one, grown by a long page, is given back.
    static let keptBufferBytesMax = 1 << 20
}
