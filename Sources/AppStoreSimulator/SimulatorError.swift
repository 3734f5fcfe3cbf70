/// Why the simulator does not start, or does not do what a command asks.
package struct SimulatorError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What a caller can decide by.
    package enum Kind: Sendable {
        /// The command is malformed, or Apple could never do it.
        case invalid
        /// There is no such purchase or product.
        case notFound
        /// The purchase is in another state.
        case conflict
        /// The file or the network failed, or a bound is reached.
        case unavailable
    }

    package let kind: Kind
    /// For people.
    package let description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}
