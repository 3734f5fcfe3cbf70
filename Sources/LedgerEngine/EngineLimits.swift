/// The bounds of a ledger in operation, each with its reason. Tests make them small to reach them.
package struct EngineLimits: Sendable {
    /// Players kept in memory, each with one open lot; one with more lots counts for more, so that this bounds the
    /// memory.
    package var cachedPlayersMax = 300_000
    /// Batches that are decided and not durable yet. One is being made durable while the next is decided; a third
    /// keeps the disk busy while the writer's thread waits for a core. More would only make a failure take more with
    /// it.
    package var batchesAheadMax = 3
    /// Bytes of blocks that the projection may lack. A start after a crash applies them before it answers: well under
    /// a second; and all that they changed is in memory: about a hundred megabytes.
    package var unprojectedBytesMax = 12 << 20
    /// Blocks that the projection may lack, where they are small.
    package var unprojectedBlocksMax = 20_000
    /// Bytes of blocks at which the projection is brought forward while more come: large steps change a row once that
    /// many blocks have changed.
    package var projectionStepBytes = 4 << 20
    /// Bytes of blocks that are applied in one transaction: bounds what one takes in memory and in the write-ahead
    /// log.
    package var projectionStepBytesMax = 6 << 20
    /// How long the projection may be behind while blocks keep coming.
    package var projectionLagMilliseconds: UInt64 = 1_500
    /// How long no block has come when a ledger counts as idle, and its projection is brought to the head.
    package var idleMilliseconds: UInt64 = 20
    /// How long after a failure to write the projection it is tried again.
    package var projectionRetryMilliseconds: UInt64 = 500
    /// How long after a failure of the log it is tried again: each try syncs.
    package var logRetryMilliseconds: UInt64 = 200
    /// How much nicer the projector's thread is than those that answer.
    package var projectorNiceness: Int32 = 5

    package init() {}
}
