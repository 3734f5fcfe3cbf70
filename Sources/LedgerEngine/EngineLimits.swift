/// The bounds of a ledger in operation, each with its reason. Tests make them small to reach them.
package struct EngineLimits: Sendable {
    /// Players kept in memory, each with one open lot; one with more lots counts for more, so that this bounds the
    /// memory.
    package var cachedPlayersMax = 300_000
    /// Blocks that are decided and not durable yet. One is being made durable while what is decided becomes the next,
    /// or a third where that is as large as a block may be. More would only make a failure take more with it.
    package var blocksAheadMax = 3
    /// Batches that are one block, or wait for one: some tenths of a second's. Their answers are kept meanwhile.
    package var batchesPerBlockMax = 256
    /// Blocks that are durable here and wait for standbys, where some are required. A standby takes all blocks that
    /// there are with each of its turns, so a few of them, and those being decided, keep it busy.
    package var blocksHeldMax = 12
    /// Bytes of blocks that the projection may lack. A start after a crash applies them before it answers: well under
    /// a second; and all that they changed is in memory: about a hundred megabytes.
    package var unprojectedBytesMax = 12 << 20
    /// Bytes of blocks from which each batch waits for the projection, and how long at the most: a step that is being
    /// applied and what comes meanwhile are less, where the projection keeps up.
    package var unprojectedBytesPaced: Int { unprojectedBytesMax / 3 * 2 }
    package var paceMillisecondsMax: UInt64 = 10
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
    /// Standbys of which is remembered what they have. Far more than anybody runs; and without a bound, whoever has a
    /// token could have any number of names remembered.
    static let standbysMax = 16
    /// Sessions of one standby that are told blocks: the one that it uses, and one whose end was not noticed yet. A
    /// further one takes the place of the oldest.
    static let standbySessionsMax = 2
    /// Sessions of one standby that gave way and hold a page still: connections that were lost in the middle of one,
    /// and whose end the system tells some minutes later. With ``standbySessionsMax`` and ``standbysMax`` this bounds
    /// the pages of blocks in memory, to 64.
    static let formerStandbySessionsMax = 2
    /// Bytes of blocks of one page of `blocks`, whatever is asked; a block that is larger is told alone. As much as a
    /// standby asks for: larger pages make it no faster, for each is appended and synced as a whole while the next one
    /// comes.
    static let blocksPageBytesMax = 1 << 20
    /// How long a standby waits before it connects to its leader again: so much at first, doubled each time up to the
    /// other. A leader that restarts is back after a second.
    package var followRetryMillisecondsMin: UInt64 = 50
    package var followRetryMillisecondsMax: UInt64 = 2_000
    /// How long a leader holds a standby's question for a first new block: the answer says that it is there still.
    package var followWaitMilliseconds: Int64 = 1_000
    /// How long a leader may say nothing before its standby does not count as following: it answers each question
    /// within ``followWaitMilliseconds``, and a page of blocks over a slow line takes some seconds.
    package static let leaderSilenceMilliseconds: UInt64 = 5_000
    /// Bytes of blocks that a standby asks for at once.
    package var followBytesMax = 1 << 20
    /// How often the same reason for not following is told, and how often any is: a connection may come and go.
    package var followReportMilliseconds: UInt64 = 60_000
    package var followReportMillisecondsMin: UInt64 = 5_000
    /// How often a node that follows looks how the shared log stands, while that changes or somebody waits for it: its
    /// tables are no further behind than those of an idle leader are, and a lead that was given back is taken at once,
    /// as far as anybody can tell. Each look is one statement of a tenth of a millisecond.
    package var nodeLookMilliseconds: UInt64 = 20
    /// How often it looks otherwise, and how often a node that leads does: whoever appends, renews its lease or
    /// confirms its lead learns by that whether another leads. A lead that is given back by a leader that has nothing
    /// to do is taken within this and what the taking takes (a seventh of a second): less than half a second together.
    /// Many books of which most are idle cost the store ten times less so.
    package var nodeIdleLookMilliseconds: UInt64 = 200
    /// For how long after a block came, or something was asked that only the leader does, a node looks often: longer
    /// than a lease mostly is, so that a leader that is lost while it has something to do is followed at once when its
    /// lease is over.
    package var nodeActiveMilliseconds: UInt64 = 3_000
    /// How long the leads of several ledgers must be steady before a node asks for one: a node that was started anew
    /// has its tables up to date by then, and one that came and went soon changes nothing.
    package static let leadsSteadyMilliseconds: UInt64 = 5_000
    /// How long a lead that was given back is left to the node that has asked for it: ten of its looks, which are often
    /// then.
    package var nodeYieldMilliseconds: UInt64 = 200
    /// How long a node that gave the lead to another leaves it to others: five of their looks. One that took the lead
    /// and could not lead leaves it to them for as long, and for twice as long each time more, up to the other.
    package var nodeAbstainMilliseconds: UInt64 = 1_000
    package var nodeAbstainMillisecondsMax: UInt64 = 60_000
    /// How long the tables of a node that leads may fail before another is to lead: a full disk that is soon cleared
    /// costs no change of leader.
    package var nodeTablesMilliseconds: UInt64 = 5_000
    /// How often the node that leads looks for names that are to be erased from blocks that were damaged, and tries to:
    /// an operator mends them, within hours or days.
    package var nodeOwedMilliseconds: UInt64 = 600_000
    /// How long after a failure of the log it is tried again: each try syncs.
    package var logRetryMilliseconds: UInt64 = 200
    /// How long after tables could not be made anew it is tried again: each try reads the whole log.
    package var renewalRetryMilliseconds: UInt64 = 10_000
    /// How long it is waited first where the log makes no tables, or only such as are damaged again soon, and up to
    /// which that is doubled each time: what is wrong there no renewal mends. Tables that were in use for longer than
    /// the latter are made anew at once.
    package var renewalRepeatMilliseconds: UInt64 = 1_000
    package var renewalRetryMillisecondsMax: UInt64 = 600_000
    /// How much nicer the thread is that makes tables anew beside those in use: those are not to wait for it.
    package var renewalNiceness: Int32 = 10
    /// How long after a check of the tables had to be left it is gone on with.
    package var checkRetryMilliseconds: UInt64 = 30_000
    /// How much nicer the thread is that checks the tables: nobody waits for it.
    package var checkerNiceness: Int32 = 15
    /// How much nicer the projector's thread is than those that answer.
    package var projectorNiceness: Int32 = 5
    /// Threads that read histories, purchases, past balances and the journal. Three, of which one token has two at
    /// most: so a long read stops neither the short ones of its own token, nor two long ones those of others.
    package var readerThreads = 3
    /// How much nicer these threads and those of reports are than those that answer requests. Beside clients that read
    /// nothing the 99th percentile of spends was 4.8 ms at 5 and 3.5 ms at 10 (means of five runs in turn). At 19 it
    /// was 2.5 ms in most runs and 9 in some: threads that answer wait for a lock whose holder gets no core.
    package var readerNiceness: Int32 = 10
    package var reportNiceness: Int32 = 10
    /// Threads that read reports: whoever asks for them waits for nobody else's reads, and nobody for theirs.
    package var reportThreads = 1
    /// How long a read may take. A page takes some tenths of a second at most, on a disk that keeps up.
    package var readMilliseconds: UInt64 = 10_000
    /// Threads that verify JWS: one for each core.
    package var verifierThreads = 2
    /// Operations that pass through the stages together; what is longer is cut. Bounds a chunk and a batch exactly.
    package var operationsPerSubmissionMax = 64
    /// Operations as which the erasure of a name counts, so that a commit has few and whoever asks pays for them: it is
    /// some four syncs of its own, and nothing is decided behind it before the tables have it.
    package var operationsPerErasure = 1_024
    /// How long a request may wait until it is carried out. One that has waited longer is answered `overloaded` when
    /// its turn comes: half of the time that a client waits by itself (``LedgerClient``), so that there is time to send
    /// it again, and the ledger does not work for clients that have gone.
    package var waitMillisecondsMax: UInt64 = 5_000
    /// Milliseconds within which it is said once how many were too late.
    package var lateNoticeMilliseconds: UInt64 = 10_000
    /// JWS that one thread verifies together: enough for the batch arithmetic to pay (its gain is flat from 32), few
    /// enough that the writer is not kept waiting.
    package var verificationBatchMax = 64
    /// Doubtful signatures of a chunk (``Verifier``) of which OpenSSL is asked at once: each takes as long as three
    /// good ones or more. A few forged ones among many good ones are refused with them, and many delay no good one: the
    /// thread is with them for a sixth of a millisecond.
    package var doubtfulPerChunkMax = 2
    /// Lists of certificates that were not seen before, and that a thread verifies before it looks whether anything
    /// else waits: it takes a millisecond or two, and anybody can send some.
    package var newPathsPerTurnMax = 1
    /// Doubtful signatures in such a turn: they take half as long as one list of certificates.
    package var doubtfulPerTurnMax = 8
    /// JWS of a connection that were forged, less those that were good, from which on what else it sends is put aside
    /// at once, so that what others send is not verified together with forged ones. They are counted up to twice as
    /// many: one good JWS more than this, and it is as the others again. A connection of which every other JWS is good
    /// is never put aside.
    package var forgedPerDoubtMin = 16
    /// JWS that are verified before what was postponed has a turn, where both wait: so that takes a part of the time
    /// only, however few JWS wait at once, and is not put off for ever.
    package var verificationsPerPostponedTurn = 512
    /// The smallest share of what waits that is worth another core's waking.
    package var verificationsPerThreadMin = 8
    /// How much nicer the verifying threads are than the writer's thread and the event loops' (setpriority(2)). What
    /// they verify has to wait for the writer, so the writer goes first where both want a core. At 0 they kept the
    /// writer from its core, and then had nothing to do until it came: with two cores under full load, the cores were
    /// idle for 15 % of the time; at 10 they are for 3 %. At 10 a verifying thread gets about a ninth of the writer's
    /// share of a core (sched(7): each step is a factor of 1.25), so that verifying goes on too.
    package var verifierNiceness: Int32 = 10
    /// Operations in one commit although these are more than half of all: below this a sync costs more than cores that
    /// are idle by turns.
    package var operationsPerCommitMin = 64
    /// Verified operations that are worth a commit while others are being verified, where a fourth of all is more than
    /// this: what a block and its sync cost is then little for each. Batches that join make no larger block: who asks
    /// for little waits for it.
    package var operationsPerCommitWorthwhile = 1_024
    /// Microseconds after a commit within which there is another, where anything is verified: so that who asks for
    /// little does not wait for much of what others ask for. A block and its sync cost a tenth of this.
    package var commitMicrosecondsMax: UInt64 = 2_000
    /// Operations in one commit. The cost of a sync is spread over thousands; beyond that only latency grows.
    package var operationsPerCommitMax = 8_192
    /// Nanoseconds of a core for which one commit is decided and answered while several tokens ask for something: what
    /// one asks for meanwhile waits for it. (With commits of twice as much, a token that asked for little waited a
    /// fourth longer beside one that asked without end, which got no more; with half as much it got less.) And for how
    /// long they count as several after the last one that was another than before: who asks once a second is one.
    package var sharedCommitNanoseconds: UInt64 = 500_000
    package var sharedMilliseconds: UInt64 = 5_000
    /// The least that an operation counts for; what it takes is measured: 62 of the cheapest in one commit.
    package var operationNanosecondsMin: UInt64 = 8_000
    /// Operations in such a commit however dear the last were. (One turn of one connection; what a connection submits
    /// together is not cut, up to ``operationsPerSubmissionMax``.)
    package var operationsPerSharedCommitMin = 16
    /// Transfers of a batch after which the rest of it is decided as the next one, and those of a block that batches
    /// join, so that a block stays small: a spend of a wallet with very many lots makes one for each lot.
    package var transfersPerCommitMax = 32_768
    /// Transfers that cost as much as an operation in turns: what an operation made is known when it is decided, and
    /// charged afterwards.
    package var transfersPerTurn = 8
    /// From one sweep for holds and lots whose time is over to the next. Nobody can spend or see in a balance what has
    /// expired, swept or not; a sweep only posts it for those who ask for nothing, so that reports and the journal
    /// have it within a second, and two looks a second at an empty list of deadlines cost nothing that can be
    /// measured.
    package var expirySweepMilliseconds: Int64 = 500

    /// How long after a failure to sign or write the head it is tried again.
    package var headRetryMilliseconds: UInt64 = 10_000

    package init() {}
}
