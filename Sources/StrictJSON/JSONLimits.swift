/// Bounds of every JSON text that this service reads, each with its reason.
package enum JSONLimits {
    /// Objects and arrays inside each other. The deepest message of the protocol needs seven; the reader recurses.
    package static let depthMax = 32
    /// Members of one object where the caller does not say otherwise. Requests and payloads have some thirty.
    package static let membersMax = 1_024
    /// Keys of one object that are compared by their hashes, before a set takes over.
    @usableFromInline static let membersInVector = 32
    /// Bytes of one key that an error's path repeats: a path is for people.
    static let pathKeyBytesMax = 64
}
