package import Ledger

/// What an operator is told of a ledger in operation.
package enum LedgerEvent: Sendable {
    case projectionFailed(StoreError)
    case projectionWorksAgain
    /// What the projection has is not what was written. Said once for each time that it is made anew.
    case tablesDamaged(StoreError)
    case tablesBeingRenewed(reason: String)
    /// They were made anew not long ago, and are to be again: in so many seconds.
    case renewalPutOff(reason: String, seconds: UInt64)
    /// The new tables have taken the others' place.
    /// - failures: how many requests had met damage since it was said.
    case tablesRenewed(block: BlockNumber, failures: Int)
    /// Tables could not be made anew; it is tried again. In words.
    case renewalFailed(String)
    case logFailed(LogError)
    case logWorksAgain(LogHead)
    /// A name was not erased, for it could not be taken out of a block that is damaged: nothing was changed.
    case erasureRefused(StoreError)
    /// A name that a block erases is there still, in a block that is damaged. In words.
    case nameOwed(String)
    /// That a name is owed could not be noted, so no start erases it. In words.
    case owedNameNotNoted(String)
    /// More is noted of the log's names than is so, for the mark could not be changed: each start reads the log for it.
    /// In words.
    case namesMarkLeft(String)
    /// Blocks were not at as many standbys in time as are required: nothing is answered until they are.
    case standbysLacking(required: Int, block: BlockNumber, connected: Int)
    case standbysEnough(safe: BlockNumber)
    case standbyCame(StandbyName)
    case standbyLeft(StandbyName)
    /// This standby has a connection to its leader, and goes on after this block.
    case follows(block: BlockNumber)
    /// This standby does not get blocks, and tries again. In words.
    case leaderLost(String)
    /// This standby leads from this block on.
    case promoted(LogHead)
    /// This node of a shared log reads what another leads, from this block on.
    case followsNode(LogLeader, block: BlockNumber)
    /// This node leads from this block on.
    case leads(LogHead)
    /// This node led, and does no more.
    case steppedDown(LogError)
    /// This node cannot read the log, or not take the lead that nobody has; it is tried again.
    case logNotFollowed(LogError)
    /// The wall clock is too far ahead to be believed: entries go on from this time.
    case clockHeldBack(clock: Timestamp, time: Timestamp)
    case clockReasonable
    /// A batch was not committed. Said once for as many as fail for the same reason, one after the other.
    case commitFailed(StoreError, requests: Int)
    /// Requests waited for so long that they were answered ``Fault/overloaded`` and not carried out: as many since this
    /// was last said.
    case cameTooLate(requests: Int)
    /// Said at most once in some seconds.
    case slowCommit(SlowCommit)
    /// In words.
    case readFailed(String)
    /// The signed head could not be made or written, in words; it is tried again. Said once.
    case headNotWritten(String)
    case headWrittenAgain
}
