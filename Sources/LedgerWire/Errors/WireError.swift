/// The error of a reply: nothing was changed, and why. Only `outcome_unknown` means that nobody knows yet whether the
/// request was carried out; the same request, sent again, tells.
///
/// The protocol's `{"code", "message", "data": {"reason", "retryable", …}}`.
public struct WireError: Error, Hashable, Sendable {
    /// One more member of the error's `data`.
    public struct Detail: Hashable, Sendable {
        /// The member's name, as `available` or `path`.
        public var name: String
        /// Its value.
        public var value: Value

        /// One more member of the error's `data`.
        public init(_ name: String, _ value: Value) {
            self.name = name
            self.value = value
        }
    }

    /// The value of a detail.
    public enum Value: Hashable, Sendable {
        /// A string.
        case string(String)
        /// An integer of 64 bits.
        case integer(Int64)
        /// True or false.
        case bool(Bool)
        /// Null.
        case null
        /// Any other value, as JSON text.
        case json(String)
    }

    /// The JSON-RPC code, negative. Several reasons share one; ``reason`` tells them apart.
    public var code: Int
    /// The stable name, as `insufficient_funds`. A newer server may send one that this version does not know.
    public var reason: String
    /// For people. It never holds a token or a signed object.
    public var message: String
    /// Whether the same request may be sent again. What has a key, or what Apple signed, cannot be done twice;
    /// `forget` has neither, and after `outcome_unknown` a second one erases whoever has the name by then.
    public var retryable: Bool
    /// The other members of `data`, in the order sent.
    public var details: [Detail]

    /// An error as a server sends it.
    public init(code: Int, reason: String, message: String, retryable: Bool, details: [Detail] = []) {
        self.code = code
        self.reason = reason
        self.message = message
        self.retryable = retryable
        self.details = details
    }

    package init(_ reason: WireReason, _ message: String, _ details: [Detail] = []) {
        self.init(
            code: reason.code, reason: reason.rawValue, message: message, retryable: reason.isRetryable,
            details: details)
    }

    /// The value of a detail, as `available` of `insufficient_funds`; `nil` where there is none of that name.
    public subscript(name: String) -> Value? { details.first { $0.name == name }?.value }
}

extension WireError: CustomStringConvertible {
    /// The reason and the message.
    public var description: String { "\(reason): \(message)" }

    /// The reason, the message and the details, for an operator: as `unknown_product: … (product: gems500)`. A detail
    /// may be what a client or Apple wrote.
    package var detailedDescription: String {
        if details.isEmpty { return description }
        return "\(description) (\(details.map { "\($0.name): \($0.value)" }.joined(separator: ", ")))"
    }
}

extension WireError.Value: CustomStringConvertible {
    /// The value, as people write it; JSON as it is.
    public var description: String {
        switch self {
        case .string(let text), .json(let text): text
        case .integer(let number): "\(number)"
        case .bool(let flag): "\(flag)"
        case .null: "null"
        }
    }
}
