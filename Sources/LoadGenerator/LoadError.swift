/// Why a run cannot go on, in words.
package struct LoadError: Error, CustomStringConvertible, Sendable {
    package let description: String

    init(_ description: String) { self.description = description }
}
